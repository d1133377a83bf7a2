"""Charts of many runs: bars with their bounds as in the paper, and ranking against success with its rank correlation."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.svg import calm, inline_svg, svg_text

INK, SOFT, GREEN = "#23303b", "#6b7a87", "#4a9b7f"
MODELS = {"ae": "#9a7b4f", "vae": "#b0487a", "gnn": "#d6903f", "modular": "#2f6f9f", "edge": "#3d8f83",
          "categorical": "#8a5a9c", "causal": "#d6603f", "transformer": "#b8860b", "slot_attention": "#7a5195",
          "rssm": "#546e7a", "pairwise_lstm": "#5f9ea8", "random": "#8895a0"}  # fmt: skip
OTHERS = ("#5b7f3a", "#6a6fb5", "#a8553f", "#4f6d7a")  # of models without a colour of their own, by their order
HATCHES = {"contrastive": "", "nll": "/////", "infonce": "....", "inverse_action": "xxxx"}
OTHER_HATCH = "\\\\\\"
MARKERS = {"contrastive": "o", "nll": "s", "infonce": "D", "inverse_action": "^", "memory": "P", "sigreg": "*", "vicreg": "p",
           "byol": "h", "recurrent_state": "<"}
OTHER_MARKER = "v"
KINDS = (".svg", ".png")  # files of a chart
FEWEST = 3  # points that have a rank correlation


def colors_of(models: Iterable[str]) -> dict[str, str]:
    """Model -> colour, the same on every chart for those that are named above."""
    unknown = sorted(set(models) - set(MODELS))
    return MODELS | {model: OTHERS[i % len(OTHERS)] for i, model in enumerate(unknown)}


def model_and_loss(row: str) -> tuple[str, str]:
    """('modular', 'infonce') of a table's row 'ours (modular + InfoNCE)', ('ppo', 'model-free') of 'PPO (model-free)'."""
    model, _, loss = row.removeprefix("ours (").removesuffix(")").replace(" (", " + ").lower().partition(" + ")
    return model, loss.replace(" ", "_")


def bar_chart(title: str, rows: Iterable[str], bounds: Iterable[str], cells: dict):
    """Bars of a table, one plot for each metric and number of steps, one group for each model, losses told by hatching.

    cells: (row, metric, steps) -> a cell with the values of its seeds; rows without any are left out. A whisker is the
    standard deviation over seeds.  -> matplotlib Figure.
    """
    from matplotlib.patches import Patch

    metrics, steps = (list(dict.fromkeys(key[i] for key in cells)) for i in (1, 2))
    shown = {row: model_and_loss(row) for row in rows if any(cells[row, m, h].values for m in metrics for h in steps)}
    models = list(dict.fromkeys(model for model, _ in shown.values()))
    groups = {model: [row for row, (own, _) in shown.items() if own == model] for model in models}
    colors, wide = colors_of(models), 0.8 / max([len(group) for group in groups.values()], default=1)
    figure = _sheet(0.3 * bool(title) + 2.3 * len(metrics) + 0.8, 0.3 + 0.3 * bool(title), 0.8 if len(models) > 5 else 0.65)
    plots = figure.subplots(len(metrics), len(steps), squeeze=False, sharey=True)
    for (i, j), axes in np.ndenumerate(plots):
        metric, h = metrics[i], steps[j]
        for at, (model, group) in enumerate(groups.items()):
            for k, row in enumerate(group):
                values = list(cells[row, metric, h].values.values())
                if values:
                    x = at + (k - (len(group) - 1) / 2) * wide
                    _bar(axes, x, values, 0.9 * wide, colors[model], HATCHES.get(shown[row][1], OTHER_HATCH), row)
        for n, bound in enumerate(bounds):
            for value in cells[bound, metric, h].values.values():
                color = SOFT if bound.startswith("floor") else GREEN
                axes.axhline(value, color=color, ls=("--", ":", "-.")[n % 3], lw=1.4, label=bound)
        names = [model.upper() if len(model) < 4 else model for model in models]
        axes.set_xticks(range(len(models)), names, rotation=25 if len(models) > 5 else 0)
        axes.set_xlim(-0.6, max(len(models), 3) - 0.4)
        axes.set_ylim(0, 104)
        axes.set_yticks(range(0, 101, 25))
        calm(axes)
        axes.tick_params(axis="x", length=0, labelcolor=INK)
        axes.tick_params(axis="y", length=0 if j else 3)
        axes.set_title(f"{metric}, {h} step{'s' if h != 1 else ''}", fontsize=10, loc="left", color=INK)
    losses = {loss: HATCHES.get(loss, OTHER_HATCH) for _, loss in shown.values()}
    keys = [Patch(facecolor="none" if hatch else SOFT, edgecolor=SOFT, hatch=hatch, label=loss.replace("_", " "))
            for loss, hatch in losses.items()]  # fmt: skip
    lines = {line.get_label(): line for axes in plots.flat for line in axes.get_lines() if line.get_label() in set(bounds)}
    _legend(figure, [*keys, *lines.values()], 6)
    if title:
        figure.suptitle(title, fontsize=11, x=0.01, ha="left", color=INK)
    return figure


def _bar(axes, x: float, values: list[float], width: float, color: str, hatch: str, label: str) -> None:
    """One bar and its whisker; a hatched one is hollow, so that its hatches show."""
    height, spread = mean(values), stdev(values) if len(values) > 1 else 0.0
    axes.bar(x, height, width, facecolor="none" if hatch else color, edgecolor=color, hatch=hatch, lw=1, label=label)
    if spread:
        axes.errorbar(x, height, spread, color=INK, lw=1, capsize=2)


