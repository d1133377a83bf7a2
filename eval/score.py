"""Score a run: ranking, counterfactual ranking and reconstruction, with floors beside them.

    python eval/score.py run=runs/modular-infonce-physics5-quick-s0
    python eval/score.py run=runs/<name> split=[test-v3,fewer-1]
    python eval/score.py run=runs/<name> horizons=[1,10] episodes=2000
    python eval/score.py run=runs/<name> probes=[ranking_pool,counterfactual]
    python eval/score.py run=runs/<name> round=[1,2,5]         weights of these rounds, of a run with trainer=minutes or updates

Writes results.json into the run folder; another split, pool, horizon, probes or round than the run's own:
results-<what differs>.json.
Every file of eval/probes/ that holds a probe is asked, where the world of the run can answer it.
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
import time
from collections.abc import Sequence
from itertools import product

import torch
from filelock import FileLock
from omegaconf import DictConfig, ListConfig, OmegaConf

from envs.collect import plan_of
from envs.episodes import EpisodeFile
from envs.problem import Problem, nearest
from envs.protocols import Source
from envs.whole_files import check_writable, write_whole
from eval.probes import every_probe
from eval.probes.data import Data
from eval.probes.probe import Probe
from eval.probes.score_table import print_scores
from eval.runs import Run, config_hash, folders_of
from eval.runs.checkpoints import digest
from eval.runs.final import FINAL, SELECT, check_select, open_final
from eval.runs.ledger import enter
from eval.runs.made_with import versions
from eval.runs.results import holds_plan, numbers
from eval.terminal import Steps

# probes that ask a model for nothing but encode and rollout
OF_ANY_MODEL = ("ranking_pool", "counterfactual", "reference_rule")


def _file_name(asked: dict, own, round: int | None = None) -> str:
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
    if asked["probes"] is not None and set(asked["probes"]) != set(own.get("probes") or ()):
        parts.append("-".join(asked["probes"]))
    if round is not None:
        parts.append(f"round{round}")
    return "-".join(parts) + ".json"


def _before(path: Path) -> dict:
    """What stays of an earlier results file: what training took, on which machine, and what eval/plan.py added,
    where each is whole.
    """
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError, RecursionError):  # a damaged one is about to be replaced
        return {}
    kept = {}
    if isinstance(found, dict) and numbers(found.get("timing")):
        kept |= {key: found[key] for key in ("timing", "machine", "weights") if key in found}
    if isinstance(found, dict) and holds_plan(found):
        kept |= {"plan": found["plan"], "metrics": found["metrics"]}
    return kept


def probes_of(run: Run, names: list[str] | None) -> list[Probe]:
    """The probes of these names, in the order of the tables, none named: all that the run can be asked but those that are
    asked by name alone.

    Raises Problem on a name that is none, or on a probe that the run cannot be asked.
    """
    every = {one.name: one for one in every_probe()}
    for name in names or ():
        if name not in every:
            raise Problem(f"there is no probe '{name}': {nearest(str(name), every)}")
        if why := every[name].why_not(run):
            raise Problem(f"probe '{name}' {why}; leave it out of probes=")
    if names is None:
        return [one for one in every.values() if not (one.by_name or one.why_not(run))]
    return [one for one in every.values() if one.name in names]


def _check_length(env: dict, horizon: int) -> None:
    """Raise Problem on more steps than episodes of `final` have, before a setting is frozen for it."""
    length = plan_of(env, FINAL)["length"]
    if horizon > length:
        raise Problem(f"horizon {horizon} is longer than the episodes of split '{FINAL}' ({length} actions); "
                      f"shorten horizons=")  # fmt: skip


def measure(run: Run, data: Data, probes: list[Probe], progress: Steps) -> dict[str, float]:
    """Metrics of all probes. Most are percent."""
    metrics: dict[str, float] = {}
    data.say = progress.part
    for one in probes:
        metrics |= {name: float(value) for name, value in one(run, data).items()}
        progress.step(one.name.replace("_", " "))
    return metrics


def score_model(
    model, world: Source, file: EpisodeFile, probes: Sequence[str] = OF_ANY_MODEL[:2],
    horizons: Sequence[int] = (1, 5, 10), episodes: int = 10_000, counterfactuals: int = 1000,
) -> dict[str, float]:  # fmt: skip
    """Metrics of a model that is no run, as of another code base; most are percent.

    model: has `device`, `encode`, obs (B, C, H, W) uint8 or a table (B, N, F) -> latent (B, K, D), and `rollout`, latent (B, K,
    D) and actions (B, T, A) -> (B, T, K, D); a module is asked in eval mode, and left there.  file: of any split; nothing keeps
    `final` here. Raises Problem on a probe that asks a model for more than that.
    """
    if others := [name for name in probes if name not in OF_ANY_MODEL]:
        raise Problem(f"score_model asks {', '.join(OF_ANY_MODEL)}, got '{others[0]}'; further probes are asked of runs alone")
    if isinstance(model, torch.nn.Module):
        model.eval()
    run = Run(model, world=world)
    asked = probes_of(run, list(probes))
    with Steps("scoring", len(asked)) as progress:
        return measure(run, Data(run, file, list(horizons), episodes, counterfactuals), asked, progress)


def score_run(
    folder, split=None, data_dir=None, horizons=None, episodes=None, counterfactuals=None, timing=None, probes=None,
    ledger=None, machine=None,
) -> dict:
    """Score a run, open or by its folder, and write its results; None takes what the run's config says.

    timing, machine: of the training that has just ended; none: those that stand in the file, as the machine of weights that it
    holds already. ledger: where settings are frozen (eval/runs/final.py), asked of split `final` alone. Raises Problem there on
    a setting that is not the frozen one.
    """
    run = Run.open(folder)
    cfg, own = run.config, run.config.score
    asked = {
        "split": own.split if split is None else split,
        "horizons": list(own.horizons if horizons is None else horizons),
        "episodes": own.episodes if episodes is None else episodes,
        "counterfactuals": own.counterfactuals if counterfactuals is None else counterfactuals,
        "probes": own.get("probes") if probes is None else probes,  # runs of before do not say
    }
    wanted = probes_of(run, None if asked["probes"] is None else list(asked["probes"]))
    asked["probes"] = None if asked["probes"] is None else [one.name for one in wanted]  # in whatever order they were typed
    if asked["probes"] is None and not own.get("structure", True):  # nor do those of long before
        wanted = [one for one in wanted if one.name != "structure"]
    if asked["split"] == SELECT:
        check_select(run)
    elif asked["split"] == FINAL:
        _check_length(run.env_with(FINAL), max(asked["horizons"]))
        open_final(run, ledger)
    file = run.file(asked["split"], data_dir)
    start = time.monotonic()
    run.use_gpu()
    with Steps(f"scoring {asked['split']}", len(wanted)) as progress:
        data = Data(run, file, asked["horizons"], asked["episodes"], asked["counterfactuals"])
        metrics = measure(run, data, wanted, progress)
    path, weights = run.folder / _file_name(asked, own, run.round), digest(run.model.state_dict())[:12]
    before = _before(path)
    timing = before.get("timing", {}) if timing is None else timing
    if machine is None or before.get("weights") == weights:  # nothing was trained now
        machine = before.get("machine")
    count = {name: sum(p.numel() for p in part.parameters()) for name, part in run.model.named_children()}
    results = {
        "run": cfg.name,
        "model": cfg.model.name, "loss": cfg.loss.name, "env": cfg.env.name, "trainer": cfg.trainer.name, "seed": cfg.seed,
        "metrics": {name: round(value, 4) for name, value in metrics.items() if math.isfinite(value)},
        "protocol": {**data.protocol, "seeds": [cfg.seed], "budget": _budget(cfg.trainer),
                     "epochs": [stage.epochs for stage in cfg.loss.stages], "probes": [one.name for one in wanted],
                     **({} if run.round is None else {"round": run.round})},
        "structure": {},
        **data.arrays,
        "answers": {name: found.packed() for name, found in data.answers.items()},
        "timing": {**{k: round(v, 2) for k, v in timing.items()}, "score_s": round(time.monotonic() - start, 2)},
        "scored_at": round(time.time(), 3),  # seconds since 1970: of two scores of one thing the ledger takes the newer
        **({"machine": machine} if machine else {}),
        "parameters": count,
        "weights": weights,
        "config_hash": config_hash(cfg),
        "setting_hash": config_hash(cfg, seed=False),
        "versions": versions(),
    }  # fmt: skip
    _write(path, results)
    return results


def _budget(trainer: DictConfig) -> str:
    """How much a training was given: so many updates, or what its trainer is called."""
    updates = trainer.get("updates")
    if not updates:
        return trainer.budget
    return f"{sum(updates) if OmegaConf.is_list(updates) else updates} updates"


def _write(path: Path, results: dict) -> None:
    """Write results, and beside them the plans of the same weights that stand in the file, which `results` then has as well."""
    with FileLock(path.parent / ".results.lock"):  # eval/plan.py adds to the same file
        before = _before(path)
        if "plan" in before and before["plan"].get("weights", results["weights"]) == results["weights"]:
            results["plan"] = before["plan"]
            results["metrics"] |= {k: v for k, v in before["metrics"].items() if k.startswith("plan/")}
        write_whole(path, json.dumps(results, indent=2))


def _check(run: Run, splits: list[str], ledger: str | None) -> None:
    """Raises Problem where a run cannot be scored on one of some splits."""
    for split in splits:
        plan_of(run.env_with(split), split)
    if SELECT in splits:
        check_select(run)
    if FINAL in splits and ledger is None:
        open_final(run, None)


def run(cfg) -> None:
    """The command."""
    asked = {key: cfg[key] for key in ("data_dir", "horizons", "episodes", "counterfactuals", "probes", "ledger")}
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/score.py run=runs/<name>")
    if cfg.ledger is not None:
        check_writable(Path(cfg.ledger), "ledger")
    splits, rounds = (value if isinstance(value, ListConfig) else [value] for value in (cfg.split, cfg.round))
    for folder, number in product(folders_of(cfg.run), rounds):  # all of them, before the first takes its minutes
        _check(Run.open(folder, round=number), [split for split in splits if split], cfg.ledger)
    for folder in folders_of(cfg.run):
        for number in rounds:
            run = Run.open(folder, round=number)
            for split in splits:
                print_scores(score_run(run, split, **asked))
        if cfg.ledger is not None:
            print(enter(folder, cfg.ledger))
