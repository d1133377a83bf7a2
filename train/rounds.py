"""Training in rounds: an epoch is a round, and rounds take equally long, or those of a stage make equally many updates.

So rows of a table get equal effort, and the weights of every round make a curve. The learning rate follows the rounds, too.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from pytorch_lightning import Callback

from eval.runs.checkpoints import save_weights
from eval.runs.run import weights_file
from models.interfaces import Batch
from train.datamodule import Windows

PASSES = 100_000  # over the windows in one round, at most, more than there is time for: each has an order of its own


def in_rounds(trainer: Mapping) -> bool:
    """Whether the epochs of a trainer's config are rounds; else they are passes over the data."""
    return bool(trainer.get("cpu_minutes") or trainer.get("updates"))


class Rounds(Callback, ABC):
    """The rounds of a stage: when one ends, how far the schedule is, what is kept at the end of each, and the processor time of
    all sessions.

    count: how many the stage has.  before: rounds of the stages before it.  folder: of checkpoints.  spent: seconds that the
    stages before it took.
    Time begins when this is made, so that what a stage prepares counts; validation counts, too. Logs `cpu_seconds` of all
    stages and `updates` of the stage at the end of a round.
    """

    def __init__(self, count: int, before: int, folder: Path, spent: float = 0.0) -> None:
        self.count, self.before, self.folder, self.spent = count, before, folder, spent
        self.start, self.earlier = time.process_time(), 0.0

    @property
    @abstractmethod
    def progress(self) -> float:
        """The share of the stage that is over, from 0 to 1."""

    @abstractmethod
    def over(self, number: int, given: int) -> bool:
        """Whether round `number` of the stage, from 0, ends after so many batches of it."""

    @property
    def used(self) -> float:
        """Seconds of processor time that the stage has used, in all sessions."""
        return self.earlier + time.process_time() - self.start

    def round(self, windows: Windows, number: int) -> "Round":
        """The batches of round `number` of the stage, from 0."""
        return Round(self, windows, number)

    def on_train_epoch_end(self, trainer, model) -> None:
        number = self.before + trainer.current_epoch
        model.log("cpu_seconds", self.spent + self.used)
        model.log("updates", float(trainer.global_step))
        save_weights(model, weights_file(self.folder.parent, number + 1))

    def state_dict(self) -> dict:
        return {"used": self.used}

    def load_state_dict(self, state_dict: dict) -> None:
        # what the stage prepares was paid before it broke off
        self.earlier, self.start = state_dict["used"], time.process_time()


class Clock(Rounds):
    """Rounds of so many seconds of processor time each."""

    def __init__(self, seconds: float, *where, **more) -> None:
        super().__init__(*where, **more)
        self.seconds = seconds

    @property
    def progress(self) -> float:
        return min(1.0, self.used / (self.seconds * self.count))

    def over(self, number: int, given: int) -> bool:
        return self.used >= (number + 1) * self.seconds


def ends_of_rounds(updates: int | Sequence[int], rounds: Sequence[int], stage: int) -> list[int]:
    """How many updates of a stage are made at the end of each of its rounds, which share them as evenly as whole numbers can.

    updates: of all stages, whose rounds share them alike, or of each.  rounds: of each stage.
    """
    own, before = rounds[stage], sum(rounds[:stage])
    if not isinstance(updates, int):
        return [updates[stage] * number // own for number in range(1, own + 1)]
    first = updates * before // sum(rounds)
    return [updates * (before + number) // sum(rounds) - first for number in range(1, own + 1)]


class UpdateCount(Rounds):
    """Rounds of so many updates each.  ends: updates of the stage at the end of each of its rounds."""

    def __init__(self, ends: Sequence[int], *where, **more) -> None:
        super().__init__(len(ends), *where, **more)
        self.ends, self.done = ends, 0

    @property
    def progress(self) -> float:
        return min(1.0, self.done / self.ends[-1])  # the config of a run that goes on may ask for fewer

    def over(self, number: int, given: int) -> bool:
        return given >= self.ends[number] - (self.ends[number - 1] if number else 0)

    def on_before_optimizer_step(self, trainer, model, optimizer) -> None:
        self.done += 1  # here, as the schedule steps before a batch is told to have ended

    def state_dict(self) -> dict:
        return super().state_dict() | {"done": self.done}

    def load_state_dict(self, state_dict: dict) -> None:
        super().load_state_dict(state_dict)
        self.done = state_dict["done"]


class Round:
    """Pass after pass over the windows until a round is over, one batch at least: a loader without a length.

    Lightning fetches one batch ahead of the one that it trains on. A round by the clock is therefore one batch longer. After a
    resume, the first batch is fetched before HardWindows has set the chances of the windows; the loop below then draws the pass
    anew under these chances, and goes on behind the batches that were given already.
    """

    def __init__(self, rounds: Rounds, windows: Windows, number: int) -> None:
        self.rounds, self.windows, self.number = rounds, windows, number

    def __iter__(self) -> Iterator[Batch]:
        given = 0
        for number in range(self.number * PASSES, (self.number + 1) * PASSES):
            self.windows.epoch, place = number, 0
            while place < len(self.windows):
                chances = self.windows.chances
                for batch in islice(self.windows, place, None):
                    yield batch
                    given, place = given + 1, place + 1
                    if self.rounds.over(self.number, given):
                        return
                    if self.windows.chances is not chances:
                        break
