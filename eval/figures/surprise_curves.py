"""Surprise over the frames of single trials: a curve for each version, and the moment of the violation."""

import numpy as np

from eval.figures.svg import calm, svg_text

COLORS = {"expected": "#2f6f9f", "surprising": "#d6603f", "control": "#4a9b7f"}
COLUMNS = 3


def surprise_curves(panels: dict[str, dict[str, np.ndarray]], moments: dict[str, int]) -> str:
    """An SVG file.  panels: title -> version -> scaled surprise (T,).  moments: title -> frame of the violation,
    -1 where none is seen."""
    from matplotlib.figure import Figure

    rows = -(-len(panels) // COLUMNS)
    figure = Figure(figsize=(4.2 * min(COLUMNS, len(panels)), 2.6 * rows), layout="constrained")
    grid = figure.subplots(rows, min(COLUMNS, len(panels)), squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes, (title, curves) in zip(grid, panels.items()):
        calm(axes)
        for version, curve in curves.items():
            axes.plot(curve, color=COLORS[version], label=version, lw=1.6)
        if moments[title] >= 0:  # some violate in nothing that is seen
            axes.axvline(moments[title], color="#6b7a87", ls="--", lw=1.2, label="violation")
        axes.set_title(title, fontsize=10, loc="left", color="#23303b")
        axes.set_xlabel("frame", color="#6b7a87")
        axes.set_ylabel("surprise", color="#6b7a87")
    grid[0].legend(frameon=False, labelcolor="#23303b", fontsize=8)
    return svg_text(figure, "surprise")
