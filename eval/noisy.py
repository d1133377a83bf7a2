"""Noisy nodes: does a model still predict the next colours of clean objects while others are shown as noise?

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

from omegaconf import OmegaConf

from envs.problem import Problem
from envs.protocols import CausalTables
from envs.whole_files import write_whole
from eval.probes.noisy_nodes import SAMPLES, measure
from eval.runs import Run, config_hash, folders_of
from eval.terminal import print_table


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
        f"of sigma {p['sigma']:g} (noise seed {p['noise_seed']}). Percent of next colours that are right after one step by the "
        f"{p['told_by']}, over clean objects without a noisy ancestor; chance {p['chance']:.0f}. Ceiling: the true model, "
        f"given everything, the better of its mode and of {SAMPLES} draws. Floor: the acted object takes its colour, nothing "
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
