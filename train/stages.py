"""Runs the stages of a loss in order, each from the best weights of the one before."""

import logging
import sys
import warnings
from pathlib import Path

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig
from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import RichProgressBar
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import DDPStrategy

from eval.runs.checkpoints import load_weights, save_weights
from eval.runs.metrics_csv import by_epoch
from models.abilities import Prepared
from models.processes import count, rank
from models.world_model import WorldModel
from train.callbacks import BestWeights, EpochLines, LastState, MetricsFile, Pairs, SeedEpochs, Sensitivity, UntrainedParts
from train.checkpoint_files import WholeCheckpoints, forget_scores, state_to_resume
from train.datamodule import EpisodeData
from train.hard_windows import HardWindows
from train.rounds import Clock, Rounds, UpdateCount, ends_of_rounds, in_rounds
from train.wandb_run import wandb_run

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
logging.getLogger("lightning").setLevel(logging.ERROR)
_SAID_BY_LIGHTNING = (
    "isinstance|Grad strides|LeafSpec|does not have many workers|"
    "Checkpoint directory|logging interval|in eval mode at"
)
warnings.filterwarnings("ignore", f".*({_SAID_BY_LIGHTNING}).*")


class OneCurve(WandbLogger):
    """The mirror of a run whose stages follow one another on one axis.

    Every stage has a Trainer that counts its updates from 0: without those `before`, the curves of the stages would lie on
    one another.
    """

    before = 0  # updates of the finished stages, as far as these noted them

    def log_metrics(self, metrics, step: int | None = None) -> None:
        super().log_metrics(metrics, None if step is None else self.before + step)


def wandb_logger(cfg: DictConfig, folder: Path) -> OneCurve | None:
    """The W&B mirror of a run, as Lightning writes to it."""
    run = wandb_run(cfg, folder, [cfg.model.name, cfg.loss.name, cfg.trainer.budget])
    if run is None:
        return None
    run.define_metric("trainer/global_step")
    run.define_metric("*", step_metric="trainer/global_step", step_sync=True)
    return OneCurve(experiment=run, save_dir=str(folder))


def train_stages(cfg: DictConfig, model: WorldModel, data: EpisodeData, folder: Path, logger: OneCurve | None) -> None:
    """Run or resume every stage of `cfg.loss`; leaves the best weights in the model and in model.ckpt.

    If several processes share the batches, each of them calls this, and process 0 alone writes.
    """
    checkpoints = folder / "checkpoints"
    first = checkpoints / f"0-{cfg.loss.stages[0].name}"
    if rank() == 0 and not first.with_name(f"{first.name}.ckpt").exists() and not any(first.glob("*.ckpt")):
        forget_scores(folder)
    if logger is not None:
        logger.before = 0
    for number, stage in enumerate(cfg.loss.stages):
        working = checkpoints / f"{number}-{stage.name}"
        best = working.with_name(f"{working.name}.ckpt")  # appears when the stage is finished
        if best.exists():
            updates = load_weights(model, best).get("updates", 0)
        else:
            updates = _train_stage(cfg, stage, number, model, data, working, logger)
            _save(model, best, updates=updates)
        if logger is not None:
            logger.before += updates
    _save(model, checkpoints / "model.ckpt")


def on_gpu(cfg: DictConfig) -> bool:
    """Whether a training runs on a GPU."""
    return cfg.trainer.accelerator != "cpu" and torch.cuda.is_available()


def nodes_of(cfg: DictConfig) -> int:
    """Machines that share a training; trainers of one machine do not say."""
    return cfg.trainer.get("nodes") or 1


def accelerator_of(cfg: DictConfig) -> str:
    """What Lightning is told: where several processes share a batch without a GPU of ours, the processor,
    as it would take Apple's.
    """
    return "cpu" if count() > 1 and not on_gpu(cfg) else cfg.trainer.accelerator


def _save(model: WorldModel, path: Path, **told: int) -> None:
    if rank() == 0:
        save_weights(model, path, **told)


def _rounds(cfg: DictConfig, number: int, checkpoints: Path) -> Rounds | None:
    """Those of a stage whose epochs are rounds of processor time or of updates; none where they are passes over the data."""
    if not in_rounds(cfg.trainer):
        return None
    epochs = [stage.epochs for stage in cfg.loss.stages]
    told = by_epoch(checkpoints.parent / "metrics.csv", "cpu_seconds")
    earlier = {stage.name for stage in cfg.loss.stages[:number]}
    spent = max((max(of_epoch.values()) for (stage, _), of_epoch in told.items() if stage in earlier), default=0.0)
    where = sum(epochs[:number]), checkpoints, spent
    if minutes := cfg.trainer.get("cpu_minutes"):
        return Clock(60 * minutes / sum(epochs), epochs[number], *where)
    return UpdateCount(ends_of_rounds(cfg.trainer.updates, epochs, number), *where)


def _train_stage(cfg, stage, number, model, data, working, logger) -> int:
    """Leaves the best weights in the model.  -> the updates that the stage made"""
    objective = instantiate(stage.objective)
    usual = {key: stage[key] for key in ("schedule", "weight_decay", "optimizer") if key in stage}
    rounds = _rounds(cfg, number, working.parent)
    progress = None if rounds is None else lambda: rounds.progress
    model.configure_stage(objective, stage.trains, stage.learning_rate, **usual, progress=progress)
    data.cut(stage.window, stage.batch_size)
    data.loader = None if rounds is None else rounds.round
    data.label(getattr(objective, "columns", ()))
    if number == 0:
        model.fit_normalisation(data.train)
    if isinstance(objective, Prepared):
        objective.prepare(model, data.train)
    if getattr(objective, "encoder_is_fixed", False):
        if on_gpu(cfg):  # where the processes of a training speak with one another
            model.cuda()
        data.keep_latents(model)
    pairs = [Pairs(*data.parts[1:])] if len(data.parts) > 2 else []
    keep = BestWeights(working, by_pairs=bool(pairs))
    shown = RichProgressBar() if sys.stdout.isatty() else EpochLines(stage.name)
    nodes = nodes_of(cfg)
    shared = DDPStrategy(cluster_environment=LightningEnvironment(), find_unused_parameters=True)  # any model, any loss
    trainer = Trainer(
        accelerator=accelerator_of(cfg),
        devices=count() // nodes or 1,
        num_nodes=nodes,
        strategy=shared if count() > 1 else "auto",
        precision=cfg.trainer.precision,
        gradient_clip_val=stage.get("gradient_clip") or cfg.trainer.gradient_clip,
        max_epochs=stage.epochs,
        callbacks=[
            *([rounds] if rounds else []),
            MetricsFile(working.parents[1] / "metrics.csv", stage.name),  # first: its clock covers the others
            HardWindows(data.train, stage.get("hard_share", 0.0)),
            SeedEpochs(cfg.seed, number),
            UntrainedParts(stage.name, stage.trains),
            *([Sensitivity(instantiate(cfg.env.world))] if "encoder" in stage.trains else []),
            *pairs,
            keep,
            LastState(working),
            shown,
        ],
        plugins=[WholeCheckpoints()],
        logger=logger or False,
        num_sanity_val_steps=0,
        reload_dataloaders_every_n_epochs=1,  # the order of an epoch follows from its number
        enable_model_summary=False,
        enable_progress_bar=sys.stdout.isatty(),
    )
    resumed = state_to_resume(working)
    trainer.fit(model, data, ckpt_path=str(resumed) if resumed else None)
    load_weights(model, keep.best)
    model.cpu()
    return trainer.global_step
