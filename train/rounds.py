"""Training by processor time: an epoch is a round, and rounds take equally long, whatever a model costs.

So rows of a table get equal effort, and the weights of every round make a curve. The learning rate follows the time, too.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from pytorch_lightning import Callback

from eval.runs.checkpoints import save_weights
from models.interfaces import Batch
from train.datamodule import Windows

PASSES = 100_000  # over the windows in one round, at most, more than there is time for: each has an order of its own


def round_file(checkpoints: Path, number: int) -> Path:
    """The weights at the end of a round, counted from 1 over all stages."""
    return checkpoints / f"round-{number}.ckpt"


class Clock(Callback):
    """The processor time of a stage, of all its sessions, and what is kept at the end of each round.

    seconds: of a round.  rounds: of the stage.  before: rounds of the stages before it.  folder: of checkpoints.  spent: seconds
    that the stages before it took.
    Time begins when the clock is made, so that what a stage prepares counts; validation counts, too. Logs `cpu_seconds` of all
    stages and `updates` of the stage at the end of a round.
    """

    def __init__(self, seconds: float, rounds: int, before: int, folder: Path, spent: float = 0.0) -> None:
        self.seconds, self.rounds, self.before, self.folder, self.spent = seconds, rounds, before, folder, spent
        self.start, self.earlier = time.process_time(), 0.0

    @property
    def used(self) -> float:
        """Seconds."""
        return self.earlier + time.process_time() - self.start

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        return min(1.0, self.used / (self.seconds * self.rounds))

    def round(self, windows: Windows, number: int) -> "Round":
        """The batches of round `number` of the stage, from 0."""
        return Round(self, windows, number)

    def on_train_epoch_end(self, trainer, model) -> None:
        number = self.before + trainer.current_epoch
        model.log("cpu_seconds", self.spent + self.used)
        model.log("updates", float(trainer.global_step))
        save_weights(model, round_file(self.folder, number + 1))

    def state_dict(self) -> dict:
        return {"used": self.used}

    def load_state_dict(self, state_dict: dict) -> None:
        self.earlier = state_dict["used"]


class Round:
    """Pass after pass over the windows until a round is over, one batch at least: a loader without a length.

    Where training goes on, Lightning takes the first batch before anybody says which windows are hard: that pass ends there.
    """

    def __init__(self, clock: Clock, windows: Windows, number: int) -> None:
        self.clock, self.windows, self.number = clock, windows, number

    def __iter__(self) -> Iterator[Batch]:
        over = (self.number + 1) * self.clock.seconds
        for number in range(self.number * PASSES, (self.number + 1) * PASSES):
            self.windows.epoch, chances = number, self.windows.chances
            for batch in self.windows:
                yield batch  # it is trained on before the loop goes on
                if self.clock.used >= over:
                    return
                if self.windows.chances is not chances:
                    break
