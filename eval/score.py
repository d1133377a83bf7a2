"""Score a run: ranking, counterfactual ranking and reconstruction, with floors beside them.

    python eval/score.py run=runs/modular-infonce-physics5-quick-s0
    python eval/score.py run=runs/<name> split=[test-v3,fewer-1]
    python eval/score.py run=runs/<name> horizons=[1,10] episodes=2000

Writes results.json into the run folder; another split, pool or horizon than the run's own: results-<what differs>.json.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("score", "eval.score:run", __doc__))  # what stands below is imported for the work alone

import json
import math
import platform
import subprocess
import time
from contextlib import nullcontext

import hydra
import numpy as np
import torch
from filelock import FileLock
from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate
from omegaconf import ListConfig, OmegaConf

from envs.collect import collect
from envs.frames import frame_ids
from envs.problem import Problem
from envs.streams import Stream
from envs.whole_files import write_whole
from eval.ceilings import ceilings, has_ceiling
from eval.probes.same_board import painted, same_board_scores
from eval.probes.sensitivity import one_object_gaps
from eval.probes.structure import measure_structure
from eval.ranking import hits_at_k, mrr, ranks
from eval.rollouts import actions_of, decode_frames, encode_frames, rollout, true_frames, what_if_ranks
from eval.run_files.results import holds_plan, numbers
from eval.runs import config_hash, folders_of, load_run
from eval.score_table import print_scores
from eval.terminal import Steps

CONFIGS = Path(__file__).resolve().parents[1] / "configs"


def versions(*others: str) -> dict:
    """Of the packages that decide numbers, and the commit where the code lies in a git repository."""
    from importlib.metadata import version

    names = ("torch", "pytorch-lightning", "numpy", "gymnasium", "h5py", *others)
    found = {"python": platform.python_version(), **{name: version(name) for name in names}}
    try:
        git = ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty"]
        found["commit"] = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        pass  # an installed copy has no history
    return found


def _file_name(asked: dict, own) -> str:
    """results.json for the run's own protocol; another protocol gets a name of its own and never takes that place."""
    parts = ["results"]
    if asked["split"] != own.split:
        parts.append(asked["split"])
    if asked["horizons"] != list(own.horizons):
        parts.append("h" + "-".join(map(str, asked["horizons"])))
    if asked["episodes"] != own.episodes:
        parts.append(f"n{asked['episodes']}")
    if asked["counterfactuals"] != own.counterfactuals:
        parts.append(f"cf{asked['counterfactuals']}")
    return "-".join(parts) + ".json"


