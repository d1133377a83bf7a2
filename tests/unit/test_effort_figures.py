"""The figure of rows: what each ranks, knows and reaches, best first, floors beside it."""

import pytest

from eval.effort.figures import marks_of, rows_figure
from eval.effort.filled import Filled
from eval.effort.settings import rows_of
from eval.effort.studies import studies
from eval.figures.curves import LinePoint, lines_figure
from eval.figures.row_marks import APART, Mark, marks_figure
from eval.figures.row_scatter import RowPoint, row_figure

HINGE, NCE, NLL = rows_of(["edge + hinge", "edge + InfoNCE", "edge + NLL"])


def filled(row, known: dict[int, float], ranked: float = 99.0, goals: float | None = None) -> Filled:
    entries = {}
    for seed, value in known.items():
        metrics = {
            "test/cf_hits@1/mean/h10": value,
            "test/hits@1/h10": ranked,
            "floor/copy/cf_hits@1/mean/h10": 5.0,
            "floor/copy/hits@1/h10": 30.0,
        }
        select = {} if goals is None else {"plan/success/h10": goals}
        entries[seed] = {
            "run": "a",
            "seed": seed,
            "rounds": [],
            "plans": {},
            "scores": {"final": {"metrics": metrics}, "select": {"metrics": select}},
        }
    return Filled(studies()["causes"], "", row, "physics5_shuffled", None, entries)


@pytest.fixture
def rows():
    return [filled(HINGE, {0: 20.0, 1: 30.0}), filled(NCE, {0: 98.0}, goals=97.0), filled(NLL, {})]


def test_rows_are_marked_best_first(rows):
    marks = marks_of(rows)
    assert list(marks) == ["edge + InfoNCE", "edge + hinge"], "one without a run has no mark"
    assert {name: (mark.value, mark.low, mark.floor) for name, mark in marks["edge + InfoNCE"].items()} == {
        "what if": (98.0, None, 5.0), "H@1": (99.0, None, 30.0), "goals": (97.0, None, None)}
    known = marks["edge + hinge"]["what if"]
    assert known.value == 25 and known.seeds == (20.0, 30.0) and known.low is None, "two seeds are no interval"
    assert "goals" not in marks["edge + hinge"]


def test_intervals_are_drawn_within_a_percentage():
    """Student's t of 100, 100, 90 ends at 111."""
    high, low = (
        marks_of([filled(HINGE, dict(enumerate(known)))])["edge + hinge"]["what if"]
        for known in ([100.0, 100.0, 90.0], [0.0, 0.0, 10.0])
    )
    assert high.high == 100 and 80 < high.low < 90 and low.low == 0 and 10 < low.high < 20


def test_rows_are_named_on_their_lines(rows):
    (axes,) = rows_figure(rows, "title").axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["edge + InfoNCE", "edge + hinge"]
    top, bottom = axes.get_ylim()[::-1]
    assert top < 0 < 1 < bottom, "the first is on top"
    drawn = {line.get_label(): list(zip(line.get_xdata(), line.get_ydata())) for line in axes.lines}
    assert drawn["what if"] == [(98.0, -APART), (25.0, 1 - APART)] and drawn["goals"] == [(97.0, APART)], (
        "each in a lane of its own"
    )
    assert any(str(label).startswith("floor: copying the start") for label in drawn)
    assert (
        [(20.0, 1 - APART), (30.0, 1 - APART)] in [list(zip(line.get_xdata(), line.get_ydata())) for line in axes.lines]
        and "each of two seeds" in drawn
    )
    assert "95 % interval" not in drawn, "none has one"
    assert sum(list(line.get_xdata()) == [30.0, 30.0] for line in axes.lines) == 2, "floors of H@1"


def test_what_scores_are_compared_with_is_a_line_through_all_rows(rows):
    """The figure had floors alone: who passes a simulator that knows no weights could not be seen."""
    for one in rows:
        for entry in one.entries.values():
            entry["scores"]["final"]["metrics"]["blind/cf_hits@1/mean/h10"] = 87.5
            entry["scores"]["select"]["metrics"]["plan/true/greedy/h10"] = 97.0 + entry["seed"]
    drawn = {line.get_label(): list(line.get_xdata()) for line in rows_figure(rows).axes[0].lines}
    assert drawn["weights unknown: what if 87.5"] == [87.5, 87.5]
    assert not any(label.startswith(("true world", "exact Bayes", "likeliest")) for label in drawn), (
        "not one for all rows, or not asked"
    )


def test_marks_without_a_look_are_not_lost():
    with pytest.raises(ValueError, match="a row has at most 3 marks, got a, b, c, d"):
        marks_figure({"row": {name: Mark(1.0) for name in "abcd"}}, "", "")


def test_without_a_run_nothing_is_drawn(rows):
    assert rows_figure(rows[2:]) is None


def test_the_legend_stays_on_the_picture():
    """It once ended beyond the right edge, with three worlds of which some have two seeds."""
    mark = Mark(50.0, low=40.0, high=60.0, floor=5.0, seeds=(49.0, 51.0))
    worlds = ("physics5_shuffled", "physics5", "chemistry_chain5")
    figure = marks_figure(
        {"transformer + InfoNCE, hidden objects": dict.fromkeys(worlds, mark)}, "", "floor: copying the start"
    )
    figure.draw_without_rendering()
    assert figure.axes[0].get_legend().get_window_extent().x1 <= figure.bbox.x1


POINTS = [RowPoint("a", "edge", 99.0, 98.0), RowPoint("b", "edge", 98.0, 97.0), RowPoint("c", "gnn", 90.0, 60.0),
          RowPoint("d", "ae", 70.0, 40.0), RowPoint("e", "ae", 100.0, 3.0, above=False)]  # fmt: skip


def test_rows_that_rank_as_copying_does_are_in_no_correlation():
    """Its title said .89 of all rows where the text said .83 of those that rank above copying;
    edge + InfoNCE lay unseen below another mark."""
    drawing, titles = row_figure({"10 steps": POINTS}, "H@1", "what if")
    (axes,) = drawing.axes
    assert axes.get_title(loc="left") == "10 steps\nSpearman 1.00, n = 4 above copying"
    assert sorted(text.get_text() for text in axes.texts) == ["1 2", "3", "4", "5"], (
        "marks upon one another share their numbers"
    )
    assert [line.get_markerfacecolor() == "white" for line in axes.lines] == [False] * 4 + [True]
    assert [text.get_text() for text in drawing.legends[0].get_texts()] == [
        "1  a", "2  b", "3  c", "4  d", "5  e", "hollow: not above copying the start",
    ]  # fmt: skip
    assert [told.endswith(", not above copying") for told in titles.values()] == [False] * 4 + [True]
    few = row_figure({"1 step": POINTS[3:]}, "H@1", "what if").drawing.axes[0]
    assert few.get_title(loc="left").endswith("n = 1 above copying, too few for a correlation")


def test_of_many_lines_the_first_have_colours():
    (axes,) = lines_figure(
        {f"row {n:02}": [LinePoint(1, 90 - n), LinePoint(2, 95 - n)] for n in range(12)}, "minutes", "what if"
    ).axes
    assert (
        [text.get_text() for text in axes.get_legend().get_texts()][-1] == "4 more" and len(axes.get_legend().get_texts()) == 9
    )
    assert len({line.get_color() for line in axes.lines}) == 9
