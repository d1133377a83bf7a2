"""Every row of the main table in one world beside the others: what holds in one world alone shows here."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from statistics import mean

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.effort.captions import bullets
from eval.effort.cells import MISSING, low, mean_cell
from eval.effort.filled import FLOORS, Filled, in_order, seeds_of, tell_left_out, whole_of
from eval.effort.settings import MAIN, causes
from eval.effort.studies import studies
from eval.effort.table import Table
from eval.figures.charts import write_chart
from eval.figures.row_marks import Mark, marks_figure
from eval.paper.table_text import markdown

KNOWN, RANKED = "what if", "H@1"
TOLD = [
    "what if after the first and the last number of steps, H@1 after the last, split final, means over as many seeds as are told",
    "where every seed is a drawn world of its own, of those seeds alone that all rows have",
    "(floor): the start in place of the prediction, in the row's own latents, of what if its mean over rows",
    "*: the number after the last step is not above the row's own floor",
    "rows are in the order of what if after the last in the first world",
    "protocol, intervals and settings stand in the table of each world beside; percent",
]


def worlds_of(ledger: Path, told: Collection[str]) -> dict[str, list[Filled]]:
    """Env -> its rows that have a run, best first, of all seeds of the ledger; envs without any are left out.

    told: envs of which the terminal says already what is left out.
    """
    study, found = studies()[MAIN], {}
    for env in causes()["compared"]:
        whole, wrong = whole_of(study, study.rows_of(None), env, {"ledger": str(ledger), "seeds": seeds_of(study, env, ledger)})
        if env not in told:
            tell_left_out(env, wrong)
        try:
            if ran := in_common([one for one in whole if one.entries]):
                found[env] = in_order(ran)
        except Problem as problem:  # damaged answers of one world do not stand in the way of the others
            print(f"{env}: left out; {problem}")
    return found


def in_common(filled: list[Filled]) -> list[Filled]:
    """The same rows; where every seed is a drawn world, of those worlds alone that all of them were run in: one may be the harder."""
    if not filled or not filled[0].own_worlds:
        return filled
    common = set.intersection(*(set(one.entries) for one in filled))
    return [replace(one, entries={seed: one.entries[seed] for seed in sorted(common)}) for one in filled] if common else []


def _beside(worlds: dict[str, list[Filled]]) -> dict[str, dict[str, Filled]]:
    """Label -> env -> the row there; best first by what if in the first world, those that it lacks follow in the order of the next."""
    found: dict[str, dict[str, Filled]] = {}
    for env, filled in worlds.items():
        for one in filled:
            found.setdefault(one.label, {})[env] = one
    return found


def worlds_lines(worlds: dict[str, list[Filled]]) -> Table:
    """A line for each row, three columns for each world."""
    beside = _beside(worlds)
    header, rows = [""], {label: [label] for label in beside}
    for env, filled in worlds.items():
        first, last = filled[0].study.horizons[0], filled[0].study.horizons[-1]
        header += [f"{env}: {KNOWN} {first} / {last} (floor {_floor(filled, first)} / {_floor(filled, last)})", f"{RANKED} {last} (floor)", "seeds"]
        for label, row in beside.items():
            one = row.get(env)
            rows[label] += [MISSING] * 3 if one is None else [
                f"{mean_cell(one, KNOWN, first)} / {mean_cell(one, KNOWN, last)}{low(one, KNOWN, last)}",
                f"{mean_cell(one, RANKED, last)} ({mean_cell(one, FLOORS[RANKED], last)}){low(one, RANKED, last)}",
                str(len(one.scores(KNOWN, last))),
            ]  # fmt: skip
    return header, list(rows.values())


def _floor(filled: list[Filled], horizon: int) -> str:
    """Of what if, mean over rows."""
    found = [floor.mean for one in filled if (floor := one.estimate(FLOORS[KNOWN], horizon))]
    return f"{mean(found):.1f}" if found else MISSING


def worlds_figure(worlds: dict[str, list[Filled]]):
    """What if after as many steps as tell most there: boards after one ask of no weight, and of colours copying knows much after ten.
    -> matplotlib Figure.
    """
    marks: dict[str, dict[str, Mark]] = {}
    for label, row in _beside(worlds).items():
        for env, one in row.items():
            h = causes()["asked_after"].get(env, one.study.horizons[-1])
            if found := one.estimate(KNOWN, h):
                floor = one.estimate(FLOORS[KNOWN], h)
                name = f"{env}, {h} step{'s' if h > 1 else ''}"
                marks.setdefault(label, {})[name] = Mark(found.mean, *found.drawn, floor and floor.mean, found.two)
    return marks_figure(marks, "what if, %", "floor: copying the start")


def write_worlds(ledger: Path, out: Path, told: Collection[str] = ()) -> Path | None:
    """<out>/worlds.md and the figure; None where fewer than two worlds have a run.  told: see `worlds_of`."""
    worlds = worlds_of(ledger, told)
    if len(worlds) < 2:
        return None
    out.mkdir(parents=True, exist_ok=True)
    write_chart(worlds_figure(worlds), out / "worlds")
    told = bullets([*(f"{env}: {causes()['compared'][env]}" for env in worlds), *TOLD])
    return write_whole(out / "worlds.md", f"### worlds side by side\n\n{markdown(*worlds_lines(worlds), told)}")
