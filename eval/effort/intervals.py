"""Intervals of means over seeds, and what chance leaves of a comparison of rows."""

from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from eval.runs.answers import LEVEL

FEW = 3  # seeds below which an interval tells of t more than of a row
T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)  # Student's t, two sides, of 1 to 9 degrees of freedom


class Estimate(NamedTuple):
    """A mean over seeds with its 95 % interval, of a score with answers the wider of bootstrap and t, none of a single seed without.  values: seed -> score."""

    values: dict[int, float]
    low: float | None
    high: float | None

    @property
    def mean(self) -> float:
        return mean(self.values.values())

    @classmethod
    def over_seeds(cls, values: dict[int, float]) -> "Estimate":
        """Student's t."""
        if len(values) < 2:
            return cls(values, None, None)
        found, t = list(values.values()), T95[min(len(values) - 2, len(T95) - 1)]
        half = t * stdev(found) / len(found) ** 0.5
        return cls(values, mean(found) - half, mean(found) + half)

    @property
    def shown(self) -> tuple[float | None, float | None]:
        """What stands beside the mean: of FEW seeds or more the interval, of two the seeds, of one nothing."""
        if len(self.values) >= FEW:
            return self.low, self.high
        return (min(self.values.values()), max(self.values.values())) if len(self.values) == 2 else (None, None)

    @property
    def within(self) -> tuple[float | None, float | None]:
        """What is shown, as it is drawn: Student's t knows of no bounds, a percentage has some."""
        low, high = self.shown
        return (None, None) if low is None else (max(low, 0.0), min(high, 100.0))

    def text(self, digits: int = 1) -> str:
        """The mean and half of the interval; of two seeds both."""
        low, high = self.shown
        if low is None:
            return f"{self.mean:.{digits}f}"
        beside = f" ± {(high - low) / 2:.{digits}f}" if len(self.values) >= FEW else f" [{low:.{digits}f}, {high:.{digits}f}]"
        return f"{self.mean:.{digits}f}{beside}"


def students(mine: dict[int, float], theirs: dict[int, float], paired: bool) -> tuple[float | None, float | None]:
    """The interval of a difference of means over seeds; none of single seeds."""
    if paired:
        apart = Estimate.over_seeds({seed: mine[seed] - theirs[seed] for seed in mine})
        return apart.low, apart.high
    if min(len(mine), len(theirs)) < 2:
        return None, None
    from scipy.stats import ttest_ind  # takes a second

    a, b = list(mine.values()), list(theirs.values())
    if not stdev(a) and not stdev(b):
        return None, None
    found = ttest_ind(a, b, equal_var=False).confidence_interval(LEVEL / 100)
    return float(found.low), float(found.high)


def wider(one: tuple[float, float], other: tuple[float | None, float | None]) -> tuple[float, float]:
    """What holds both intervals."""
    return one if other[0] is None else (min(one[0], other[0]), max(one[1], other[1]))


def reliability(estimates: Sequence[Estimate]) -> float:
    """The share of the spread of means that is not chance, 0 to 1, by their intervals."""
    chance = mean(((one.high - one.low) / 2 / 1.96) ** 2 if one.low is not None else 0.0 for one in estimates)
    spread = stdev(one.mean for one in estimates) ** 2
    return max(0.0, 1 - chance / spread) if spread else 0.0
