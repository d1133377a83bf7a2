"""Published hit rates of violated expectations beside ours: mean, sample standard deviation, Welch's t."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_ind_from_stats

from envs.problem import Problem
from eval.paper.voe_runs import Row, Runs, voe_tables

MEAN = "mean"  # the column of the mean over categories
SUBTYPES = {"A": 2, "B": 2, "C": 2, "D": 3, "E": 3}  # of each category


class Cell(NamedTuple):
    """mean, sd (nan: of one seed, or not published), and the number of seeds."""

    mean: float
    sd: float
    seeds: int

    @classmethod
    def of(cls, rates: Sequence[float]) -> "Cell":
        """The cell of hit rates, one for each seed."""
        return cls(float(np.mean(rates)), float(np.std(rates, ddof=1)) if len(rates) > 1 else float("nan"), len(rates))

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if np.isnan(self.sd) else f"{self.mean:.3f} ± {self.sd:.3f}"


class Difference(NamedTuple):
    """Of two cells: of the means, Welch's t, and its two-sided p; both nan where a cell has no spread."""

    mean: float
    t: float
    p: float

    def __str__(self) -> str:
        if np.isnan(self.t):
            return f"{self.mean:+.3f}"
        return f"{self.mean:+.3f}, t {self.t:.1f}, p {'< .001' if self.p < 5e-4 else f'{self.p:.3f}'}"


def published() -> dict[str, dict[str, Cell]]:
    """Row -> env -> cell."""
    book = voe_tables()
    return {row: {env: Cell(*pair, book["seeds"]) for env, pair in cells.items()} for row, cells in book["published"].items()}


def difference(one: Cell, other: Cell) -> Difference:
    """How much larger `one` is."""
    if np.isnan([one.sd, other.sd]).any() or one.sd == other.sd == 0:
        return Difference(one.mean - other.mean, float("nan"), float("nan"))
    found = ttest_ind_from_stats(*one, *other, equal_var=False)
    return Difference(one.mean - other.mean, float(found.statistic), float(found.pvalue))


@dataclass(frozen=True)
class VoeTable:
    """Rows under the five categories and their mean.  key: of `metrics`.  published: whether Table 4 stands beside.

    bounds: name -> key, means over all rows and seeds.  subtypes: whether every row is followed by its sub-types.  others:
    whether rows of every other model that was found follow.
    """

    name: str
    title: str
    key: str
    rows: tuple[Row, ...]
    bounds: dict[str, str] = field(default_factory=dict)
    published: bool = False
    subtypes: bool = False
    others: bool = False

    @property
    def page(self) -> str:
        """The page it stands on."""
        return self.name.partition("-part")[0]


def voe_specs(names: Sequence[str], only: Sequence[str] | None = None) -> list[VoeTable]:
    """The tables of these names, those without a row left out.  only: names of rows; none: all."""
    book, found = voe_tables(), []
    for name in names:
        for part, spec in enumerate(book["tables"][name], 1):
            rows = tuple(Row.of(row) for row in spec["rows"] if only is None or row in only)
            end = f"-part{part}" if len(book["tables"][name]) > 1 else ""
            found.append(VoeTable(name + end, **spec | {"rows": rows}))
    if not any(table.rows for table in found):
        raise Problem(f"no table asked for has the rows {', '.join(only or ())}; leave out rows=")
    return [table for table in found if table.rows]


Values = dict[str, dict[int, float]]  # column (A to E, mean) -> seed -> hit rate


@dataclass(frozen=True)
class Filled:
    """A table with what its runs say.  rows: with those that were found.  runs: every results file shown, once."""

    table: VoeTable
    rows: tuple[Row, ...]
    values: dict[tuple[str, str], Values]  # (row or bound, "" or sub-type 1, 2, 3)
    runs: list[dict]


def fill(table: VoeTable, cfg: dict) -> Filled:
    """Read the runs."""
    runs, envs = Runs(cfg), voe_tables()["envs"]
    rows = (*table.rows, *(runs.others([Row.of(name) for name in voe_tables()["rows"]]) if table.others else ()))
    found = {(row.name, column, seed): results for row in rows for column, env in envs.items() for seed in range(cfg["seeds"])
             if (results := runs.results(row, env, seed))}  # fmt: skip
    values: dict[tuple[str, str], Values] = {}

    def take(row: Row, part: str, key_of: Callable[[str], str], columns: Sequence[str]) -> None:
        cells = {column: {seed: results["metrics"][key_of(column)] for (name, c, seed), results in found.items()
                          if name == row.name and c == column and key_of(column) in results["metrics"]} for column in columns}  # fmt: skip
        values[row.name, part] = cells | ({} if part else {MEAN: _means(cells)})

    for row in rows:
        take(row, "", lambda column: table.key, list(envs))
        for number in range(1, 1 + max(SUBTYPES.values()) * table.subtypes):
            there = [column for column, count in SUBTYPES.items() if number <= count]
            take(row, str(number), lambda column, number=number: f"{table.key}/{column}{number}", there)
    own = {(row.name, column, seed): runs.results(row, env, seed, "results.json") for row in rows for column, env in envs.items()
           for seed in range(cfg["seeds"])} if any(row.ask for row in rows) else found  # fmt: skip
    for name, key in table.bounds.items():
        per = {
            column: [r["metrics"][key] for (_, c, _), r in own.items() if r and c == column and key in r["metrics"]]
            for column in envs
        }
        cells = {column: {-1: mean(some)} for column, some in per.items() if some}
        values[name, ""] = cells | {MEAN: _means(cells) if len(cells) == len(envs) else {}}
    return Filled(table, rows, values, list(found.values()))


def _means(cells: Values) -> dict[int, float]:
    """Over the categories, of the seeds that have all of them."""
    seeds = set.intersection(*map(set, cells.values())) if cells else set()
    return {seed: mean(cells[column][seed] for column in cells) for seed in sorted(seeds)}
