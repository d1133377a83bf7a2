"""What happens beside training: one seed per epoch, metrics.csv, a line per epoch where there is no terminal."""

import csv
import sys
import time
from pathlib import Path

from pytorch_lightning import Callback, seed_everything


class SeedEpochs(Callback):
    """Seeds every epoch from (seed, stage, epoch), so that a resumed run draws what the uninterrupted one drew."""

    def __init__(self, seed: int, stage: int) -> None:
        self.seed, self.stage = seed, stage

    def on_train_epoch_start(self, trainer, model) -> None:
        seed_everything((self.seed * 101 + self.stage) * 10_007 + trainer.current_epoch, workers=False, verbose=False)


class MetricsFile(Callback):
    """Appends one row per epoch and metric to metrics.csv: stage, epoch, metric, value; appending survives a resume."""

    def __init__(self, path: Path, stage: str) -> None:
        self.path, self.stage = path, stage

    def on_train_epoch_end(self, trainer, model) -> None:
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            rows = csv.writer(file)
            if new:
                rows.writerow(["stage", "epoch", "metric", "value"])
            for name, value in sorted(trainer.callback_metrics.items()):
                rows.writerow([self.stage, trainer.current_epoch, name, f"{float(value):.6g}"])


class EpochLines(Callback):
    """One printed line per epoch: the progress bar of log files."""

    def __init__(self, stage: str) -> None:
        self.stage, self.start = stage, time.monotonic()

    def on_train_epoch_end(self, trainer, model) -> None:
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        print(
            f"{self.stage} {trainer.current_epoch + 1}/{trainer.max_epochs}  train {metrics.get('train/loss', 0):.4f}  "
            f"val {metrics.get('val/loss', 0):.4f}  {time.monotonic() - self.start:.0f} s",
            file=sys.stderr,
            flush=True,
        )
