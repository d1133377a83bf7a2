"""Curves as inline SVG: the losses of a run, and lines with their bounds."""

from eval.figures.svg import calm, inline_svg


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
    colors = ("#2f6f9f", "#d6903f", "#4a9b7f", "#8a5a9c", "#d6603f", "#7d6b4f", "#b0487a", "#5f9ea8")
    for (label, y), color in zip(lines.items(), colors * len(lines)):
        axes.plot(x, y, color=color, label=label, marker="o", ms=4, lw=1.8)
    for (label, y), dashes in zip(bounds.items(), ("--", ":") * len(bounds)):
        axes.plot(x, y, color="#6b7a87", label=label, ls=dashes, lw=1.4)
    axes.set_xlabel(x_label, color="#6b7a87")
    axes.set_ylabel(y_label, color="#6b7a87")
    return f'<div class="scroll">{_calm_svg(figure, axes, "".join(lines))}</div>'


def _calm_svg(figure, axes, salt: str) -> str:
    """The house's axes, a legend off the lines, and the figure as inline SVG."""
    calm(axes)
    axes.legend(frameon=False, labelcolor="#23303b", fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return inline_svg(figure, salt)
