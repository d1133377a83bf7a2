"""What happens beside training: one seed per epoch, metrics.csv, best weights, a line per epoch without a terminal."""

import sys
import time
from pathlib import Path

from pytorch_lightning import Callback, seed_everything
from pytorch_lightning.callbacks import ModelCheckpoint

from eval.probes.sensitivity import NEEDS, SMALL, pairs, sensitivities
from eval.runs.metrics_csv import COLUMNS, whole_rows
from models.processes import rank
from train.metrics_csv import add_rows


class SeedEpochs(Callback):
    """Seeds every epoch from (seed, stage, epoch), so that a resumed run draws what the uninterrupted one drew.

    Of processes that share a batch each draws noise of its own for its rows; process 0 draws as one alone does.
    """

    def __init__(self, seed: int, stage: int) -> None:
        self.seed, self.stage = seed, stage

    def on_train_epoch_start(self, trainer, model) -> None:
        mixed = (self.seed * 101 + self.stage) * 10_007 + trainer.current_epoch + rank() * 1_000_000_007
        seed_everything(mixed % 2**32, workers=False, verbose=False)


class MetricsFile(Callback):
    """Appends one row per epoch and metric to metrics.csv: stage, epoch, metric, value; appending survives a resume.

    `seconds` of an epoch include its validation. Of processes that share a batch the first one writes.
    """

    def __init__(self, path: Path, stage: str) -> None:
        self.path, self.stage = path, stage

    def on_train_epoch_start(self, trainer, model) -> None:
        self.start = time.monotonic()

    def on_train_epoch_end(self, trainer, model) -> None:
        if rank() > 0:
            return
        metrics = {**trainer.callback_metrics, "seconds": time.monotonic() - self.start}
        epoch = self.stage, trainer.current_epoch
        add_rows(self.path, COLUMNS, [(*epoch, name, f"{float(value):.6g}") for name, value in sorted(metrics.items())])


def seconds_of(path: Path) -> float:
    """Training time of a run by its metrics.csv, 0 where it says none; of an epoch that was trained twice the last counts."""
    rows = [row for row in whole_rows(path, COLUMNS) if row["metric"] == "seconds"]
    return sum({(row["stage"], row["epoch"]): float(row["value"]) for row in rows}.values())


class BestWeights(ModelCheckpoint):
    """The best weights by validation loss, and the last state to resume from; survives a move of the run folder.

    Lightning keeps absolute paths and forgets the best score where the folder is no longer the one it knew.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, filename="best", monitor="val/loss", save_last=True, enable_version_counter=False)
        self.best = folder / "best.ckpt"

    def load_state_dict(self, state_dict) -> None:
        best = str(self.best)
        here = {
            "dirpath": self.dirpath, "best_model_path": best, "kth_best_model_path": best,
            "last_model_path": str(self.best.with_name("last.ckpt")),
            "best_k_models": {best: score for score in state_dict["best_k_models"].values()},
        }  # fmt: skip
        super().load_state_dict({**state_dict, **here})


class Gaps(Callback):
    """Logs val/smallest_gap every epoch and says once when it is too small, as eval/probes/sensitivity.py explains."""

    def __init__(self, world) -> None:
        self.pairs = pairs(world) if all(isinstance(world, one) for one in NEEDS) else None
        self.warned = False

    def on_validation_epoch_end(self, trainer, model) -> None:
        if self.pairs is None or not self.pairs.altered:  # nothing can be set, or nothing that is set is seen
            return
        found = sensitivities(model, self.pairs)
        least = min(found, key=found.get)
        model.log("val/smallest_gap", found[least], sync_dist=True)
        if found[least] < SMALL and not self.warned and trainer.current_epoch > 0 and rank() == 0:
            self.warned = True
            print(
                f"warning: states that differ only in {least} lie at {found[least]:.4f} of the distance of two random "
                f"states; the latents hardly tell it", file=sys.stderr, flush=True,
            )  # fmt: skip


class EpochLines(Callback):
    """One printed line per epoch: the progress bar of log files."""

    def __init__(self, stage: str) -> None:
        self.stage, self.start = stage, time.monotonic()

    def on_train_epoch_end(self, trainer, model) -> None:
        if rank() > 0:
            return
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        print(
            f"{self.stage} {trainer.current_epoch + 1}/{trainer.max_epochs}  train {metrics.get('train/loss', 0):.4f}  "
            f"val {metrics.get('val/loss', 0):.4f}  {time.monotonic() - self.start:.0f} s",
            file=sys.stderr,
            flush=True,
        )
