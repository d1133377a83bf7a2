"""Callbacks of training: one seed per epoch, parts that learn nothing, metrics.csv, best weights, last state, sensitivity,
lines without a terminal."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from pytorch_lightning import Callback, seed_everything
from pytorch_lightning.callbacks import Checkpoint, ModelCheckpoint

from eval.probes.pair_scores import auc, hit_rate
from eval.probes.sensitivity import NEEDS, SMALL, pairs, sensitivities
from eval.runs.metrics_csv import COLUMNS, whole_rows
from models.processes import rank
from train.datamodule import Windows
from train.metrics_csv import add_rows


class SeedEpochs(Callback):
    """Seeds every epoch from (seed, stage, epoch), so that a resumed run draws the numbers of an uninterrupted one.

    Processes that share a batch draw different noise for their rows; process 0 draws as a single process does.
    """

    def __init__(self, seed: int, stage: int) -> None:
        self.seed, self.stage = seed, stage

    def on_train_epoch_start(self, trainer, model) -> None:
        mixed = (self.seed * 101 + self.stage) * 10_007 + trainer.current_epoch + rank() * 1_000_000_007
        seed_everything(mixed % 2**32, workers=False, verbose=False)


class UntrainedParts(Callback):
    """Tells after the first epoch which parts of a stage its objective has not reached: they would be scored as if they had
    learned. Some objectives begin later with one, so that none is refused."""

    def __init__(self, stage: str, trains: Sequence[str]) -> None:
        self.stage, self.missed = stage, set(trains)

    def on_after_backward(self, trainer, model) -> None:
        for name in [*self.missed]:
            weights = [weight for weight in getattr(model, name).parameters() if weight.requires_grad]
            if not weights or any(weight.grad is not None for weight in weights):
                self.missed.remove(name)

    def on_train_epoch_end(self, trainer, model) -> None:
        if self.missed and trainer.current_epoch == 0 and rank() == 0:
            parts = " and the ".join(sorted(self.missed))
            print(f"stage '{self.stage}' is to train the {parts}, and {type(model.objective).__name__} gave no gradient for a "
                  f"whole epoch; what is never trained stays as it was drawn: leave it out of trains=", file=sys.stderr)


class MetricsFile(Callback):
    """Appends one row per epoch and metric to metrics.csv: stage, epoch, metric, value; appending survives a resume.

    `seconds` of an epoch include its validation. Process 0 alone writes.
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
    """Training time of a run by its metrics.csv, 0 without any; the last row of an epoch that was trained twice counts."""
    rows = [row for row in whole_rows(path, COLUMNS) if row["metric"] == "seconds"]
    return sum({(row["stage"], row["epoch"]): float(row["value"]) for row in rows}.values())


class BestWeights(ModelCheckpoint):
    """Saves the best weights; run folders may be moved.

    by_pairs: best is the largest hit rate on validation pairs, of equal ones the largest AUC, then the least validation loss;
    else the least validation loss.
    Lightning keeps absolute paths and forgets the best score of a moved folder.
    """

    def __init__(self, folder: Path, by_pairs: bool = False) -> None:
        by = {"monitor": "val/hit_rate", "mode": "max"} if by_pairs else {"monitor": "val/loss"}
        super().__init__(folder, filename="best", enable_version_counter=False, **by)
        self.best, self.by_pairs, self.scores = folder / "best.ckpt", by_pairs, []

    def check_monitor_top_k(self, trainer, current=None) -> bool:
        if not self.by_pairs:
            return super().check_monitor_top_k(trainer, current)
        hits, area, loss = (float(trainer.callback_metrics[f"val/{name}"]) for name in ("hit_rate", "auc", "loss"))
        better = not self.scores or [hits, area, -loss] > self.scores
        if better:
            self.scores = [hits, area, -loss]
        return better

    def state_dict(self) -> dict:
        return super().state_dict() | {"scores": self.scores}

    def load_state_dict(self, state_dict) -> None:
        # as Lightning names it, or it would remove the next best as an older one
        best = str(Path(self.dirpath) / self.best.name)
        self.scores = state_dict.get("scores", [])  # runs of before do not say
        here = {
            "dirpath": self.dirpath, "best_model_path": best, "kth_best_model_path": best,
            "best_k_models": {best: score for score in state_dict["best_k_models"].values()},
        }  # fmt: skip
        super().load_state_dict({**state_dict, **here})


class LastState(Checkpoint):
    """Saves the state of every epoch over that of the one before, to resume from.

    Lightning's `save_last` saves one only where the best was saved, so that a run would go on from its best epoch. Of the class
    Checkpoint, as Lightning calls those after all others, in their order: the state holds what BestWeights has just noted.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "last.ckpt"

    def on_train_epoch_end(self, trainer, model) -> None:
        trainer.save_checkpoint(self.path)


class Pairs(Callback):
    """Logs val/hit_rate and val/auc of a model of clips on validation pairs.

    expected, surprising: windows of the two versions, with columns label_trial and label_posterior. Every process judges all.
    """

    def __init__(self, expected: Windows, surprising: Windows) -> None:
        self.versions = expected, surprising

    def on_validation_epoch_end(self, trainer, model) -> None:
        (low, mine), (high, theirs) = (self._judged(model, windows) for windows in self.versions)
        _, one, other = np.intersect1d(mine, theirs, return_indices=True)
        found = {"hit_rate": hit_rate(low[one], high[other]), "auc": auc(low, high)}
        for name, value in found.items():
            model.log(f"val/{name}", value, sync_dist=True)

    @torch.no_grad()
    def _judged(self, model, windows: Windows) -> tuple[np.ndarray, np.ndarray]:
        """Surprise of all clips (P,), and their trials (P,)."""
        found = []
        for starts in windows.starts.split(windows.windows_per_batch):
            batch = model.trainer.strategy.batch_to_device(windows.gather(starts), model.device)
            found.append(model.judge_latent(model.clips(batch), batch.labels["label_posterior"].long()))
        return torch.cat(found).cpu().double().numpy(), windows.labels["label_trial"][windows.starts].flatten().numpy()


class Sensitivity(Callback):
    """Logs val/smallest_gap every epoch and warns once if it is too small; see eval/probes/sensitivity.py."""

    def __init__(self, world) -> None:
        self.pairs = pairs(world) if all(isinstance(world, one) for one in NEEDS) else None
        self.warned = False

    def on_validation_epoch_end(self, trainer, model) -> None:
        if self.pairs is None or not self.pairs.altered:  # no variable can be set, or none shows
            return
        found = sensitivities(model, self.pairs)
        least = min(found, key=found.get)
        model.log("val/smallest_gap", found[least], sync_dist=True)
        if found[least] < SMALL and not self.warned and trainer.current_epoch > 0 and rank() == 0:
            self.warned = True
            print(
                f"warning: states that differ only in {least} lie at {found[least]:.4f} of the distance of two random "
                f"states; the latents hardly distinguish them", file=sys.stderr, flush=True,
            )  # fmt: skip


class EpochLines(Callback):
    """Prints one line per epoch, in place of a progress bar, where there is no terminal."""

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
