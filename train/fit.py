"""Train a world model: collect if missing, fit, score, reach goals, report.

    python train/fit.py model=modular env=physics5
    python train/fit.py model=gnn loss=nll env=physics3 seed=1
    python train/fit.py experiment=paper_physics model=modular env=physics5
    python train/fit.py model=modular env=chemistry_chain10 env.observation=state
    python train/fit.py trainer=ddp trainer.devices=2 trainer.budget=quick
    python train/fit.py resume=runs/modular-infonce-physics5-quick-s0

Writes runs/<name>/ with config.yaml, checkpoints/, metrics.csv, results.json and report.html. Ends with H@1, MRR and the
share of goals that greedy planning reaches, about a minute's work; goals=false leaves it out.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("fit", "train.fit:run", __doc__, "train.fit:prepare"))  # what stands below is imported for the work alone

import re
import time
from contextlib import nullcontext

from configs.overrides import DECIDE_NO_WEIGHT
from envs.problem import Problem

BESIDE_RESUME = ("resume", "goals", "ledger", "hydra", *DECIDE_NO_WEIGHT)


def prepare(overrides: list[str]) -> list[str]:
    """Add trainer=gpu where a GPU is present and neither a trainer nor an experiment is named;
    resume= stands alone, or with keys that decide no weight.
    """
    import torch

    if any(o.startswith("resume=") and o != "resume=null" for o in overrides):
        others = [o for o in overrides if re.split(r"[=./]", o.lstrip("+"))[0] not in BESIDE_RESUME and not o.startswith("-")]
        if others:
            raise Problem(f"resume= goes on with the run's own configuration; leave out {' '.join(others)}")
        return overrides
    asked = any(o.split("=")[0] in ("trainer", "experiment") for o in overrides)
    return overrides if asked or not torch.cuda.is_available() else [*overrides, "trainer=gpu"]


def goals_asked(now, cfg) -> bool:
    """Whether to reach goals after training.  now: the command's own key; None: the run's, or else by its budget."""
    asked = now if now is not None else cfg.get("goals")  # old runs have no such key
    return cfg.trainer.budget != "smoke" if asked is None else asked


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf
    from pytorch_lightning import seed_everything

    from configs.sizes import spec_of
    from envs.collect import check_columns, collect
    from envs.whole_files import check_writable
    from eval.runs import Run
    from eval.score import probes_of
    from train.checks import check_graph, check_parts, check_plan, tell_untrained_memory
    from train.datamodule import EpisodeData, splits_of
    from train.distributed import devices_of, node_of
    from train.dry_run import check_shapes
    from train.malloc import keep_freed_memory
    from train.run_folder import check_world, choose_folder, open_folder

    keep_freed_memory()
    overwrite, goals, ledger = cfg.overwrite, cfg.goals, cfg.ledger
    folder, cfg = choose_folder(cfg)
    ledger = cfg.get("ledger") if ledger is None else ledger  # old runs have no such key
    check_writable(folder, "runs_dir")
    if ledger is not None:
        check_writable(Path(ledger), "ledger")
    check_plan(cfg)
    world = instantiate(cfg.env.world)
    check_world(cfg, world)
    seed_everything(cfg.seed, workers=False, verbose=False)
    model = instantiate(cfg.model.module)
    check_graph(world, model.transition)
    probes_of(Run(model, cfg, world=world), cfg.score.get("probes"))  # raises before training, not after it
    objectives = [instantiate(stage.objective) for stage in cfg.loss.stages]  # before anything is made or deleted
    check_parts(model, objectives, spec_of(cfg.env.world, world.observation), cfg.loss.stages)  # old runs do not hold all of it
    tell_untrained_memory(model.transition, cfg.loss.stages)
    check_shapes(model, objectives, world.shown, world.spec)
    env = OmegaConf.to_container(cfg.env)
    columns = {name for objective in objectives for name in getattr(objective, "columns", ())}
    check_columns(env, world, columns)
    start = time.monotonic()
    node = node_of(cfg)
    needed = splits_of(model, world)
    files = {split: collect(env, world, split, cfg.data_dir, quiet=node > 0) for split in (*needed, cfg.score.split)}
    for column in columns:
        files["train"].source(column)  # a file of before that lacks one is told before a folder is opened
    timing = {"data_s": time.monotonic() - start}
    train, valid, *pairs = (files[split] for split in needed)
    # refuses files that lack a column or memory
    data = EpisodeData.of(cfg, train, valid, world, *pairs, copies=devices_of(cfg))
    with open_folder(folder, cfg, overwrite) if node == 0 else nullcontext():
        return _train_and_score(cfg, folder, node, model, world, files, data, timing, goals, ledger)


def _train_and_score(
    cfg, folder: Path, node: int, model, world, files: dict, data, timing: dict[str, float], goals: bool | None,
    ledger: str | None,
) -> dict:  # fmt: skip
    """The part under the lock of the run folder; machines other than the first only train."""
    from eval.plan import plan_run
    from eval.planning.kept import usual_protocol
    from eval.planning.tasks import has_goals
    from eval.probes.score_table import print_scores
    from eval.report import write_report
    from eval.runs import Run
    from eval.runs.ledger import enter, entered_if_diverged
    from eval.runs.made_with import machine
    from eval.score import score_run
    from train.callbacks import seconds_of
    from train.distributed import processes_of, train_together
    from train.malloc import peak_bytes
    from train.rounds import in_rounds
    from train.stages import train_stages, wandb_logger

    if processes_of(cfg) > 1:
        with entered_if_diverged(folder, ledger) if node == 0 else nullcontext():
            train_together(cfg, folder)
        if node > 0:
            return {}  # the first machine scores
        logger = wandb_logger(cfg, folder)  # continues that of the training processes
    else:
        logger = wandb_logger(cfg, folder)
        with entered_if_diverged(folder, ledger):
            train_stages(cfg, model, data, folder, logger)
        timing["peak_gb"] = peak_bytes() / 1e9  # of this session; where several processes train, none of them is this one
    if seconds := seconds_of(folder / "metrics.csv"):  # of all sessions of the run
        epochs = sum(stage.epochs for stage in cfg.loss.stages)
        timing["fit_s"] = seconds
        if not in_rounds(cfg.trainer):
            timing["samples_per_s"] = epochs * int((data.files[0].ep_len - 1).sum()) / seconds

    run = Run.open(folder, world, files)  # scores the weights on the disk
    with entered_if_diverged(folder, ledger):
        results, refused = score_run(run, timing=timing, machine=machine(cfg.trainer.accelerator)), None
    if goals_asked(goals, cfg) and has_goals(world):
        try:
            results = plan_run(run, **usual_protocol())
        except Problem as problem:  # raised at the end: scores and report do not depend on it
            refused = problem
    if logger is not None:
        logger.experiment.summary.update(results["metrics"])
        logger.experiment.finish()
    report = write_report(run)
    if ledger is not None:
        enter(folder, ledger)
    print_scores(results)
    print(f"\n{folder / 'results.json'}\n{report}")
    if refused is not None:
        raise refused
    return results
