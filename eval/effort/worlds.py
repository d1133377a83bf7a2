"""Every row of the main table in one world beside the others: what holds in one world alone shows here."""

from collections.abc import Collection
from pathlib import Path
from statistics import mean

from envs.whole_files import write_whole
from eval.effort.cells import MISSING, Table, low, mean_cell
from eval.effort.figures import mark_of
from eval.effort.filled import Filled
from eval.effort.ledger_rows import all_of, in_common, in_order, tell_left_out
from eval.effort.score_names import FLOORS
from eval.effort.settings import MAIN, causes
from eval.effort.studies import studies
from eval.figures.charts import remove_chart, write_chart
from eval.figures.row_marks import Mark, marks_figure
from eval.paper.table_text import bullets, markdown

KNOWN, RANKED = "what if", "H@1"
FACTS = [
    "what if after the first and the last number of steps, H@1 after the last, split final, "
    "means over as many seeds as are told",
    "where every seed is a drawn world of its own, of those seeds alone that all rows have",
    "(floor): the start in place of the prediction, in the row's own latents, of what if its mean over rows",
    "*: the number after the last step is not above the row's own floor",
    "rows are in the order of what if after the last in the first world",
    "protocol, intervals and settings stand in the table of each world beside; percent",
]


def worlds_of(ledger: Path, shown: Collection[str]) -> dict[str, list[Filled]]:
    """Env -> its rows that have a run, best first, of all seeds of the ledger; envs without any are left out.

    shown: envs of which the terminal says already what is left out.
    """
    found = {}
    for env in causes()["compared"]:
        found[env], wrong = all_of(studies()[MAIN], env, ledger)
        if env not in shown:
            tell_left_out(env, wrong)
    return side_by_side(found)


def side_by_side(whole: dict[str, list[Filled]]) -> dict[str, list[Filled]]:
    """Of all rows of every env those that stand beside those of another, in the order of `compared`, best first."""
    found = {}
    for env in (env for env in causes()["compared"] if env in whole):
        if ran := in_common(whole[env], KNOWN, studies()[MAIN].horizons[-1]):
            found[env] = in_order(ran)
        elif any(one.entries for one in whole[env]):
            none = "no drawn world was scored for all of its rows" if whole[env][0].own_worlds else "no row of it was scored"
            print(f"{env}: left out of worlds side by side; {none}")
    return found


def _beside(worlds: dict[str, list[Filled]]) -> dict[str, dict[str, Filled]]:
    """Label -> env -> the row there; best first by what if in the first world,
    those that it lacks follow in the order of the next.
    """
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
        header += [
            f"{env}: {KNOWN} {first} / {last} (floor {_floor(filled, first)} / {_floor(filled, last)})",
            f"{RANKED} {last} (floor)",
            "seeds",
        ]
        for label, row in beside.items():
            one = row.get(env)
            rows[label] += [MISSING] * 3 if one is None else [
                f"{mean_cell(one, KNOWN, first)} / {mean_cell(one, KNOWN, last)}{low(one, KNOWN, last)}",
                f"{mean_cell(one, RANKED, last)} ({mean_cell(one, FLOORS[RANKED], last)}){low(one, RANKED, last)}",
                str(len(one.scores(KNOWN, last))),
            ]  # fmt: skip
    return header, list(rows.values())


def _floor(filled: list[Filled], horizon: int) -> str:
    """The floor of `what if`, mean over rows."""
    found = [mean(floor.values()) for one in filled if (floor := one.scores(FLOORS[KNOWN], horizon))]
    return f"{mean(found):.1f}" if found else MISSING


def worlds_figure(worlds: dict[str, list[Filled]]):
    """`what if` in every world, after the number of steps that causes.yaml (`asked_after`) says for it.  -> matplotlib Figure.

    After one step blocks can be predicted without their weights; after ten, most questions of chemistry have one outcome.
    """
    marks: dict[str, dict[str, Mark]] = {}
    for label, row in _beside(worlds).items():
        for env, one in row.items():
            h = causes()["asked_after"].get(env, one.study.horizons[-1])
            if mark := mark_of(one, KNOWN, h):
                marks.setdefault(label, {})[f"{env}, {h} step{'s' if h > 1 else ''}"] = mark
    return marks_figure(marks, "what if, %", "floor: copying the start")


def write_worlds(ledger: Path, out: Path, shown: Collection[str] = ()) -> Path | None:
    """<out>/worlds.md and the figure; None where fewer than two worlds have a run.  shown: see `worlds_of`."""
    worlds, path = worlds_of(ledger, shown), out / "worlds.md"
    if len(worlds) < 2:
        path.unlink(missing_ok=True)
        remove_chart(out / "worlds")
        return None
    out.mkdir(parents=True, exist_ok=True)
    write_chart(worlds_figure(worlds), out / "worlds")
    facts = bullets([*(f"{env}: {causes()['compared'][env]}" for env in worlds), *FACTS])
    return write_whole(path, f"### worlds side by side\n\n{markdown(*worlds_lines(worlds), facts)}")
