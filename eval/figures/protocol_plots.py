"""Pictures of protocols: bars with intervals, a radar whose rings are fractional success, and learning curves."""

from itertools import cycle

import numpy as np

from eval.figures.charts import INK, SOFT
from eval.figures.svg import calm
from eval.runs.evaluations import Curve

_COLORS = ("#2f6f9f", "#d6903f", "#3d8f83", "#b0487a", "#8a5a9c", "#9a7b4f")
_STROKES, _HATCHES = ("-", "--", ":", "-."), ("", "//", "..", "xx")  # where there are more than colours
_LEVELS = ("--", ":", "-.", (0, (1, 4)), (0, (8, 3)), (0, (6, 2, 1, 2, 1, 2)))


def _stroke(k: int) -> dict:
    return {"color": _COLORS[k % len(_COLORS)], "linestyle": _STROKES[k // len(_COLORS) % len(_STROKES)]}


def _fill(k: int) -> dict:
    return {"color": _COLORS[k % len(_COLORS)], "hatch": _HATCHES[k // len(_COLORS) % len(_HATCHES)], "edgecolor": "white"}


def bar_plot(found: dict[str, dict], task: str, metric: str = "last"):
    """found: agent -> protocol -> entry of `summary`.  -> matplotlib Figure"""
    from matplotlib.figure import Figure

    protocols = list(dict.fromkeys(p for scores in found.values() for p in scores))
    figure = Figure(figsize=(1.5 + 0.55 * len(protocols) * max(1, 0.6 * len(found)), 3.2), layout="constrained")
    axes, wide = figure.subplots(), 0.8 / len(found)
    for k, (agent, scores) in enumerate(found.items()):
        for i, protocol in enumerate(protocols):
            if metric not in scores.get(protocol, {}):
                continue
            mean, low, high = scores[protocol][metric]
            x = i + (k - (len(found) - 1) / 2) * wide
            axes.bar(x, mean, 0.9 * wide, linewidth=0, **_fill(k))
            axes.errorbar(x, mean, [[max(0, mean - low)], [max(0, high - mean)]], color=INK, capsize=2, linewidth=1)
            if len(found) == 1:  # side by side they would cover one another
                axes.text(x, high + 0.02, f"{mean:.2f}", ha="center", va="bottom", fontsize=7)
        axes.bar(0, 0, linewidth=0, label=agent, **_fill(k))
    axes.set(xticks=range(len(protocols)), ylim=(0, 1.12), ylabel="fractional success", title=task)
    axes.set_xticklabels(protocols)
    calm(axes)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    return figure


def radar_plot(found: dict[str, dict], task: str, metric: str = "last"):
    """One closed line for each agent, one axis for each protocol;
    the line is broken at protocols that an agent did not play.
    """
    from matplotlib.figure import Figure

    protocols = list(dict.fromkeys(p for scores in found.values() for p in scores))
    angles = np.linspace(0, 2 * np.pi, len(protocols), endpoint=False)
    figure = Figure(figsize=(4.2, 4.5), layout="constrained")
    axes = figure.add_subplot(projection="polar")
    for k, (agent, scores) in enumerate(found.items()):
        values = [scores.get(p, {}).get(metric, [np.nan])[0] for p in protocols]
        closed = [*values, values[0]], [*angles, angles[0]]
        axes.plot(closed[1], closed[0], label=agent, **_stroke(k))
        if np.isfinite(values).all():
            axes.fill(closed[1], closed[0], color=_COLORS[k % len(_COLORS)], alpha=0.15)
    axes.set(ylim=(0, 1), yticks=[0.2, 0.4, 0.6, 0.8], title=f"{task}: fractional success")
    axes.set_xticks(angles, protocols)
    axes.set_theta_zero_location("N")
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=3)  # beside the circle, where no protocol stands
    return figure


def learning_plot(learned: dict[str, dict[str, Curve]], levels: dict[str, dict[str, float]], task: str, measure: str):
    """A panel for each protocol: a measure in percent against steps, a line for each run and a band for its 95 %.

    levels: agent -> protocol -> percent, level lines.  -> matplotlib Figure
    """
    from matplotlib.figure import Figure

    protocols = list(dict.fromkeys(p for curves in learned.values() for p in curves))
    figure = Figure(figsize=(1.4 + 3.7 * len(protocols), 3.4), layout="constrained")
    plots = figure.subplots(1, len(protocols), sharey=True, squeeze=False)[0]
    for axes, protocol in zip(plots, protocols):
        for k, (run, curves) in enumerate(learned.items()):
            if protocol not in curves:
                continue
            steps, percent, low, high = zip(*curves[protocol])
            axes.plot(steps, percent, marker="o", ms=4, lw=1.8, label=run, **_stroke(k))
            if None not in low:
                axes.fill_between(steps, low, high, color=_COLORS[k % len(_COLORS)], alpha=0.15, lw=0)
        for (agent, scores), dashes in zip(levels.items(), cycle(_LEVELS)):
            if protocol in scores:
                axes.axhline(scores[protocol], color=SOFT, ls=dashes, lw=1.4, label=agent)
        axes.set(xlim=(0, None), ylim=(-2, 104), yticks=range(0, 101, 25))
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter(lambda steps, _: f"{steps:,.0f}")
        axes.set_title(f"{task}, {protocol}", fontsize=10, loc="left", color=INK)
        axes.set_xlabel("steps", color=SOFT)
        calm(axes)
    plots[0].set_ylabel(f"{measure}, %", color=SOFT)
    lines = {line.get_label(): line for axes in plots for line in axes.get_lines()}
    figure.legend(lines.values(), lines.keys(), frameon=False, labelcolor=INK, fontsize=9, loc="outside right center")
    return figure
