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

import time
from contextlib import nullcontext

from envs.problem import Problem, nearest
from envs.protocols import CausalGraph, CausalTables


def prepare(overrides: list[str]) -> list[str]:
    """Add trainer=gpu where a GPU is present and neither a trainer nor an experiment is named; resume= stands alone, or with goals= and ledger=."""
    import torch

    if any(o.startswith("resume=") and o != "resume=null" for o in overrides):
        others = [o for o in overrides if not o.startswith(("resume=", "goals=", "ledger=", "-", "hydra"))]
        if others:
            raise Problem(f"resume= goes on with the run's own configuration; leave out {' '.join(others)}")
        return overrides
    asked = any(o.split("=")[0] in ("trainer", "experiment") for o in overrides)
    return overrides if asked or not torch.cuda.is_available() else [*overrides, "trainer=gpu"]


def check_parts(model, objectives, spec, stages=()) -> None:
    """Raise Problem on the first unmet need of a part of the model or of an objective, and on a stage that trains what is not there."""
    from models.abilities import Demands

    for part in (model.encoder, model.transition, model.decoder, *objectives):
        for met, sentence in part.needs(model, spec) if isinstance(part, Demands) else ():
            if not met:
                raise Problem(sentence)
    for stage in stages:
        for name in stage.trains:
            if name not in model.PARTS or getattr(model, name) is None:
                there = [part for part in model.PARTS if getattr(model, part) is not None]
                raise Problem(f"stage '{stage.name}' trains the {name}, and this model has {', '.join(there)}; choose another loss=")
    learned = {name for stage in stages for name in stage.trains}
    drawn = sum(p.numel() for p in model.encoder.parameters()) and "encoder" not in learned
    if stages and drawn and any(getattr(one, "wants_learned_encoder", False) for one in objectives):
        raise Problem(f"no stage of this loss trains the encoder, and {type(model.encoder).__name__} would stay as it was drawn; "
                      f"choose another loss=, or a model whose encoder has nothing to learn: model=fingers, model=tracks")  # fmt: skip


