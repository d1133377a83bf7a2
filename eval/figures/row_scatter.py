"""One score of rows against another: every row by its number,
hollow where its ranking is worth no more than copying the start."""

from collections.abc import Sequence
from typing import NamedTuple

from eval.figures.charts import INK, SOFT, Scatter, colors_of, correlation_text, percent_axes, scatter_html

NEAR = 4.0  # percent: marks that lie closer share a line of numbers


class RowPoint(NamedTuple):
    """x and y in percent.  above: false where its ranking is not above copying the start."""

    row: str
    model: str
    x: float
    y: float
    above: bool = True


def row_chart(plots: dict[str, list[RowPoint]], x_label: str, y_label: str) -> str:
    """The figure as inline SVG; pointing at a mark tells its row and numbers."""
    return scatter_html(row_figure(plots, x_label, y_label), x_label)


def row_figure(plots: dict[str, list[RowPoint]], x_label: str, y_label: str, title: str = "") -> Scatter:
    """A plot for each name. Rows are numbered by y in the last plot, the best first; the correlation is of those that rank
    above copying: rankings of the others say nothing."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    every = [point for points in plots.values() for point in points]
    order = dict.fromkeys(p.row for points in reversed(plots.values()) for p in sorted(points, key=lambda p: -p.y))
    numbers = {row: n for n, row in enumerate(order, 1)}
    colors, titles = colors_of(p.model for p in every), {}
    figure = Figure(figsize=(12.2, max(3.9, 0.24 * len(numbers)) + 0.3 * bool(title)), layout="constrained")
    plotted = figure.subplots(1, len(plots), squeeze=False, sharey=True)[0]
    for i, (axes, (name, points)) in enumerate(zip(plotted, plots.items())):
        for p in points:
            gid = f"row-{i}-{len(titles)}"
            titles[gid] = f"{p.row}: {x_label} {p.x:.2f}, {y_label} {p.y:.2f}{'' if p.above else ', not above copying'}"
            color = colors[p.model]
            axes.plot(p.x, p.y, "o", ms=7, alpha=0.85, mec=color, mfc=color if p.above else "white", gid=gid)
        for at, rows in _labels(points, numbers):
            text = " ".join(map(str, rows))
            axes.annotate(text, at, (-6, 0), textcoords="offset points", ha="right", va="center", fontsize=7, color=INK)
        above = [p for p in points if p.above]
        correlation = correlation_text(above, " above copying" if len(above) < len(points) else "")
        percent_axes(axes, f"{name}\n{correlation}", x_label, "" if i else y_label)
    model = {p.row: p.model for p in every}
    keys = [Line2D([], [], color=colors[model[row]], marker="o", ls="", label=f"{n}  {row}") for row, n in numbers.items()]
    if not all(p.above for p in every):
        keys.append(Line2D([], [], mec=SOFT, mfc="white", marker="o", ls="", label="hollow: not above copying the start"))
    figure.legend(handles=keys, loc="outside right center", frameon=False, labelcolor=INK, fontsize=8)
    if title:
        figure.suptitle(title, fontsize=11, x=0.01, ha="left", color=INK)
    return Scatter(figure, titles)


def _labels(points: Sequence[RowPoint], numbers: dict[str, int]) -> list[tuple[tuple[float, float], list[int]]]:
    """Where numbers stand, and which: marks that nearly lie upon one another share a place, left of the leftmost."""
    groups: list[list[RowPoint]] = []
    for p in sorted(points, key=lambda p: -p.y):
        near = [group for group in groups if any(abs(p.x - q.x) < NEAR and abs(p.y - q.y) < NEAR for q in group)]
        if near:
            near[0].append(p)
        else:
            groups.append([p])
    return [
        ((min(p.x for p in group), sum(p.y for p in group) / len(group)), sorted(numbers[p.row] for p in group))
        for group in groups
    ]
