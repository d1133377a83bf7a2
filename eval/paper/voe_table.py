"""Published hit rates of violated expectations beside ours: mean, sample standard deviation, Welch's t."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import NamedTuple

import numpy as np

from envs.problem import Problem, nearest
from envs.voe.clip import SUBTYPES as NAMED
from eval.paper.table_specs import all_seeds, seeds_of
from eval.paper.voe_runs import Row, Runs, voe_tables
from eval.paper.voe_stored import STORED, StoredRuns
from eval.probes.pair_scores import GUESSED

MEAN = "mean"  # the column of the mean over categories
RANDOM = "floor/random/voe/hit_rate"  # shown is its expectation: results of before hold one draw, the same of every env
SUBTYPES = Counter(name[0] for name in NAMED)  # how many each category has


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
    if np.isnan([one.sd, other.sd]).any() or 0 in (one.sd, other.sd):  # few seeds that agree know nothing of their spread
        return Difference(one.mean - other.mean, float("nan"), float("nan"))
    from scipy.stats import ttest_ind_from_stats  # takes a second

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
            found.append(VoeTable(name + end, **spec | {"rows": rows, "others": only is None and spec.get("others", False)}))
    if not any(table.rows for table in found):
        rows = {row for name in names for spec in book["tables"][name] for row in spec["rows"]}
        asked = ", ".join(only or ())
        raise Problem(f"no table asked for has the rows {asked}; leave out rows=, or name some: {nearest(asked, rows)}")
    return [table for table in found if table.rows]


Values = dict[str, dict[int, float]]  # column (A to E, mean) -> seed -> hit rate


@dataclass(frozen=True)
class Filled:
    """A table with what its runs say.  rows: with those that were found.  values: by the name of a row, or of a bound, and the
    number of a sub-type, 0 for all.  runs: results.json of every run shown.  humans: name of the row of people, told: what the
    caption says of them; empty without one."""

    table: VoeTable
    rows: tuple[Row, ...]
    values: dict[tuple[str, int], Values]
    runs: list[dict]
    humans: str = ""
    told: str = ""


def _runs(cfg: dict) -> Runs | StoredRuns:
    return StoredRuns(cfg) if cfg["budget"] == STORED else Runs(cfg)


def _rows(table: VoeTable, runs: Runs | StoredRuns) -> tuple[Row, ...]:
    """With those of other models that were found, where a table shows them."""
    return (*table.rows, *(runs.others([Row.of(name) for name in voe_tables()["rows"]]) if table.others else ()))


def with_seeds_of(tables: Sequence[VoeTable], cfg: dict) -> dict:
    """The config of a command, with all seeds that a row of some tables has."""
    runs = _runs(cfg)
    asked = {(row, env) for table in tables for row in _rows(table, runs) for env in voe_tables()["envs"].values()}
    return all_seeds(lambda seed: any(runs.results(*row, seed) for row in asked), cfg, runs.seeds)


def fill(table: VoeTable, cfg: dict) -> Filled:
    """Read the runs."""
    runs, envs = _runs(cfg), voe_tables()["envs"]
    rows = _rows(table, runs)
    values: dict[tuple[str, int], Values] = {}
    shown: list[dict] = []
    for row in rows:
        own = {column: {seed: found for seed in seeds_of(cfg) if (found := runs.results(row, env, seed))}
               for column, env in envs.items()}  # fmt: skip
        shown += [found for of_seed in own.values() for found in of_seed.values()]
        asked = {column: {seed: runs.asked(row, envs[column], seed, found) for seed, found in of_seed.items()}
                 for column, of_seed in own.items()}  # fmt: skip
        for number in range(1 + max(SUBTYPES.values()) * table.subtypes):
            there = [column for column in envs if number <= SUBTYPES[column]]
            values[row.name, number] = {
                column: _numbers(asked[column], table.key + f"/{column}{number}" * bool(number)) for column in there
            }
        values[row.name, 0][MEAN] = _means(values[row.name, 0])
    for name, key in table.bounds.items():
        every = {
            column: [GUESSED if key == RANDOM else one["metrics"][key] for one in shown
                     if one["env"] == env and key in one["metrics"]]
            for column, env in envs.items()
        }  # fmt: skip
        values[name, 0] = {column: {-1: mean(some)} if some else {} for column, some in every.items()}
        values[name, 0][MEAN] = _means(values[name, 0])
    return Filled(table, rows, values, shown)


def _numbers(of_seed: dict[int, dict | None], key: str) -> dict[int, float]:
    """Seed -> a metric, of the results that have it."""
    return {seed: found["metrics"][key] for seed, found in of_seed.items() if found and key in found["metrics"]}


def _means(cells: Values) -> dict[int, float]:
    """Over the categories, of the seeds that have all of them."""
    seeds = set.intersection(*map(set, cells.values()))
    return {seed: mean(cells[column][seed] for column in cells) for seed in sorted(seeds)}
