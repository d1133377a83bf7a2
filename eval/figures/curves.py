"""Curves: the losses of a run, lines with their bounds, and lines of points with intervals."""

from collections.abc import Sequence
from typing import NamedTuple

from eval.figures.svg import calm, inline_svg

COLORS = ("#2f6f9f", "#d6903f", "#4a9b7f", "#8a5a9c", "#d6603f", "#7d6b4f", "#b0487a", "#5f9ea8")
WIDE = 10  # between the first x and the last: from here on x is drawn by its logarithm


class LinePoint(NamedTuple):
    """low, high: the ends of its interval, None where there is none."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


def loss_curves(losses: dict[tuple[str, str], dict[int, float]]) -> str:
    """Training and validation loss of every stage, as inline SVG.  losses: (stage, loss) -> epoch -> value."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    stages: dict[str, dict[str, dict[int, float]]] = {}
    for (stage, loss), curve in losses.items():
        stages.setdefault(stage, {})[loss.removesuffix("/loss")] = {epoch + 1: value for epoch, value in curve.items()}
    drawings = []
    for name, curves in stages.items():
        figure = Figure(figsize=(4.4, 2.9), layout="constrained")
        axes = figure.subplots()
        for label, color in (("train", "#2f6f9f"), ("val", "#d6903f")):
            points = sorted(curves.get(label, {}).items())
            axes.plot(*zip(*points), color=color, label=label, marker="o" if len(points) < 3 else None, lw=1.8)
        values = [v for curve in curves.values() for v in curve.values()]
        if min(values) > 0 and max(values) > 20 * min(values):
            axes.set_yscale("log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        last = max(max(curve, default=1) for curve in curves.values())
        axes.set_xlim(1 - 0.04 * last - 0.4 * (last < 3), last + 0.04 * last + 0.4 * (last < 3))
        axes.set_title(name.replace("$", r"\$"), fontsize=11, loc="left", color="#23303b")
        axes.set_xlabel("epoch", color="#6b7a87")
        axes.set_ylabel("loss", color="#6b7a87")
        drawings.append(_calm_svg(figure, axes, name))
    return f'<div class="curves">{"".join(drawings)}</div>'


def line_chart(x: list[float], lines: dict, bounds: dict, x_label: str, y_label: str) -> str:
    """Lines over common points x, named in a legend, and dashed bounds, as inline SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for (label, y), color in zip(lines.items(), COLORS * len(lines)):
        axes.plot(x, y, color=color, label=label, marker="o", ms=4, lw=1.8)
    for (label, y), dashes in zip(bounds.items(), ("--", ":") * len(bounds)):
        axes.plot(x, y, color="#6b7a87", label=label, ls=dashes, lw=1.4)
    axes.set_xlabel(x_label, color="#6b7a87")
    axes.set_ylabel(y_label, color="#6b7a87")
    return f'<div class="scroll">{_calm_svg(figure, axes, "".join(lines))}</div>'


def lines_figure(lines: dict[str, list[LinePoint]], x_label: str, y_label: str, title: str = "", ticks: Sequence[float] = ()):
    """Percentages over x, whiskers where there are intervals, a tick at every x where none are named; lines beyond the first
    eight are grey, and have no names.  -> matplotlib Figure."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(9.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for (label, points), color in zip(lines.items(), COLORS):
        look = {"color": color, "marker": "o", "ms": 4, "lw": 1.8}
        whiskers = [[0 if one.low is None else end * (one[at] - one.y) for one in points] for at, end in ((2, -1), (3, 1))]
        axes.errorbar(
            [one.x for one in points], [one.y for one in points], whiskers, label=label, capsize=2, elinewidth=1, **look
        )
    others = [*lines.values()][len(COLORS) :]
    for n, points in enumerate(others):
        label = f"{len(others)} more" if n == 0 else None
        axes.errorbar([one.x for one in points], [one.y for one in points], color="#c9d0d6", lw=1, label=label, zorder=1)
    at = ticks or sorted({round(one.x) for points in lines.values() for one in points})
    if at[0] > 0 and at[-1] >= WIDE * at[0]:
        axes.set_xscale("log")
    axes.set_xticks(at, [f"{x:g}" for x in at])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(-4, 104)
    axes.set_yticks(range(0, 101, 25))
    axes.set_xlabel(x_label, color="#6b7a87")
    axes.set_ylabel(y_label, color="#6b7a87")
    _calm(axes)
    if title:
        figure.suptitle(title, fontsize=11, x=0.01, ha="left", color="#23303b")
    return figure


def _calm(axes) -> None:
    """The house's axes, and a legend off the lines."""
    calm(axes)
    axes.legend(frameon=False, labelcolor="#23303b", fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _calm_svg(figure, axes, salt: str) -> str:
    """`_calm`, and the figure as inline SVG."""
    _calm(axes)
    return inline_svg(figure, salt)
