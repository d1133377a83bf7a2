"""Published hit rates of violated expectations beside ours: mean, sample standard deviation, Welch's t."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from scipy.stats import ttest_ind_from_stats


class Cell(NamedTuple):
    """mean, sd (nan of one seed), and the number of seeds."""

    mean: float
    sd: float
    seeds: int

    @classmethod
    def of(cls, rates: Sequence[float]) -> "Cell":
        """The cell of hit rates, one for each seed."""
        return cls(float(np.mean(rates)), float(np.std(rates, ddof=1)) if len(rates) > 1 else float("nan"), len(rates))

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if np.isnan(self.sd) else f"{self.mean:.3f} +- {self.sd:.3f}"


class Difference(NamedTuple):
    """Of two cells: of the means, Welch's t, and its two-sided p; nan where a cell has one seed."""

    mean: float
    t: float
    p: float


def published() -> dict[str, dict[str, Cell]]:
    """Model -> env -> cell."""
    book = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
    return {model: {env: Cell(*pair, book["seeds"]) for env, pair in row.items()} for model, row in book["published"].items()}


def difference(one: Cell, other: Cell) -> Difference:
    """How much larger `one` is."""
    if min(one.seeds, other.seeds) < 2:
        return Difference(one.mean - other.mean, float("nan"), float("nan"))
    found = ttest_ind_from_stats(*one, *other, equal_var=False)
    return Difference(one.mean - other.mean, float(found.statistic), float(found.pvalue))
