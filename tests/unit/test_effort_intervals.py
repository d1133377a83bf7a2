"""Intervals over seeds, tests of two means, and what chance leaves of a comparison."""

from statistics import mean, stdev

import numpy as np
import pytest

from eval.effort.intervals import Estimate, reliability, students


def test_intervals_are_students():
    assert Estimate.over_seeds({0: 5.0}).text() == "5.0"
    two = Estimate.over_seeds({0: 3.0, 1: 1.0})
    assert two.text() == "2.0 {1.0, 3.0}" and two.high == pytest.approx(2 + 12.7062) and two.whiskers == (None, None), (
        "12.71 would tell of t alone"
    )
    assert Estimate.over_seeds({0: 0.0, 1: 1.0, 2: 2.0}).text() == "1.0 ± 2.5"
    many = Estimate.over_seeds({seed: seed % 2 for seed in range(42)})
    assert many.high - many.mean == pytest.approx(2.0195 * stdev([0, 1] * 21) / 42**0.5, rel=1e-4), (
        "a table of t that ended at ten seeds"
    )


def test_reliability_is_the_share_that_is_not_chance():
    """Intervals of t over three seeds, taken for those of a normal distribution, made its variance five times what it is."""
    sure, doubtful = (
        [Estimate.over_seeds({0: value - by, 1: value, 2: value + by}) for value in (10.0, 50.0, 90.0)] for by in (0.1, 90.0)
    )
    assert reliability(sure) > 0.999 and reliability(doubtful) == 0
    assert reliability(
        [Estimate.over_seeds({0: value - 20, 1: value, 2: value + 20}) for value in (10.0, 50.0, 90.0)]
    ) == pytest.approx(1 - 400 / 3 / 1600)


def test_chances_of_seeds():
    assert (
        students({0: 2.0, 1: 2.0}, {0: 1.0, 1: 1.0}, False)
        == students({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0}, True)
        == (None, None, 0.0)
    )
    apart = students({0: 1.0, 1: 2.0, 2: 3.0}, {5: 2.0, 1: 1.0, 2: 0.0}, False)
    assert apart.low < 1 < apart.high and 0.05 < apart.p < 0.5
    uneven = {0: 0.0, 1: 0.0, 2: 9.0}, {0: 1.0, 1: 1.1, 2: 10.2}  # seed by seed 1, 1.1, 1.2
    paired, alone = students(*uneven, True), students(*uneven, False)
    assert paired.high == pytest.approx(-1.1 + 4.303 * 0.1 / 3**0.5, abs=1e-3) and paired.p < 0.01 < 0.8 < alone.p
    welch = students({0: 0.0, 1: 10.0}, {0: 4.0, 1: 4.1, 2: 3.9, 3: 4.0}, False)
    assert welch.low == pytest.approx(1 - 12.71 * 5, abs=0.5), "one degree of freedom, that of the side that varies"


def test_the_difficulty_of_a_drawn_world_is_no_chance_of_a_row():
    """It moves all rows alike: two that lie 10 apart in every world were told from one another by nothing."""
    rows = [
        Estimate.over_seeds({0: value + 30, 1: value - 30, 2: value + at})
        for value, at in ((50.0, 0.1), (60.0, -0.1), (70.0, 0.0))
    ]
    assert reliability(rows) == 0 and reliability(rows, worlds=True) > 0.999


def test_a_row_does_not_hide_its_own_chance():
    """It is a part of the mean that is taken from it: of three rows a third of its chance went with that."""
    draw, spread = np.random.default_rng(0), stdev((40.0, 50.0, 60.0)) ** 2
    made = [[Estimate.over_seeds({s: value + shift[s] + draw.normal(0, 5) for s in range(5)}) for value in (40.0, 50.0, 60.0)]
            for shift in draw.normal(0, 30, (300, 5))]  # fmt: skip
    assert mean(1 - reliability(rows, worlds=True) for rows in made) == pytest.approx(25 / 5 / (spread + 25 / 5), rel=0.12)
