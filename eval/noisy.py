"""Noisy nodes: does a model still know the next colours of clean objects while others are shown as noise?

    python eval/noisy.py run=runs/modular-nll-chemistry_chain10-state-quick-s0
    python eval/noisy.py run=runs/<name> nodes=[0,2,4] episodes=1000

For runs with env.observation=state. The factors of n objects, drawn anew for every state, are replaced by Gaussian noise;
the model encodes, and predicts one step. Asked is the next colour of every clean object without a noisy ancestor in the true
graph: a model that reads causes alone is not disturbed. Writes noisy.json into the run folder.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("noisy", "eval.noisy:run", __doc__))  # what stands below is imported for the work alone

import json

import numpy as np
import torch
from omegaconf import OmegaConf

from envs.graphs import ancestors
from envs.problem import Problem
from envs.protocols import CausalTables
from envs.streams import Stream
from envs.whole_files import write_whole
from eval.ceilings import SAMPLES
from eval.rollouts import actions_of, encode_frames, rollout
from eval.runs import Run, config_hash, folders_of
from eval.terminal import Steps, print_table

BOARDS = 256  # whose alternatives are encoded at a time


def draw_noisy(count: int, num_objects: int, nodes: int, rng: np.random.Generator) -> np.ndarray:
    """`nodes` random objects of every state, (count, N) bool."""
    return rng.random((count, num_objects)).argsort(1) < nodes


def add_noise(factors: np.ndarray, noisy: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Factors (M, N, F) with those of the noisy (M, N) objects replaced by noise, float32."""
    noise = rng.normal(0, sigma, factors.shape)
    return np.where(noisy[..., None], noise, factors).astype(np.float32)


