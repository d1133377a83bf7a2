"""Rows as lines of marks: several percentages of each, named at its left, with their intervals and floors."""

from collections.abc import Sequence
from typing import NamedTuple

from eval.figures.svg import calm

INK, SOFT, LINE = "#23303b", "#6b7a87", "#c9d2d9"
# marker, colour, filled; by the order of names
LOOKS = (("o", "#3d8f83", True), ("o", "#2f6f9f", False), ("D", "#d6903f", True))
HEIGHT = 0.36  # inches of a row
APART = 0.2  # of a row, between its marks: each has a lane of its own, so that none hides another


class Mark(NamedTuple):
    """Percent.  low, high: the ends of its interval; floor: what nothing learned would score; None where there is none.  seeds:
    those that stand in place of an interval."""

    value: float
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    seeds: tuple[float, ...] = ()


class Level(NamedTuple):
    """What all rows are compared with in one percentage, by its name: a word and a value."""

    name: str
    text: str
    value: float


def marks_figure(
    rows: dict[str, dict[str, Mark]], x_label: str, floor_label: str, title: str = "", levels: Sequence[Level] = ()
):
    """Label of a row -> name of a percentage -> its mark, the first row on top;
    floors are upright strokes in the colour of their score.  -> Figure.

    levels: dotted lines through all rows, in the colour of what they are compared with.  Raises ValueError on more names than
    there are looks.
    """
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for marks in rows.values() for name in marks))
    if len(names) > len(LOOKS):
        raise ValueError(f"a row has at most {len(LOOKS)} marks, got {', '.join(names)}")
    figure = Figure(figsize=(9.4, 1.2 + HEIGHT * len(rows)), layout="constrained")
    axes = figure.subplots()
    for y in range(1, len(rows), 2):
        axes.axhspan(y - 0.46, y + 0.46, color=LINE, alpha=0.16, lw=0, zorder=0)
    for lane, (name, (marker, color, filled)) in enumerate(zip(names, LOOKS)):
        middle = (lane - (len(names) - 1) / 2) * APART
        own = [(y + middle, marks[name]) for y, marks in enumerate(rows.values()) if name in marks]
        for y, mark in own:
            if mark.low is not None:
                axes.plot([mark.low, mark.high], [y, y], color=color, lw=2.4, alpha=0.45, solid_capstyle="butt", zorder=2)
            axes.plot(mark.seeds, [y] * len(mark.seeds), ".", color=color, ms=4.5, alpha=0.7, zorder=2)
            if mark.floor is not None:
                axes.plot([mark.floor] * 2, [y - APART / 2, y + APART / 2], color=color, lw=1.6, alpha=0.8, zorder=2)
        x, y = [mark.value for _, mark in own], [y for y, _ in own]
        look = {"color": color, "markerfacecolor": color if filled else "white", "ms": 5.5, "mew": 1.5, "zorder": 3}
        axes.plot(x, y, marker, ls="none", label=name, **look)
    colors = {name: color for name, (_, color, _) in zip(names, LOOKS)}
    for name, text, value in (level for level in levels if level.name in colors):
        axes.axvline(value, color=colors[name], lw=1.3, ls=(0, (1, 2)), zorder=1, label=f"{text}: {name} {value:.1f}")
    calm(axes)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-3, 103)
    axes.set_xticks(range(0, 101, 25))
    axes.grid(axis="x", color=LINE, lw=0.6, alpha=0.6)
    axes.set_xlabel(x_label, color=SOFT)
    axes.plot([], [], "|", color=SOFT, ms=6, mew=1.6, label=floor_label)
    every = [mark for marks in rows.values() for mark in marks.values()]
    if any(mark.low is not None for mark in every):
        axes.plot([], [], color=SOFT, lw=2.4, alpha=0.45, label="95 % interval")
    if any(mark.seeds for mark in every):
        axes.plot([], [], ".", color=SOFT, ms=4.5, label="each of two seeds")
    place = {"loc": "lower left", "bbox_to_anchor": (-0.01, 1.0), "borderaxespad": 0.1}
    axes.legend(frameon=False, labelcolor=INK, fontsize=9, ncols=3, columnspacing=1.0, handletextpad=0.5, **place)
    if title:
        figure.suptitle(title, fontsize=11, x=0.01, ha="left", color=INK)
    return figure
