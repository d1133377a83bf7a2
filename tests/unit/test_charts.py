"""Charts draw the numbers they are given, and rank correlations are right, ties included."""

import itertools

import pytest
from matplotlib.colors import to_hex

from eval.figures.charts import (
    Point,
    bar_chart,
    correlation_text,
    model_and_loss,
    rank_correlation,
    scatter_chart,
    write_chart,
)
from eval.figures.svg import inline_svg
from eval.paper.table_charts import scatter_points, table_chart
from eval.paper.table_specs import HORIZONS, Cell, paper_tables, table_specs


def points(x, y):
    return [Point(f"run{i}", "ae", "nll", float(a), float(b)) for i, (a, b) in enumerate(zip(x, y))]


def bars(axes):
    """Row -> (height, whether hatched) of a plot."""
    return {c.get_label(): (c[0].get_height(), bool(c[0].get_hatch())) for c in axes.containers if hasattr(c[0], "get_height")}


ROWS = ("AE + contrastive", "AE + NLL", "GNN + NLL", "ours (modular + InfoNCE)")
VALUES = {"AE + contrastive": {0: 50.0, 1: 54.0}, "AE + NLL": {0: 20.0}, "GNN + NLL": {}, "ours (modular + InfoNCE)": {2: 99.5}}


@pytest.fixture
def cells():
    found = {}
    for h in (1, 5):
        found |= {(row, "H@1", h): Cell({seed: v - h for seed, v in values.items()}) for row, values in VALUES.items()}
        found |= {("floor: x", "H@1", h): Cell({-1: 10.0 + h}), ("ceiling", "H@1", h): Cell({})}
    return found


def test_bars_stand_at_their_values(cells):
    """Means over seeds, one group a model, NLL hatched, rows without runs left out, whiskers of one standard deviation."""
    plots = bar_chart("t", ROWS, ("floor: x", "ceiling"), cells).axes
    assert bars(plots[0]) == dict(zip((ROWS[0], ROWS[1], ROWS[3]), ((51.0, False), (19.0, True), (98.5, True))))
    assert bars(plots[1])["AE + contrastive"] == (47.0, False)
    assert [label.get_text() for label in plots[0].get_xticklabels()] == ["AE", "modular"]
    (whisker,) = [c for c in plots[0].containers if not hasattr(c[0], "get_height")]
    low, high = whisker.lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((51 - 8**0.5, 51 + 8**0.5))
    assert [line.get_ydata()[0] for line in plots[0].get_lines() if line.get_label() == "floor: x"] == [11.0]
    assert not any(line.get_label() == "ceiling" for line in plots[0].get_lines())


def test_models_keep_their_colours(cells):
    """Bars of one model share a colour, others differ."""
    containers = [c for c in bar_chart("", ROWS, (), cells).axes[0].containers if hasattr(c[0], "get_height")]
    ae, nll, ours = (to_hex(c[0].get_edgecolor()) for c in containers)
    assert ae == nll != ours


def test_charts_are_written(cells, tmp_path):
    """As a picture and as a drawing that refers to nothing outside."""
    write_chart(bar_chart("t", ROWS, (), cells), tmp_path / "table4")
    assert (tmp_path / "table4.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (tmp_path / "table4.svg").read_text()
    assert "http" not in inline_svg(bar_chart("t", ROWS, (), cells), "t")


@pytest.mark.parametrize("row, parts", [
    ("AE + NLL", ("ae", "nll")), ("ours (modular + InfoNCE)", ("modular", "infonce")),
    ("ours (categorical + inverse action)", ("categorical", "inverse_action")), ("PPO (model-free)", ("ppo", "model-free")),
])  # fmt: skip
def test_rows_are_read(row, parts):
    assert model_and_loss(row) == parts


@pytest.mark.parametrize("x, y, rho", [
    ([1, 2, 3], [10, 30, 20], 0.5), ([1, 2, 3, 4], [8, 4, 2, 1], -1.0), ([1, 1, 2], [1, 2, 3], 3**0.5 / 2),
])  # fmt: skip
def test_rank_correlation_by_hand(x, y, rho):
    """Ties share the mean of their ranks."""
    assert rank_correlation(points(x, y)) == pytest.approx(rho)


@pytest.mark.parametrize("x, y, said", [
    ([1, 2, 3], [1, 4, 9], "Spearman 1.00, n = 3"), ([1, 2, 3], [3, 2, 1], "Spearman -1.00, n = 3"),
    ([1, 2], [1, 2], "n = 2, too few for a correlation"), ([1, 2, 3], [5, 5, 5], "n = 3, no spread, no correlation"),
])  # fmt: skip
def test_what_is_said_of_a_correlation(x, y, said):
    assert correlation_text(points(x, y)) == said


def test_points_tell_their_runs():
    """Every run has a point with its name, escaped, and the title its correlation."""
    odd = Point("a<b>&c", "mine", "odd", 10, 20)
    svg = scatter_chart({"1 step": [odd, *points([1, 2], [1, 2])], "5 steps": [odd]}, "H@1", "success")
    assert svg.count("<title>") == 4 and "<title>a&lt;b&gt;&amp;c: H@1 10.00, success 20.00</title>" in svg and "<b>" not in svg
    assert "Spearman 1.00, n = 3" in svg and "n = 1, too few" in svg


def test_a_panel_draws_what_is_there():
    """Columns without numbers have no plot;
    a comparison of which only one side is there, and a panel without rows, no chart."""
    zero_shot, ranking = table_specs(paper_tables(), 16, None, None)[0], table_specs(paper_tables(), 4, None, None)[0]

    def filled(panel, *labels):
        every = itertools.product([*panel.rows, *panel.bounds], [c.label for c in panel.columns], HORIZONS)
        return {(r, c, h): Cell({0: 50.0} if c in labels and r == "AE + NLL" else {}) for r, c, h in every}

    assert table_chart(ranking, "", filled(ranking)) is None
    assert len(table_chart(ranking, "", filled(ranking, "MRR")).axes) == 3
    assert table_chart(zero_shot, "", filled(zero_shot, "as trained")) is None
    ablation = table_specs(paper_tables(), "ablation", None, None)[0]
    assert table_chart(ablation, "", filled(ablation, "MRR")) is None  # its rows are no models
    assert len(table_chart(zero_shot, "", filled(zero_shot, "as trained", "any shades")).axes) == 6


def test_a_scatter_panel_has_a_point_for_each_row_with_both():
    panel = table_specs(paper_tables(), None, 21, None)[1]
    cells = {(r, c.label, h): Cell({}) for r in panel.rows for c in panel.columns for h in HORIZONS}
    for row, x, y in (("AE + NLL", {0: 10.0, 1: 20.0}, {0: 1.0}), ("GNN + NLL", {0: 30.0}, {})):
        cells[row, "H@1", 5], cells[row, "success", 5] = Cell(x), Cell(y)
    assert scatter_points(panel, cells) == {"5 steps": [Point("AE + NLL", "ae", "nll", 15.0, 1.0)]}
    assert len(table_chart(panel, "", cells).axes) == 1