def undisturbed(noisy: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Objects that are clean and have no noisy ancestor.  noisy (M, N), parents (N, N)[child, parent]  ->  (M, N) bool."""
    return ~noisy & ~(noisy[:, None] & ancestors(parents)).any(-1)


@torch.no_grad()
def tells_color(model, world, predicted: torch.Tensor, after) -> np.ndarray:
    """Whether predictions tell the true next colour of every object, ties against us.

    predicted (S, M, K, D): S predictions of the M boards `after`.  -> (S, M, N) bool.
    A decoder says its colour: the largest of the colour's logits. Without one the true board is encoded with the object in
    every colour in turn, and the true colour must be nearest.
    """
    true = torch.from_numpy(after.colors).long()
    if model.decoder is not None:
        flat = predicted.flatten(0, 1).split(1024)
        logits = torch.cat([model.decoder(part.to(model.device)).cpu() for part in flat])
        misfit = -logits[..., : world.num_colors].unflatten(0, predicted.shape[:2]).double()
        return _strictly_least(misfit, true, 0.0).numpy()
    told, n, c = [], world.num_objects, world.num_colors
    for rows in np.array_split(np.arange(len(after)), -(-len(after) // BOARDS)):
        boards = after.take(np.repeat(rows, n * c))
        cases = np.arange(len(boards))
        boards.colors[cases, cases // c % n] = cases % c
        codes = encode_frames(model, world.observe(boards)).flatten(1).double().view(len(rows), n, c, -1)
        guess = predicted[:, rows].flatten(2).double()[:, :, None, None]
        slack = 1e-9 * codes.pow(2).sum(-1).max()
        told.append(torch.stack([_strictly_least((codes - g).pow(2).sum(-1), true[rows], slack) for g in guess]))
    return torch.cat(told, 1).numpy()


def _strictly_least(misfit: torch.Tensor, true: torch.Tensor, slack) -> torch.Tensor:
    """misfit (..., M, N, C), true (M, N)  ->  (..., M, N) bool: the true colour's misfit is the only smallest one."""
    own = true.expand(misfit.shape[:-1])[..., None]
    rivals = misfit.scatter(-1, own, torch.inf).amin(-1)
    return misfit.gather(-1, own)[..., 0] + slack < rivals


def truth_tells(world, boards, action: np.ndarray, after, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """What the true model says of the clean boards: its mode, and the likeliest colour of SAMPLES draws.  (M, N) bool each."""
    mode, _ = world.step(boards, action, None)
    votes, colors = np.zeros((*after.colors.shape, world.num_colors), np.int32), np.eye(world.num_colors, dtype=np.int32)
    for _ in range(SAMPLES):
        drawn, _ = world.step(boards, action, world.noise(len(boards), rng))
        votes += colors[drawn.colors]
    return mode.colors == after.colors, votes.argmax(-1) == after.colors


def measure(model, world, obs, action, state, nodes: list[int], sigma: float, seed: int) -> dict[str, float]:
    """All in percent.  obs (E, T+1, N, F) factors, action (E, T+1), state (E, T+1, N, ...)."""
    factors, action = obs[:, :-1].reshape(-1, *obs.shape[2:]), action[:, :-1].reshape(-1)
    boards, after = (world.unpack(s.reshape(-1, *s.shape[2:])) for s in (state[:, :-1], state[:, 1:]))
    actions = actions_of(action[:, None], world.spec)
    masks, predictions = [], []
    with Steps("noisy nodes", len(nodes) + 2) as progress:
        for n in nodes:
            rng = Stream.NOISY.rng(seed, n)
            masks.append(draw_noisy(len(factors), world.num_objects, n, rng))
            shown = add_noise(factors, masks[-1], sigma, rng)
            predictions.append(rollout(model, encode_frames(model, shown), actions))
            progress.step(f"predictions under {n}")
        told = tells_color(model, world, torch.stack(predictions), after)
        progress.step("their colours")
        truth = truth_tells(world, boards, action, after, Stream.NOISY_TRUTH.rng(seed))
        progress.step("ceiling")
    painted = world.paint(boards, action).colors == after.colors
    metrics = {}
    for n, noisy, right in zip(nodes, masks, told):
        asked = undisturbed(noisy, world.parents)
        metrics[f"noisy/asked/n{n}"] = 100 * asked.mean()
        if asked.any():
            metrics[f"noisy/accuracy/n{n}"] = 100 * right[asked].mean()
            metrics[f"noisy/ceiling/n{n}"] = 100 * max(said[asked].mean() for said in truth)
            metrics[f"noisy/floor/paint/n{n}"] = 100 * painted[asked].mean()
    return {name: float(value) for name, value in metrics.items()}


def noisy_run(folder, split, data_dir, episodes: int, nodes: list[int] | None, sigma: float, seed: int) -> dict:
    """Test a run folder and write its noisy.json; split and data_dir None: the run's own; nodes None: 0, 2, 4 and so on."""
    run = Run.open(folder)
    model, cfg, world = run.model, run.config, run.world
    if not isinstance(world, CausalTables):
        raise Problem(f"noisy nodes are asked about colours along a true graph, and env '{cfg.env.name}' has none; "
                      f"use a run on chemistry")  # fmt: skip
    if world.observation != "state":
        raise Problem(f"noise takes the place of factors, and run '{cfg.name}' is shown {world.observation}; "
                      f"use a run trained with env.observation=state")  # fmt: skip
    nodes = list(range(0, world.num_objects, 2)) if nodes is None else nodes
    if max(nodes) >= world.num_objects:
        raise Problem(f"{max(nodes)} noisy nodes leave no clean object among the {world.num_objects} of env "
                      f"'{cfg.env.name}'; set nodes= to at most {world.num_objects - 1} each")  # fmt: skip
    file = run.file(split or cfg.score.split, data_dir)
    obs, action, state = file.episodes(world.shown.column, "action", "state", count=episodes)
    count, rows = action.shape
    run.use_gpu()
    metrics = measure(model, world, obs, action, state, nodes, sigma, seed)
    results = {
        "run": cfg.name, "model": cfg.model.name, "loss": cfg.loss.name, "env": cfg.env.name, "seed": cfg.seed,
        "metrics": {name: round(value, 4) for name, value in metrics.items()},
        "protocol": {"split": file.header["split"], "episodes": count, "length": rows - 1, "nodes": nodes, "sigma": sigma,
                     "noise_seed": seed, "chance": 100 / world.num_colors, "ties": "count against us",
                     "told_by": "decoder" if model.decoder is not None else "nearest latent"},
        "config_hash": config_hash(cfg),
    }  # fmt: skip
    write_whole(run.folder / "noisy.json", json.dumps(results, indent=2))
    return results


def caption(results: dict) -> str:
    """The protocol in one line."""
    p = results["protocol"]
    return (
        f"{results['model']} + {results['loss']} on {results['env']} ({p['split']}, state input), training seed "
        f"{results['seed']}; {p['episodes']} episodes of {p['length']} steps; n = objects whose factors are replaced by noise "
        f"of sigma {p['sigma']:g} (noise seed {p['noise_seed']}). Percent of next colours told right after one step by the "
        f"{p['told_by']}, over clean objects without a noisy ancestor; chance {p['chance']:.0f}. Ceiling: the true model, told "
        f"everything, the better of its mode and of {SAMPLES} draws. Floor: the acted object takes its colour, nothing "
        f"follows. Published FCDL figures are for another setting (local graphs) and not comparable."
    )


def print_noisy(results: dict) -> None:
    """The table on the terminal."""
    m, nodes = results["metrics"], results["protocol"]["nodes"]
    lines = {"next colour": "accuracy", "ceiling": "ceiling", "floor: paint": "floor/paint", "asked about": "asked"}
    keys = {label: [f"noisy/{name}/n{n}" for n in nodes] for label, name in lines.items()}
    rows = [[label, *(f"{m[key]:.2f}" if key in m else "" for key in of_row)] for label, of_row in keys.items()]
    print_table(["", *(f"n={n}" for n in nodes)], rows, caption(results))


def run(cfg) -> None:
    """The command."""
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/noisy.py run=runs/<name>")
    asked = {key: cfg[key] for key in ("split", "data_dir", "episodes", "sigma", "seed")}
    for folder in folders_of(cfg.run):
        print_noisy(noisy_run(folder, nodes=None if cfg.nodes is None else list(cfg.nodes), **asked))
