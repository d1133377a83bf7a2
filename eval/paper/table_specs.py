"""The tables and figures of paper_tables.yaml as values: rows of runs, columns of numbers, and what those runs say."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import mean, stdev

from omegaconf import OmegaConf

from envs.problem import Problem, nearest
from eval.runs.ledger import entry_of, results_in
from eval.runs.results import numbers, read_object

HORIZONS = (1, 5, 10)


@dataclass(frozen=True)
class Column:
    """One metric of a panel at all horizons.

    key: in `metrics` of a results file, {} for the horizon.  split: none reads the run's own test split; else another
    split of the env, or for plans the mode of that name.
    """

    label: str
    key: str
    split: str | None = None

    @property
    def file(self) -> str:
        """The results file of a run folder that holds it."""
        if self.split is None:
            return "results.json"
        return f"results-{self.split}.json" if self.key.startswith("test/") else f"plan-mode{self.split}.json"

    def at(self, horizon: int) -> str:
        return self.key.format(horizon)

    def beside(self, kind: str) -> "Column":
        """Another kind of metric of the same thing: beside test/cause/goal/a/block_error/h{} its eyes,
        test/cause/goal/a/eyes/h{}."""
        thing, _, end = self.key.rsplit("/", 2)
        return replace(self, key=f"{thing}/{kind}/{end}")


@dataclass(frozen=True)
class TableSpec:
    """Rows of runs on one env, under some columns; a table or figure has one or several.

    bounds: name -> key, {} for the horizon or for the column's own name.  chart: bars | scatter | none.
    beside: name -> kind of metric, a line below every row that was measured so.
    """

    key: str  # table4, figure23-part1
    title: str
    env: str
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    bounds: dict[str, str]
    caption: str  # the protocol of the columns
    said: str = ""  # what the paper's text says, where it gives figures
    unit: str = "percent"
    chart: str = "bars"
    beside: dict[str, str] = field(default_factory=dict)

    @property
    def of_paper(self) -> bool:
        """Whether the paper has such a table or figure, with cells of its own."""
        return self.key.startswith(("table", "figure"))

    @property
    def page(self) -> str:
        """The table it belongs to: table16-part2 is on the page of table16."""
        return self.key.partition("-part")[0]


@dataclass(frozen=True)
class Cell:
    """What one row shows of one column at one horizon: the values of the finished seeds, and how many seeds were asked for."""

    values: dict[int, float]
    asked: int = 1

    @property
    def short(self) -> str:
        """How many seeds of those asked for, where some are missing."""
        return f" ({len(self.values)} of {self.asked})" if 0 < len(self.values) < self.asked else ""

    @property
    def number(self) -> str:
        """Mean and standard deviation."""
        values = list(self.values.values())
        if not values:
            return "-"
        return f"{mean(values):.1f} ± {stdev(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"

    def __str__(self) -> str:
        return self.number + self.short


@lru_cache
def paper_tables() -> dict:
    """paper_tables.yaml."""
    return OmegaConf.to_container(OmegaConf.load(Path(__file__).parent / "paper_tables.yaml"))


def _column(label: str, place: str) -> Column:
    """place: key, or split:key."""
    split, _, key = place.rpartition(":")
    return Column(label, key, split or None)


def _table_spec(key: str, spec: dict, pages: dict, only: list[str] | None) -> TableSpec:
    rows = tuple(row for group in spec["rows"] for row in pages["groups"].get(group, [group]) if only is None or row in only)
    metrics = pages["metrics"][spec["metrics"]]
    columns = tuple(_column(label, place) for label, place in metrics["columns"].items())
    more = {name: one[name] for one, name in
            ((spec, "said"), (spec, "chart"), (metrics, "unit"), (metrics, "beside")) if name in one}  # fmt: skip
    return TableSpec(key, spec["title"], spec["env"], rows, columns, metrics["bounds"], metrics["told"], **more)


def table_specs(pages: dict, table, figure, only: list[str] | str | None) -> list[TableSpec]:
    """The panels asked for, those without a row left out; unknown tables, figures and rows are refused."""
    only = [only] if isinstance(only, str) else only
    for row in only or []:
        if row not in pages["rows"]:
            raise Problem(f"there is no row '{row}': {nearest(row, pages['rows'])}")
    found = []
    for kind, asked in (("table", table), ("figure", figure)):
        known = pages[f"{kind}s"]
        published = [number for number in known if isinstance(number, int)]
        asked = [] if asked is None else asked if isinstance(asked, list) else [asked]
        numbers = [number for one in asked for number in (published if one == "all" else [one])]
        for number in numbers:
            if number not in known:
                raise Problem(f"there is no {kind} '{number}': {nearest(number, (*map(str, known), 'all'))}")
            specs = known[number] if isinstance(known[number], list) else [known[number]]
            specs = [part for s in specs for part in _parts(s, pages)]
            for part, spec in enumerate(specs, 1):
                name = f"{kind}{number}" if isinstance(number, int) else number
                found.append(_table_spec(f"{name}-part{part}" if len(specs) > 1 else name, spec, pages, only))
    if not found:
        raise Problem("nothing asked for; name a table or a figure: python eval/tables.py table=4")
    found = [panel for panel in found if panel.rows]
    if not found:
        raise Problem(f"no table asked for has the rows {', '.join(only)}; leave out rows=")
    return found


def _parts(spec, pages: dict) -> list[dict]:
    """A spec, or the number of a table whose specs are meant."""
    if isinstance(spec, dict):
        return [spec]
    found = pages["tables"][spec]
    return found if isinstance(found, list) else [found]


def run_name(row: str, env: str, budget: str, seed: int) -> str:
    """The run folder of one row: letters, digits, dashes."""
    words = "".join(c if c.isalnum() else " " for c in row.lower()).split()
    return "-".join([*words, env, budget, f"s{seed}"])


def results_of(folder: Path, file: str) -> dict | None:
    """What a results file holds; none where it is missing or damaged: then it is made again."""
    found = read_object(folder / file)
    whole = found is not None and numbers(found.get("metrics")) and isinstance(found.get("protocol", {}), dict)
    return found if whole else None


def read(folder: Path, file: str = "results.json") -> dict[str, float] | None:
    """The metrics of a finished run, or none."""
    found = results_of(folder, file)
    return None if found is None else found["metrics"]


def is_agent_row(row: str) -> bool:
    """Whether train/agent.py makes its runs."""
    return row in paper_tables()["groups"]["agents"]


def overrides_of(row: str, budget: str) -> list[str]:
    """What a row asks of train/fit.py or train/agent.py under a budget."""
    return [*paper_tables()["rows"][row], *paper_tables()["budgets"][budget]["rows"][row]]


def metrics_of(row: str, env: str, seed: int, cfg, file: str = "results.json") -> dict[str, float] | None:
    """Metrics of a row's finished run, by its folder or by the ledger; none where it is in neither,
    or is a run of something else."""
    name = run_name(row, env, cfg["budget"], seed)
    folder = Path(cfg["runs_dir"]) / name
    results = results_of(folder, "results.json")
    if results is not None and _is_row(results, row, env, seed, cfg["budget"]) and not _of_before(folder):
        return results["metrics"] if file == "results.json" else read(folder, file)
    entry = entry_of(cfg["ledger"], env, name) if cfg.get("ledger") else None
    entered = None if entry is None else results_in(entry)
    if entered is None or not _is_row(entered, row, env, seed, cfg["budget"]):
        return None
    asked = results_in(entry, file)
    return None if asked is None else asked["metrics"]


def _is_row(results: dict, row: str, env: str, seed: int, budget: str) -> bool:
    """A folder's name alone proves nothing: env, seed, model, loss and epochs (of an agent: steps) must be the row's."""
    asked = dict(override.split("=", 1) for override in overrides_of(row, budget))
    wanted = {"env": env, "seed": seed} | {key: asked[key] for key in ("model", "loss", "algo") if key in asked}
    epochs = {int(value) for key, value in asked.items() if "epochs" in key} or {100}
    protocol = results.get("protocol", {})
    same = all(results.get(key, value) == value for key, value in wanted.items())
    fewest = int(asked.get("steps", "0").replace("_", ""))  # an agent ends with a whole round of its boards
    return same and protocol.get("steps", fewest) >= fewest and set(protocol.get("epochs", [])) <= epochs


def _of_before(folder: Path) -> bool:
    """Whether a run's causal world does not say how its objects are numbered: such worlds had other causal models.

    train/fit.py refuses to go on in such a folder, and says why.
    """
    path = folder / "config.yaml"
    text = path.read_text(errors="replace") if path.exists() else ""  # parsed, it would take a table's time
    return "    scm_seed:" in text and "    numbering:" not in text


def seeds_named(cfg: dict) -> set[int]:
    """Seeds in which names of run folders, and of runs in the ledger, end."""
    entered = Path(cfg["ledger"]).glob("*/*-s*.json") if cfg.get("ledger") else ()
    names = [path.name for path in (*Path(cfg["runs_dir"]).glob("*-s*"), *entered)]
    return {int(found[1]) for name in names if (found := re.search(r"-s(\d+)(-\w+\.json)?$", name))}


def seeds_of(cfg: dict) -> Sequence[int]:
    """Those that a table shows."""
    return cfg.get("every_seed") or range(cfg["seeds"])


def all_seeds(has: Callable[[int], bool], cfg: dict, named: Iterable[int]) -> dict:
    """The config of a command, with the seeds that exist beside those asked for.

    has: whether anything has a seed.  named: those that may.
    """
    return cfg | {"every_seed": sorted({*range(cfg["seeds"]), *filter(has, named)})}


def with_seeds_of(panels: list[TableSpec], cfg: dict) -> dict:
    """The config of a command, with all seeds that a row of some panels has."""
    rows = {(row, panel.env) for panel in panels for row in panel.rows}
    return all_seeds(lambda seed: any(metrics_of(*row, seed, cfg) for row in rows), cfg, seeds_named(cfg))


def fill(panel: TableSpec, cfg) -> dict[tuple[str, str, int], Cell]:
    """(row, column, horizon) -> what the finished runs say; what stands beside a row is called by `line_below`.

    A bound is the mean over all runs, its seed is -1.
    """
    cells = {}
    for column in panel.columns:
        found = {}  # row -> seed -> metrics
        for row in panel.rows:
            runs = {seed: metrics_of(row, panel.env, seed, cfg, column.file) for seed in seeds_of(cfg)}
            found[row] = {seed: metrics for seed, metrics in runs.items() if metrics}
        for h in HORIZONS:
            for row, of_row in found.items():
                values = {seed: m[column.at(h)] for seed, m in of_row.items() if column.at(h) in m}
                cells[row, column.label, h] = Cell(values, len(seeds_of(cfg)))
                for name, kind in panel.beside.items():
                    key = column.beside(kind).at(h)
                    values = {seed: m[key] for seed, m in of_row.items() if key in m}
                    cells[line_below(row, name), column.label, h] = Cell(values, len(seeds_of(cfg)))
            for bound, pattern in panel.bounds.items():
                name = pattern.format(h) if "h{}" in pattern else pattern.format(column.at(h).removeprefix("test/"))
                fits = pattern.startswith("plan/") == column.key.startswith("plan/")  # success bounds no ranking
                values = [m[name] for of_row in found.values() for m in of_row.values() if fits and name in m]
                cells[bound, column.label, h] = Cell({-1: mean(values)} if values else {})
    return cells


def line_below(row: str, name: str) -> str:
    """How what stands beside a row is called."""
    return f"{row}: {name}"


def declared_specs(pages: dict) -> list[TableSpec]:
    """Every table, the paper's and ours, and of the figures those panels that no table shows."""
    tables = table_specs(pages, list(pages["tables"]), None, None)
    own = {(p.env, p.columns, p.rows) for p in tables}
    return tables + [p for p in table_specs(pages, None, "all", None) if (p.env, p.columns, p.rows) not in own]
