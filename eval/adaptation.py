"""Does a model infer hidden weights from observed frames? Push accuracy against observed steps, with floor and ceiling.

    python eval/adaptation.py run=runs/lstm-memory-physics5_hidden-quick-s0
    python eval/adaptation.py run=[runs/<name>,runs/<another>]     one chart for all
    python eval/adaptation.py run=runs/<name> episodes=200

At step t the model has seen the true frames 0..t and the actions between them. Where a block is met that has room to
yield, only the weights decide which of two frames comes next; the prediction must be strictly nearer to the true one.
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
from html import escape

from omegaconf import OmegaConf

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.curves import line_chart
from eval.pages.html import page, table
from eval.probes.push_accuracy import AFTER, buckets, push_hits
from eval.probes.weight_posterior import push_posterior
from eval.runs import Run, config_hash, folders_of
from eval.terminal import Steps, print_table


def adapt(folder, data_dir=None, split: str = "long", episodes: int | None = None) -> dict:
    """Measure a run folder and write its adaptation.json."""
    run = Run.open(folder)
    model, cfg, world = run.model, run.config, run.world
    if not world.header().get("hidden_weights"):
        raise Problem(f"push accuracy is measured on hidden weights of blocks, and env '{cfg.env.name}' has none; "
                      f"use a run on env=physics5_hidden")  # fmt: skip
    file = run.file(split, data_dir)
    obs, action, state = file.episodes(world.shown.column, "action", "state", count=episodes)
    run.use_gpu()
    with Steps(f"adaptation of {cfg.name}", 2) as progress:
        hit, pushed, step = push_hits(model, world, obs, state, action)
        progress.step("predictions")
        contact = world.events(world.unpack(state[:, :-1].reshape(-1, *state.shape[2:])), action[:, :-1].reshape(-1))["contact"]
        posterior = push_posterior(world, state, action, cfg.env.drop_invalid).yields.reshape(-1)[contact]
        progress.step("ceiling")
    if not len(hit):
        raise Problem(
            f"nobody pushes in {len(action)} episodes of split '{split}', so that no push can be predicted; ask more episodes"
        )
    late = step >= AFTER
    results = {
        "run": cfg.name, "model": cfg.model.name, "loss": cfg.loss.name, "env": cfg.env.name, "seed": cfg.seed,
        "metrics": {**({f"adapt/push_accuracy/after{AFTER}": 100 * hit[late].mean()} if late.any() else {}),
                    "adapt/push_accuracy": 100 * hit.mean()},
        "buckets": buckets(hit, pushed, step, posterior),
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
    shown = table(header, [[escape(cell) for cell in row] for row in rows], classes)
    body = f"<h1>Inferring hidden weights from observed frames</h1>\n{chart}\n{shown}\n" \
           f'<p class="soft">{escape(caption(results))}</p>'  # fmt: skip
    return write_whole(path, page("Inferring hidden weights from observed frames", body))


def run(cfg) -> None:
    """The command."""
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/adaptation.py run=runs/<name>")
    folders = folders_of(cfg.run)
    results = [adapt(folder, cfg.data_dir, cfg.split, cfg.episodes) for folder in folders]
    for other in results[1:]:
        if unlike := [key for key in ("env", "protocol") if other[key] != results[0][key]]:
            raise Problem(f"{results[0]['run']} and {other['run']} were measured on other contacts "
                          f"({unlike[0]} {results[0][unlike[0]]}, got {other[unlike[0]]}); "
                          f"name runs of one env and one data set")  # fmt: skip
    header, rows = table_rows(results)
    print_table(header, rows, caption(results))
    print(write_page(results, Path(folders[0]) / "adaptation.html"))