def _before(path: Path) -> dict:
    """What stays of an earlier results file: what training took, and what eval/plan.py added, where each is whole."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError, RecursionError):  # a damaged one is about to be replaced
        return {}
    kept = {}
    if isinstance(found, dict) and numbers(found.get("timing")):
        kept["timing"] = found["timing"]
    if isinstance(found, dict) and holds_plan(found):
        kept |= {"plan": found["plan"], "metrics": found["metrics"]}
    return kept


def _events_until(world, state, action, horizon: int) -> dict[str, np.ndarray]:
    """Which episodes saw an event in their first `horizon` steps.  state (E, T+1, N, 7), action (E, T+1)."""
    seen: dict[str, np.ndarray] = {}
    for t in range(horizon):
        for name, now in world.events(world.unpack(state[:, t]), action[:, t]).items():
            seen[name] = seen.get(name, False) | now
    return seen


def _rank_all(metrics, name, predicted, target, groups, horizon, subsets) -> None:
    """H@1 and MRR of one predictor, over all episodes and over those with an event."""
    result = ranks(predicted, target, groups=groups)
    metrics[f"{name}hits@1/h{horizon}"], metrics[f"{name}mrr/h{horizon}"] = hits_at_k(result), mrr(result)
    for event, rows in subsets.items():
        metrics[f"{name}hits@1/{event}/h{horizon}"] = hits_at_k(result[rows])
        metrics[f"{name}mrr/{event}/h{horizon}"] = mrr(result[rows])


def weakest_slot(latent: torch.Tensor) -> float:
    """Spread of the slot that varies least, in percent of the one that varies most; near 0 a slot has lost its object.

    latent (N, K, D); spread: root of the summed variances over the N frames.
    """
    spread = latent.var(0).sum(-1).sqrt()
    return float(100 * spread.min() / spread.max().clamp(min=1e-12))


def measure(model, world, file, horizons, episodes: int, counterfactuals: int, progress: Steps) -> tuple[dict, dict]:
    """-> (metrics, protocol). All numbers in percent but reconstruction (nats per frame) and spread."""
    longest = int(file.ep_len.max()) - 1
    if max(horizons) > longest:
        raise Problem(f"horizon {max(horizons)} is longer than the episodes of {file.path} ({longest} actions); "
                      f"shorten horizons=")  # fmt: skip
    columns = (world.shown.column, "action", "state")
    obs, action, state = file.episodes(*columns, steps=max(horizons), count=episodes)
    count = len(obs)
    actions = actions_of(action, world.spec)
    start = encode_frames(model, obs[:, 0])
    metrics: dict[str, float] = {}
    protocol = {
        "pool": count, "rule": "grouped", "direction": "prediction queries true outcomes", "ties": "count against us",
        "split": file.header["split"], "observation": world.observation, "episodes": count,
        "distinct": {}, "events": {}, "counterfactual_states": 0,
    }  # fmt: skip
    for h in horizons:
        groups = frame_ids(obs[:, h])
        target = encode_frames(model, obs[:, h])
        predicted = rollout(model, start, actions[:, :h])
        if not predicted.isfinite().all():
            raise Problem(f"predictions at horizon {h} hold NaN or infinity; the model diverged, train it again")
        subsets = _events_until(world, state, action, h)
        protocol["distinct"][f"h{h}"] = len(np.unique(groups))
        protocol["events"][f"h{h}"] = {name: int(rows.sum()) for name, rows in subsets.items()}
        _rank_all(metrics, "test/", predicted, target, groups, h, subsets)
        reference = ranks(predicted, target, rule="reference")
        metrics[f"test/reference/hits@1/h{h}"], metrics[f"test/reference/mrr/h{h}"] = hits_at_k(reference), mrr(reference)
        _rank_all(metrics, "floor/copy/", start, target, groups, h, subsets)
        constant = target.mean(0, keepdim=True).expand_as(target)
        _rank_all(metrics, "floor/constant/", constant, target, groups, h, {})
        if hasattr(world, "paint"):
            paint = encode_frames(model, world.observe(painted(world, state, action, h)))
            _rank_all(metrics, "floor/paint/", paint, target, groups, h, subsets)
        if model.decoder is not None:
            metrics[f"test/reconstruction/h{h}"] = _reconstruction(model, predicted, obs[:, h])
        progress.step(f"ranking after {h} step{'s' if h > 1 else ''}")
    metrics["test/latent_spread"] = float(start.flatten(1).std(0).mean())  # near 0: the encoder collapsed
    if start.shape[1] > 1:
        metrics["test/weakest_slot"] = weakest_slot(start)
    metrics["test/smallest_gap"] = float(one_object_gaps(model, world).min())
    if counterfactuals:
        chosen = Stream.ASKED.rng().permutation(count)[:counterfactuals]  # the same states for every run
        protocol["counterfactual_states"], protocol["counterfactual_actions"] = len(chosen), world.spec.action.size
        for h in horizons:
            rng = Stream.WHAT_IF.rng(h)
            ranked = what_if_ranks(model, world, obs[chosen, 0], state[chosen, 0], action[chosen], h, rng)
            for name, result in zip(("test", "floor/copy"), ranked):
                result = result.ravel()
                metrics[f"{name}/cf_hits@1/h{h}"], metrics[f"{name}/cf_mrr/h{h}"] = hits_at_k(result), mrr(result)
            if has_ceiling(world):
                metrics |= same_board_scores(model, world, obs[chosen, 0], state[chosen], action[chosen], h)
            progress.step(f"counterfactuals of {h} step{'s' if h > 1 else ''}")
        if 1 in horizons:
            metrics["test/cf_hits@1"], metrics["test/cf_mrr"] = metrics["test/cf_hits@1/h1"], metrics["test/cf_mrr/h1"]
    return metrics, protocol


def _reconstruction(model, latent, obs) -> float:
    """How far decoded predictions are from the truth, in nats of the decoder's likelihood, mean over episodes."""
    total = 0.0
    for rows in torch.arange(len(obs)).split(512):
        total += model.decoder.likelihood.distance(decode_frames(model, latent[rows]), true_frames(obs[rows])).item()
    return total / len(obs)


