"""The figures of a table of equal effort: what every row ranks, knows and reaches, and one of these against another."""

from collections.abc import Sequence
from statistics import mean

from eval.effort.filled import Filled
from eval.effort.ledger_rows import in_order
from eval.effort.references import beside
from eval.effort.score_names import FLOORS
from eval.figures.row_marks import Level, Mark, marks_figure
from eval.figures.row_scatter import RowPoint, row_figure

MARKED = ("what if", "H@1", "goals")  # from the upper lane of a row to the lower


def mark_of(one: Filled, name: str, horizon: int) -> Mark | None:
    """A score with its interval and floor; None without a run."""
    found, floor = one.estimate(name, horizon), one.scores(FLOORS[name], horizon) if name in FLOORS else {}
    return found and Mark(found.mean, *found.whiskers, mean(floor.values()) if floor else None, found.two)


def marks_of(filled: Sequence[Filled]) -> dict[str, dict[str, Mark]]:
    """Label of a row -> name -> its mark at the last horizon, best first by what if; rows without a run are left out."""
    h, found = filled[0].study.horizons[-1], {}
    for one in in_order(filled):
        if marks := {name: mark for name in MARKED if (mark := mark_of(one, name, h))}:
            found[one.label] = marks
    return found


def rows_figure(filled: Sequence[Filled], title: str = ""):
    """`marks_of` as a chart; None without a run.  -> matplotlib Figure."""
    marks = marks_of(filled)
    h = filled[0].study.horizons[-1]
    every = [Level(name, of.word, of.common) for name in MARKED for of in beside(filled, name, h) if of.common is not None]
    return marks_figure(marks, f"after {h} steps, %", "floor: copying the start", title, every) if marks else None


def plots_of(filled: Sequence[Filled], x: str, y: str) -> dict[str, list[RowPoint]]:
    """One score against another, the rows as points of a plot for each horizon; plots without any are left out."""
    plots = {}
    for h in filled[0].study.horizons:
        points = []
        for one in filled:
            sides = one.estimate(x, h), one.estimate(y, h)
            if all(sides):
                points.append(
                    RowPoint(one.label, one.row.model, *(side.mean for side in sides), one.above_floor("H@1", h) is not False)
                )
        if points:
            plots[f"{h} step{'s' if h > 1 else ''}"] = points
    return plots


def chart(filled: Sequence[Filled], title: str, x: str = "H@1", y: str = "what if"):
    """One score against another; None without a point.  -> matplotlib Figure."""
    plots = plots_of(filled, x, y)
    return row_figure(plots, x, y, title).drawing if plots else None
