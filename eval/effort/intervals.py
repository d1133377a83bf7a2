"""Intervals of means over seeds, tests of two of them, and what chance leaves of a comparison of rows."""

import warnings
from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from eval.runs.answers import LEVEL

FEW = 3  # seeds: of fewer the width of an interval is the factor of t (12.7 for two), and says little about the row
ROUNDING = 1e-9  # percent, below which scores are equal


class Estimate(NamedTuple):
    """A mean over seeds with its 95 % interval.

    values: seed -> score.  low, high: where answers were kept and seeds are FEW or more, the interval that holds both the
    bootstrap's and Student's t; else Student's t alone, and None for a single seed.
    """

    values: dict[int, float]
    low: float | None
    high: float | None

    @property
    def mean(self) -> float:
        return mean(self.values.values())

    @classmethod
    def over_seeds(cls, values: dict[int, float]) -> "Estimate":
        """The interval by Student's t over the seeds."""
        if len(values) < 2:
            return cls(values, None, None)
        from scipy.special import stdtrit  # takes a moment

        found = list(values.values())
        half = float(stdtrit(len(found) - 1, (1 + LEVEL / 100) / 2)) * stdev(found) / len(found) ** 0.5
        return cls(values, mean(found) - half, mean(found) + half)

    @property
    def whiskers(self) -> tuple[float | None, float | None]:
        """The interval of a percentage in a figure, of FEW seeds or more:
        Student's t knows of no bounds, a percentage has some."""
        return (max(self.low, 0.0), min(self.high, 100.0)) if len(self.values) >= FEW else (None, None)

    @property
    def two(self) -> tuple[float, ...]:
        """Both seeds where there are two, which stand in place of an interval."""
        return tuple(sorted(self.values.values())) if len(self.values) == 2 else ()

    def text(self, digits: int = 1) -> str:
        """The mean and half of the interval; of two seeds both, in braces."""
        both = ", ".join(f"{value:.{digits}f}" for value in self.two)
        beside = f" ± {(self.high - self.low) / 2:.{digits}f}" if len(self.values) >= FEW else f" {{{both}}}" if both else ""
        return f"{self.mean:.{digits}f}{beside}"


class Student(NamedTuple):
    """Student's t of a difference of means over seeds: the ends of its 95 % interval, and how likely so large a difference is
    by chance; no ends and 0 where no seed differs, so that seeds tell nothing."""

    low: float | None
    high: float | None
    p: float


def students(mine: dict[int, float], theirs: dict[int, float], paired: bool) -> Student:
    """paired: seed by seed.  Two seeds of each at least."""
    from scipy.stats import ttest_ind, ttest_rel  # takes a second

    a, b = ([side[seed] for seed in (mine if paired else side)] for side in (mine, theirs))
    spread = [stdev(x - y for x, y in zip(a, b))] if paired else [stdev(a), stdev(b)]
    if max(spread) < ROUNDING:
        return Student(None, None, 0.0)
    with warnings.catch_warnings():  # of one side that hardly varies: the other's spread decides
        warnings.filterwarnings("ignore", "Precision loss occurred", RuntimeWarning)
        found = ttest_rel(a, b) if paired else ttest_ind(a, b, equal_var=False)
    interval = found.confidence_interval(LEVEL / 100)
    return Student(float(interval.low), float(interval.high), float(found.pvalue))


def holm(chances: Sequence[float]) -> list[float]:
    """Chances of several tests, each as large as it is once all are made (Holm 1979)."""
    found, largest = [0.0] * len(chances), 0.0
    for done, i in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        found[i] = largest = max(largest, min(1.0, (len(chances) - done) * chances[i]))
    return found


def wider(one: tuple[float, float], other: tuple[float | None, float | None]) -> tuple[float, float]:
    """The smallest interval that contains both; other: may have no ends."""
    return one if other[0] is None else (min(one[0], other[0]), max(one[1], other[1]))


def reliability(estimates: Sequence[Estimate], worlds: bool = False) -> float:
    """The share of the spread of means that is not chance of seeds, 0 to 1; each of two seeds or more.

    worlds: every seed is a drawn world, whose own difficulty all estimates share, so that it is no chance of theirs.
    """
    shared = {seed for one in estimates for seed in one.values} if worlds else ()
    usual = {seed: mean(one.values[seed] for one in estimates if seed in one.values) for seed in shared}
    own = len(estimates) / (len(estimates) - 1) if worlds else 1.0  # a row is a part of the usual that is taken from it
    chance = own * mean(
        stdev(value - usual.get(seed, 0.0) for seed, value in one.values.items()) ** 2 / len(one.values) for one in estimates
    )
    spread = stdev(one.mean for one in estimates) ** 2
    return max(0.0, 1 - chance / spread) if spread else 0.0