def _check_plan(cfg) -> None:
    """Raise Problem on stages, splits and processes that do not fit together."""
    import torch

    from eval.runs.run import FINAL
    from models.native_precision import MIXED, SINGLE, fast_precision
    from train.distributed import processes_of

    if cfg.trainer.accelerator == "gpu" and not torch.cuda.is_available():
        raise Problem(
            f"trainer={cfg.trainer.name} needs a GPU and none is visible; use trainer=quick, or resume where a GPU is"
        )
    if cfg.trainer.precision == MIXED != fast_precision(cfg.trainer.accelerator):
        raise Problem(
            f"trainer.precision={MIXED} needs bfloat16, which this machine has no instructions for; set trainer.precision={SINGLE}, or "
            f"train and resume where it has"
        )
    if cfg.trainer.precision == "16-mixed" and (cfg.trainer.accelerator == "cpu" or not torch.cuda.is_available()):
        raise Problem(f"trainer.precision=16-mixed needs a GPU; set trainer.precision={SINGLE}")
    processes = processes_of(cfg)
    kinds = {"cpu_minutes": "is the time", "updates": "is the number of updates"}
    for key, is_of in kinds.items() if processes > 1 else ():
        if cfg.trainer.get(key):
            raise Problem(f"trainer.{key}= {is_of} of one process, and {processes} are asked for; set trainer.devices=1, or trainer=ddp")
    if len(asked := [key for key in kinds if cfg.trainer.get(key)]) > 1:
        raise Problem(f"a training has so much time or so many updates, and got both, trainer.{asked[0]}={cfg.trainer[asked[0]]} and "
                      f"trainer.{asked[1]}={cfg.trainer[asked[1]]}; leave one of them out")  # fmt: skip
    if (updates := cfg.trainer.get("updates")) and updates < (rounds := sum(stage.epochs for stage in cfg.loss.stages)):
        raise Problem(f"trainer.updates={updates} are to be shared by {rounds} rounds; set it to {rounds} or more, or the epochs of its stages to less")
    for split in ("train", "valid", cfg.score.split):  # a resumed run is not checked elsewhere
        if split not in cfg.env.splits:
            raise Problem(f"env '{cfg.env.name}' has no split '{split}': {nearest(split, cfg.env.splits)}")
    if cfg.score.split == FINAL:
        raise Problem("split 'final' is scored after a setting was chosen, by eval/score.py split=final; set score.split=select")
    if max(cfg.score.horizons) > cfg.env.splits[cfg.score.split].length:
        raise Problem(
            f"score.horizons={list(cfg.score.horizons)} reach beyond the episodes of split '{cfg.score.split}' "
            f"({cfg.env.splits[cfg.score.split].length} actions); shorten the horizons or set "
            f"env.splits.{cfg.score.split}.length="
        )
    for number, stage in enumerate(cfg.loss.stages):
        if stage.get("hard_share", 0) and "transition" not in stage.trains:
            raise Problem(
                f"loss.stages.{number}.hard_share={stage.hard_share} draws windows by the errors of the transition, and stage "
                f"'{stage.name}' does not train it; set it to 0"
            )
        looked_at = cfg.model.get("frames")
        if looked_at is not None and (asked := looked_at if isinstance(looked_at, int) else max(looked_at) + 1) > stage.window + 1:
            raise Problem(
                f"model.frames={looked_at} asks for {asked} frames, and a clip has {stage.window + 1}; set model.frames= to less"
            )
        if processes > max(1, stage.batch_size // stage.window):
            raise Problem(
                f"trainer.devices and trainer.nodes ask for {processes} processes, and a batch of stage '{stage.name}' is "
                f"{max(1, stage.batch_size // stage.window)} windows; set loss.stages.{number}.batch_size="
                f"{processes * stage.window} or more"
            )
        for split in ("train", "valid"):
            if stage.window > cfg.env.splits[split].length:
                raise Problem(
                    f"loss.stages.{number}.window={stage.window} is longer than the episodes of split '{split}' "
                    f"({cfg.env.splits[split].length} actions); shorten it or set env.splits.{split}.length="
                )
            windows = cfg.env.splits[split].episodes * (cfg.env.splits[split].length // stage.window)
            if windows < processes:
                raise Problem(
                    f"{processes} processes cannot share the {windows} windows of split '{split}'; set trainer.devices= to "
                    f"fewer or env.splits.{split}.episodes= to more"
                )


def _check_graph(world, transition) -> None:
    """Raise Problem on a given graph that is not the world's, and on learned edges in a world whose effects are delayed."""
    from models.abilities import DrawsGraph

    graph = transition.graph if isinstance(transition, DrawsGraph) else None
    known = isinstance(world, CausalGraph) and world.parents.tolist()
    if graph == "given" and known and (transition.fixed.numpy() > 0).tolist() != known:
        raise Problem(
            "model.graph=given has another graph than the world; set env.world.graph= to that of env.world.scm=, "
            "and env.world.numbering=causal, so that it is not renumbered"
        )
    if graph == "learned" and isinstance(world, CausalTables) and world.model.delays is not None:
        raise Problem("model.graph=learned learns effects within a step, this env delays them; use model.graph=none or full")


def tell_untrained_memory(transition, stages) -> None:
    """On stderr, where no window has a second step for a memory to be read at: rollouts go on from weights as they were drawn."""
    from models.abilities import Remembers

    windows = [stage.window for stage in stages if "transition" in stage.trains]
    if isinstance(transition, Remembers) and windows and max(windows) == 1:
        print(f"warning: windows of one step train no memory, and {type(transition).__name__} has one, which every prediction after "
              f"the first reads; set loss.window=2 or more", file=sys.stderr, flush=True)  # fmt: skip


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
    from envs.collect import collect
    from envs.whole_files import check_writable
    from eval.runs import Run
    from eval.score import probes_of
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
    _check_plan(cfg)
    world = instantiate(cfg.env.world)
    check_world(cfg, world)
    seed_everything(cfg.seed, workers=False, verbose=False)
    model = instantiate(cfg.model.module)
    _check_graph(world, model.transition)
    probes_of(Run(model, cfg, world=world), cfg.score.get("probes"))  # raises before training, not after it
    objectives = [instantiate(stage.objective) for stage in cfg.loss.stages]  # before anything is made or deleted
    check_parts(model, objectives, spec_of(cfg.env.world, world.observation), cfg.loss.stages)  # old runs do not hold all of it
    tell_untrained_memory(model.transition, cfg.loss.stages)
    check_shapes(model, objectives, world.shown, world.spec)
    env = OmegaConf.to_container(cfg.env)
    start = time.monotonic()
    node = node_of(cfg)
    needed = splits_of(model, world)
    files = {split: collect(env, world, split, cfg.data_dir, quiet=node > 0) for split in (*needed, cfg.score.split)}
    for column in {name for objective in objectives for name in getattr(objective, "columns", ())}:
        files["train"].source(column)  # a world without labels is told before a folder is opened
    timing = {"data_s": time.monotonic() - start}
    train, valid, *pairs = (files[split] for split in needed)
    data = EpisodeData.of(cfg, train, valid, world, *pairs, copies=devices_of(cfg))  # refuses files that lack a column or memory
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
