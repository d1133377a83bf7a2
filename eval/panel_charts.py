"""The chart of a filled panel: bars, or ranking against success."""

from statistics import mean

from eval.charts import Point, bar_chart, has_bars, model_and_loss, scatter_figure
from eval.panels import HORIZONS, Panel


def panel_chart(panel: Panel, title: str, cells: dict):
    """matplotlib Figure; none where no row has a number."""
    if panel.chart == "bars":
        return bar_chart(title, panel.rows, panel.bounds, cells) if has_bars(panel.rows, cells) else None
    plots = scatter_points(panel, cells)
    return scatter_figure(plots, *axis_names(panel), title).drawing if plots else None


def axis_names(panel: Panel) -> tuple[str, str]:
    """Of a scatter panel: its first column against its last."""
    return panel.columns[0].label, panel.columns[-1].label


def scatter_points(panel: Panel, cells: dict) -> dict[str, list[Point]]:
    """Steps -> one point for each row that has both numbers, means over its seeds."""
    x_name, y_name = axis_names(panel)
    plots = {}
    for h in HORIZONS:
        both = {row: [cells[row, name, h].values.values() for name in (x_name, y_name)] for row in panel.rows}
        points = [Point(row, *model_and_loss(row), *map(mean, xy)) for row, xy in both.items() if all(xy)]
        if points:
            plots[f"{h} step{'s' if h > 1 else ''}"] = points
    return plots
