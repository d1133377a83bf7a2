"""Lines of what a study varies: minutes, cases, steps;
with the interval of every point, and none where a point stands alone."""

import pytest

from eval.effort.filled import Filled
from eval.effort.scaling import scaling, scaling_figure
from eval.effort.settings import rows_of
from eval.effort.studies import studies

OTHER, ROW, NONE = rows_of(["edge + hinge", "edge + InfoNCE", "edge + NLL"])


def scored(value: float, horizons=(1, 5, 10)) -> dict:
    return {"final": {"metrics": {f"test/cf_hits@1/mean/h{h}": value - h for h in horizons}}}


def filled(study: str, case: str, values: dict[int, float], row=ROW, horizons=(1, 5, 10)) -> Filled:
    """Two rounds, the second is the end, and is better by twenty."""
    entries = {seed: {"run": "a", "seed": seed, "scores": scored(value, horizons), "plans": {}, "rounds": [
        {"round": 1, "stage": "joint", "cpu_s": 60.0 + 6 * seed, "updates": 10, "scores": scored(value - 20, horizons)},
        {"round": 10, "stage": "joint", "cpu_s": 600.0, "updates": 100, "scores": {}},
    ]} for seed, value in values.items()}  # fmt: skip
    return Filled(studies()[study], case, row, "physics5_shuffled", None, entries)


def test_minutes_are_those_that_were_used():
    what, lines = scaling(
        [
            filled("causes", "", {0: 69.0, 1: 71.0, 2: 73.0}),
            filled("causes", "", {0: 90.0}, OTHER),
            filled("causes", "", {}, NONE),
        ]
    )
    assert what == "minutes of processor time" and list(lines) == ["edge + hinge", "edge + InfoNCE"], (
        "the best at the end is first"
    )
    first, end = lines["edge + InfoNCE"]
    assert (first.x, first.y, end.x, end.y) == (pytest.approx(1.1), 41.0, 10.0, 61.0)
    assert end.low < 61 < end.high and lines["edge + hinge"][0].low is None


def test_the_end_is_what_the_whole_time_gave():
    """Not the last weights, where those are scored too; and ticks stand at rounds that are scored."""
    first = filled("causes", "", {0: 69.0})
    figure = scaling_figure([first])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["1", "2", "5", "10"]
    thirty = filled("causes-minutes", "", {0: 69.0})
    thirty.entries[0]["rounds"][1] |= {"round": 30, "scores": scored(55.0)}
    assert [(point.x, point.y) for point in scaling([thirty])[1]["edge + InfoNCE"]] == [(1.0, 39.0), (10.0, 59.0)]


def test_cases_are_drawn_by_their_numbers():
    """Nine objects of which five are seen at a time make a line of their own."""
    cases = {
        "9 objects": 50.0,
        "3 objects": 90.0,
        "9 objects, 5 at a time in training": 20.0,
        "7 objects, 5 at a time in training": 30.0,
    }
    what, lines = scaling([filled("causes-objects", case, {0: value}) for case, value in cases.items()])
    assert what == "objects"
    assert [(one.x, one.y) for one in lines["edge + InfoNCE"]] == [(3.0, 80.0), (9.0, 40.0)]
    assert [(one.x, one.y) for one in lines["edge + InfoNCE, 5 at a time in training"]] == [(7.0, 20.0), (9.0, 10.0)]


def test_steps_are_the_horizons():
    what, lines = scaling([filled("causes-horizon", "", {0: 80.0}, horizons=(1, 2, 5, 10, 20, 50))])
    assert what == "steps" and [(one.x, one.y) for one in lines["edge + InfoNCE"]] == [
        (h, 80.0 - h) for h in (1, 2, 5, 10, 20, 50)
    ]
    assert "what if, %" in scaling_figure([filled("causes-horizon", "", {0: 80.0}, horizons=(1, 50))]).axes[0].get_ylabel()


def test_every_case_of_every_study_is_numbered():
    for study in studies().values():
        if len(study.cases) > 1:
            _, lines = scaling([filled(study.name, case, {0: 50.0}) for case in study.cases])
            assert sum(map(len, lines.values())) == len(study.cases)


def test_few_and_many_are_drawn_by_their_logarithm():
    drawn = scaling_figure(
        [filled("causes-episodes", f"{n} episodes", {0: 10.0 + n / 20, 1: 20.0}) for n in (30, 100, 1000)], "title"
    )
    (axes,) = drawn.axes
    assert axes.get_xscale() == "log" and [tick.get_text() for tick in axes.get_xticklabels()] == ["30", "100", "1000"]
    narrow = scaling_figure([filled("causes-objects", f"{n} objects", {0: 10.0}) for n in (3, 9)]).axes[0]
    assert narrow.get_xscale() == "linear"


def test_a_single_point_is_no_line():
    assert (
        scaling_figure([filled("causes-episodes", "30 episodes", {0: 10.0}), filled("causes-episodes", "100 episodes", {})])
        is None
    )
    assert scaling_figure([filled("causes", "", {})]) is None