def _sheet(height: float, above: float, below: float):
    """A figure with fixed margins, in inches: finding a layout would take as long as all the rest."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, height))
    figure.subplots_adjust(left=0.055, right=0.995, top=1 - above / height, bottom=below / height, wspace=0.06, hspace=0.32)
    return figure


def _legend(figure, keys: list, columns: int) -> None:
    place = {"loc": "lower left", "bbox_to_anchor": (0.01, 0), "borderaxespad": 0.1}
    figure.legend(handles=keys, ncols=columns, frameon=False, labelcolor=INK, fontsize=9, **place)


def write_chart(figure, path: Path) -> None:
    """<path>.svg and <path>.png."""
    for kind in KINDS:
        write_whole(path.with_suffix(kind), chart_bytes(figure, path.with_suffix(kind)))


def remove_chart(path: Path) -> None:
    """What `write_chart` wrote there, of other runs."""
    for kind in KINDS:
        path.with_suffix(kind).unlink(missing_ok=True)


def replace_chart(figure, path: Path) -> None:
    """A figure in place of the one of before; None: nothing to draw, and that one does not stay."""
    if figure is None:
        remove_chart(path)
    else:
        write_chart(figure, path)


def chart_bytes(figure, path: Path) -> bytes:
    """A figure as the file of that name holds it."""
    if path.suffix == ".svg":
        return svg_text(figure, path.stem).encode()
    if path.suffix != ".png":
        raise Problem(f"a picture is .svg or .png, got {path.name}; give it another end")
    png = BytesIO()
    figure.savefig(png, format="png", dpi=150, facecolor="white", metadata={"Software": None})
    return png.getvalue()


@dataclass(frozen=True)
class Point:
    """One run on a plot of success (y) against ranking (x), both in percent."""

    run: str
    model: str
    loss: str
    x: float
    y: float


def rank_correlation(points: list[Point]) -> float | None:
    """Spearman's, ties by average ranks; none of fewer than three points, or where one side never changes."""
    x, y = [p.x for p in points], [p.y for p in points]
    if len(points) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    from scipy.stats import spearmanr  # takes a second, and most charts have no correlation

    return float(spearmanr(x, y).statistic)


def correlation_text(points: list[Point], which: str = "") -> str:
    """What a title says of it: the number with n, or why there is none.  which: of what these are, to follow n."""
    found = rank_correlation(points)
    if found is not None:
        return f"Spearman {found:.2f}, n = {len(points)}{which}"
    why = "too few for a correlation" if len(points) < FEWEST else "no spread, no correlation"
    return f"n = {len(points)}{which}, {why}"


def percent_axes(axes, title: str, x_label: str, y_label: str) -> None:
    """A plot of percent against percent; one without a label of y stands beside another."""
    axes.set(xlim=(-8, 105), ylim=(-5, 105))
    axes.set_xticks(range(0, 101, 25))
    axes.set_yticks(range(0, 101, 25))
    calm(axes)
    axes.set_title(title, fontsize=10, loc="left", color=INK)
    axes.set_xlabel(f"{x_label}, %", color=SOFT)
    axes.set_ylabel(y_label and f"{y_label}, %", color=SOFT)


class Scatter(NamedTuple):
    """drawing: matplotlib Figure; titles: what pointing at a mark tells, by the mark's id."""

    drawing: object
    titles: dict[str, str]


def scatter_chart(plots: dict[str, list[Point]], x_label: str, y_label: str) -> str:
    """Success against ranking, a plot for each name, as inline SVG; pointing at a run tells its name and numbers."""
    return scatter_html(scatter_figure(plots, x_label, y_label), x_label)


def scatter_html(found: Scatter, salt: str) -> str:
    """A `Scatter` as inline SVG, whose marks tell their titles."""
    return f'<div class="scroll chart">{inline_svg(found.drawing, salt, found.titles)}</div>'


def scatter_figure(plots: dict[str, list[Point]], x_label: str, y_label: str, title: str = "") -> Scatter:
    """The drawing of `scatter_chart`, and the titles of its marks."""
    from matplotlib.lines import Line2D

    every = [point for points in plots.values() for point in points]
    colors, titles = colors_of(p.model for p in every), {}
    figure = _sheet(3.9 + 0.3 * bool(title), above=0.5 + 0.3 * bool(title), below=0.9)
    row = figure.subplots(1, len(plots), squeeze=False, sharey=True)[0]
    for i, (axes, (name, points)) in enumerate(zip(row, plots.items())):
        for p in points:
            gid = f"run-{i}-{len(titles)}"
            titles[gid] = f"{p.run}: {x_label} {p.x:.2f}, {y_label} {p.y:.2f}"
            marker, color = MARKERS.get(p.loss, OTHER_MARKER), colors[p.model]
            axes.plot(p.x, p.y, marker, color=color, ms=12 if marker == "*" else 7, alpha=0.85, mec="white", gid=gid)
        percent_axes(axes, f"{name}\n{correlation_text(points)}", x_label, "" if i else y_label)
    keys = [Line2D([], [], color=colors[m], marker="o", ls="", label=m) for m in dict.fromkeys(p.model for p in every)]
    keys += [Line2D([], [], color=SOFT, marker=MARKERS.get(loss, OTHER_MARKER), ls="", label=loss.replace("_", " ")) for loss in
             dict.fromkeys(p.loss for p in every)]  # fmt: skip
    _legend(figure, keys, 8)
    if title:
        figure.suptitle(title, fontsize=11, x=0.01, ha="left", color=INK)
    return Scatter(figure, titles)
