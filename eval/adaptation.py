"""Does a model learn hidden weights by watching? Push accuracy against observed steps, between floor and ceiling.

    python eval/adaptation.py run=runs/lstm-memory-physics5_hidden-quick-s0
    python eval/adaptation.py run=[runs/<name>,runs/<another>]     one chart for all
    python eval/adaptation.py run=runs/<name> episodes=200

At step t the model has seen the true frames 0..t and the actions between them. Where a block is met that has room to
yield, weights alone decide between two next frames, and the prediction must be strictly nearer to the true one.
Writes adaptation.json into each run folder and the page adaptation.html into the first.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("adaptation", "eval.adaptation:run", __doc__))  # what stands below is imported for the work alone

import json

import numpy as np
import torch
from omegaconf import OmegaConf

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.curves import line_chart
from eval.pages.html import page, table
from eval.probes.weight_posterior import if_heavier, push_belief
from eval.rollouts import actions_of, encode_frames
from eval.runs import Run, config_hash, folders_of
from eval.terminal import Steps, print_table

BUCKET, AFTER = 10, 20  # steps


@torch.no_grad()
def watch(model, latent: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Predictions of every next latent from what was seen so far.  (E, T+1, K, D), (E, T, A)  ->  (E, T, K, D)."""
    steps, memory = [], None
    for now, action in zip(latent[:, :-1].unbind(1), actions.unbind(1)):
        predicted, memory = model.step(now.to(model.device), action.to(model.device), memory)
        steps.append(predicted.cpu())
    return torch.stack(steps, 1)


def push_hits(model, world, obs, state, action):
    """(hit, pushed, step), each (contacts,): was the prediction strictly nearer to what happened, what happened, and when.

    obs (E, T+1, ...) as the model is shown it, state (E, T+1, N, 7), action (E, T+1).
    """
    episodes, frames = action.shape
    latent = encode_frames(model, obs.reshape(-1, *obs.shape[2:])).unflatten(0, (episodes, frames))
    predicted = watch(model, latent, actions_of(action[:, :-1], world.spec))
    boards, moves = world.unpack(state[:, :-1].reshape(-1, *state.shape[2:])), action[:, :-1].reshape(-1)
    events = world.events(boards, moves)
    rows = np.flatnonzero(events["contact"])
    after, _, _ = if_heavier(world, boards.take(rows), moves[rows])
    query = predicted.flatten(0, 1)[rows].flatten(1).double()
    still = latent[:, :-1].flatten(0, 1)[rows].flatten(1).double()
    yielding = encode_frames(model, world.observe(after)).flatten(1).double()
    to_still, to_yielding = (query - still).pow(2).sum(1).numpy(), (query - yielding).pow(2).sum(1).numpy()
    pushed = events["push"][rows]
    return np.where(pushed, to_yielding < to_still, to_still < to_yielding), pushed, rows % (frames - 1)


def buckets(hit, pushed, step, belief) -> list[dict]:
    """One entry for every ten observed steps, all in percent.  hit, pushed, step (contacts,); belief of those contacts."""
    even = np.isclose(belief, 0.5)
    perfect = np.where(even, 0.5, (belief > 0.5) == pushed)
    found = []
    for first in range(0, int(step.max()) + 1, BUCKET):
        rows = (step >= first) & (step < first + BUCKET)
        if rows.any():
            share = pushed[rows].mean()
            found.append({
                "observed": [first, first + BUCKET - 1], "contacts": int(rows.sum()),
                "accuracy": 100 * hit[rows].mean(), "ceiling": 100 * perfect[rows].mean(),
                "one_answer": 100 * max(share, 1 - share),
            })  # fmt: skip
    return found


def adapt(folder, data_dir=None, split: str = "long", episodes: int | None = None) -> dict:
    """Measure a run folder and write its adaptation.json."""
    run = Run.open(folder)
    model, cfg, world = run.model, run.config, run.world
    if not world.header().get("hidden_weights"):
        raise Problem(f"the frames of env '{cfg.env.name}' tell the weights, watching adds nothing; "
                      f"use a run on env=physics5_hidden")  # fmt: skip
    file = run.file(split, data_dir)
    obs, action, state = file.episodes(world.shown.column, "action", "state", count=episodes)
    run.use_gpu()
    with Steps(f"adaptation of {cfg.name}", 2) as progress:
        hit, pushed, step = push_hits(model, world, obs, state, action)
        progress.step("predictions")
        contact = world.events(world.unpack(state[:, :-1].reshape(-1, *state.shape[2:])), action[:, :-1].reshape(-1))["contact"]
        belief = push_belief(world, state, action, cfg.env.drop_invalid).reshape(-1)[contact]
        progress.step("ceiling")
    late = step >= AFTER
    results = {
        "run": cfg.name, "model": cfg.model.name, "loss": cfg.loss.name, "env": cfg.env.name, "seed": cfg.seed,
        "metrics": {f"adapt/push_accuracy/after{AFTER}": 100 * hit[late].mean(), "adapt/push_accuracy": 100 * hit.mean()},
        "buckets": buckets(hit, pushed, step, belief),
        "protocol": {"split": split, "episodes": len(action), "length": action.shape[1] - 1, "contacts": len(hit),
                     "contacts_late": int(late.sum()), "ties": "count against us", "chance": 50.0},
        "config_hash": config_hash(cfg),
    }  # fmt: skip
    write_whole(run.folder / "adaptation.json", json.dumps(results, indent=2))
    return results


def caption(results: list[dict]) -> str:
    """The protocol in one line."""
    p = results[0]["protocol"]
    return (
        f"push accuracy, percent; {results[0]['env']} ({p['split']}), {p['episodes']} episodes of {p['length']} steps, "
        f"{p['contacts']} contacts; prediction strictly nearer to the true one of two frames, chance 50; one answer: always "
        f"the more frequent outcome; ceiling: exact posterior over all weight orders"
    )


def table_rows(results: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Header and rows, shared by the terminal and the page."""
    held = results[0]["buckets"]
    rows = [[r["run"], *(f"{b['accuracy']:.1f}" for b in r["buckets"])] for r in results]
    rows += [[name, *(f"{b[key]:.1f}" for b in held)] for name, key in (("one answer", "one_answer"), ("ceiling", "ceiling"))]
    rows.append(["contacts", *(str(b["contacts"]) for b in held)])
    return ["observed steps", *("-".join(map(str, b["observed"])) for b in held)], rows


def write_page(results: list[dict], path: Path) -> Path:
    """The curve and its table as a page."""
    held = results[0]["buckets"]
    at = [(b["observed"][0] + b["observed"][1]) / 2 for b in held]
    lines = {r["run"]: [b["accuracy"] for b in r["buckets"]] for r in results}
    bounds = {"perfect memory": [b["ceiling"] for b in held], "chance": [50.0] * len(held)}
    header, rows = table_rows(results)
    classes = [""] * len(results) + ["bound"] * 3
    chart = line_chart(at, lines, bounds, "observed steps", "push accuracy, %")
    body = f"<h1>Learning hidden weights by watching</h1>\n{chart}\n{table(header, rows, classes)}\n" \
           f'<p class="soft">{caption(results)}</p>'  # fmt: skip
    return write_whole(path, page("Learning hidden weights by watching", body))


def run(cfg) -> None:
    """The command."""
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/adaptation.py run=runs/<name>")
    folders = folders_of(cfg.run)
    results = [adapt(folder, cfg.data_dir, cfg.split, cfg.episodes) for folder in folders]
    header, rows = table_rows(results)
    print_table(header, rows, caption(results))
    print(write_page(results, Path(folders[0]) / "adaptation.html"))
