"""The chart of a filled panel: bars, or ranking against success."""

from statistics import mean

from eval.figures.charts import Point, bar_chart, model_and_loss, scatter_figure
from eval.paper.table_specs import HORIZONS, TableSpec


def table_chart(panel: TableSpec, title: str, cells: dict):
    """matplotlib Figure without empty plots; none where no row has a number, or only one side of a comparison."""
    if panel.chart == "none":
        return None
    if panel.chart == "bars":
        filled = {c for c in panel.columns if any(cells[row, c.label, h].values for row in panel.rows for h in HORIZONS)}
        if not filled or (len({c.split for c in panel.columns}) > 1 and len({c.split for c in filled}) == 1):
            return None
        shown = {c.label for c in filled}
        return bar_chart(title, panel.rows, panel.bounds, {key: cell for key, cell in cells.items() if key[1] in shown})
    plots = scatter_points(panel, cells)
    return scatter_figure(plots, *axis_names(panel), title).drawing if plots else None


def axis_names(panel: TableSpec) -> tuple[str, str]:
    """Of a scatter panel: its first column against its last."""
    return panel.columns[0].label, panel.columns[-1].label


def scatter_points(panel: TableSpec, cells: dict) -> dict[str, list[Point]]:
    """Steps -> one point for each row that has both numbers, means over its seeds."""
    x_name, y_name = axis_names(panel)
    plots = {}
    for h in HORIZONS:
        both = {row: [cells[row, name, h].values.values() for name in (x_name, y_name)] for row in panel.rows}
        points = [Point(row, *model_and_loss(row), *map(mean, xy)) for row, xy in both.items() if all(xy)]
        if points:
            plots[f"{h} step{'s' if h > 1 else ''}"] = points
    return plots