def _splits_of_today(env: str) -> dict:
    """Those of configs/env: a run may be scored on boards that nobody had thought of when it was trained."""
    if not (CONFIGS / "env" / f"{env}.yaml").exists():
        return {}
    started = GlobalHydra.instance().is_initialized()  # by the command that asks; a library call finds it not
    with nullcontext() if started else hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return OmegaConf.to_container(hydra.compose("fit", [f"env={env}"]).env.splits)


def score_run(folder, split=None, data_dir=None, horizons=None, episodes=None, counterfactuals=None, timing=None) -> dict:
    """Score a run folder and write its results; None takes what the run's config says."""
    folder = Path(folder)
    model, cfg = load_run(folder)
    own = cfg.score
    asked = {
        "split": own.split if split is None else split,
        "horizons": list(own.horizons if horizons is None else horizons),
        "episodes": own.episodes if episodes is None else episodes,
        "counterfactuals": own.counterfactuals if counterfactuals is None else counterfactuals,
    }
    split = asked["split"]
    world = instantiate(cfg.env.world)
    env = OmegaConf.to_container(cfg.env)
    if split not in env["splits"]:
        env["splits"] = {**_splits_of_today(cfg.env.name), **env["splits"]}
    file = collect(env, world, split, data_dir or cfg.data_dir)
    start = time.monotonic()
    if torch.cuda.is_available():
        model.cuda()
    structure, has_graph = {}, hasattr(world, "parents") and own.get("structure", True)  # runs of old do not say
    parts = len(asked["horizons"]) * (2 if asked["counterfactuals"] else 1) + has_ceiling(world) + has_graph
    with Steps(f"scoring {split}", parts) as progress:
        metrics, protocol = measure(
            model, world, file, asked["horizons"], asked["episodes"], asked["counterfactuals"], progress
        )
        if has_ceiling(world):
            metrics |= ceilings(world, file, asked["horizons"], asked["episodes"], asked["counterfactuals"])
            progress.step("ceilings")
        if has_graph:
            found, structure = measure_structure(model, world, file)
            metrics |= found
            progress.step("structure")
    path = folder / _file_name(asked, own)
    if timing is None:
        timing = _before(path).get("timing", {})
    count = {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()}
    results = {
        "run": cfg.name,
        "model": cfg.model.name, "loss": cfg.loss.name, "env": cfg.env.name, "trainer": cfg.trainer.name, "seed": cfg.seed,
        "metrics": {name: round(value, 4) for name, value in metrics.items() if math.isfinite(value)},
        "protocol": {**protocol, "seeds": [cfg.seed], "budget": cfg.trainer.budget,
                     "epochs": [stage.epochs for stage in cfg.loss.stages]},
        "structure": structure,
        "timing": {**{k: round(v, 2) for k, v in timing.items()}, "score_s": round(time.monotonic() - start, 2)},
        "parameters": count,
        "config_hash": config_hash(cfg),
        "setting_hash": config_hash(cfg, seed=False),
        "versions": versions(),
    }  # fmt: skip
    with FileLock(folder / ".results.lock"):  # eval/plan.py adds to the same file
        before = _before(path)
        if "plan" in before:
            results["plan"] = before["plan"]
            results["metrics"] |= {k: v for k, v in before["metrics"].items() if k.startswith("plan/")}
        write_whole(path, json.dumps(results, indent=2))
    return results


def run(cfg) -> None:
    """The command."""
    asked = {key: cfg[key] for key in ("data_dir", "horizons", "episodes", "counterfactuals")}
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/score.py run=runs/<name>")
    for folder in folders_of(cfg.run):
        for split in cfg.split if isinstance(cfg.split, ListConfig) else [cfg.split]:
            print_scores(score_run(folder, split, **asked))
