"""Answers that are kept: packed and unpacked alike, the same score as the metric, and intervals as wide as they must be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.runs.answers import REPLICATES, Answers, bootstrap, ends, two_sided, weighted


@given(st.integers(1, 40), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_unpacked_is_what_was_packed(episodes, classes, seed):
    draw = np.random.default_rng(seed)
    asked = draw.integers(0, 65536, (episodes, classes))
    one = Answers(draw.integers(0, asked + 1), asked)
    text = one.packed()
    assert all((a == b).all() for a, b in zip(Answers.unpacked(text), one)) and text.isascii() and '"' not in text


@pytest.mark.parametrize(
    "text", ["", "3x1", "3x1 abc def", "3x2 " + " ".join(Answers.of(np.ones(3, bool)).packed().split(" ")[1:])]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="no packed answers"):
        Answers.unpacked(text)


def test_every_episode_once_is_the_metric():
    """Of classes the mean of their shares, whatever their sizes; a class that nobody was asked is none."""
    right = np.array([[1, 1, 0], [0, 1, 1]], bool)
    assert weighted([Answers.of(right)], np.ones((1, 2)))[0, 0] == pytest.approx(100 * 4 / 6)
    kinds = np.array([[0, 0, 2], [0, 0, 2]])
    assert weighted([Answers.of(right, kinds, 3)], np.ones((1, 2)))[0, 0] == pytest.approx(100 * (3 / 4 + 1 / 2) / 2)
    assert weighted([Answers.of(right, kinds, 3)], np.array([[2, 0]]))[0, 0] == pytest.approx(50)


def test_windows_of_one_episode_are_one_chance():
    """They overlap: drawn one by one, an interval of 160 episodes of 60 windows each was half as wide as it is."""
    one = Answers.of(np.array([[1, 1], [0, 1], [1, 0], [0, 0]], bool))
    assert [part.tolist() for part in one.together(np.array([7, 3, 7, 3]))] == [[[3], [1]], [[4], [4]]]
    same = one.together(np.array([7, 3, 9, 1]))
    assert all((a == b).all() for a, b in zip(same, one)), "of boards each window is an episode, and stays where it was"
    draw = np.random.default_rng(0)
    episodes = np.repeat(np.arange(40), 25)
    apart = Answers.of(np.repeat(draw.random(40) < 0.5, 25))
    low, high = ends(bootstrap({0: apart}))
    truly = ends(bootstrap({0: apart.together(episodes)}))
    assert truly[1] - truly[0] > 4 * (high - low)


def test_intervals_are_those_of_the_binomial_where_seeds_agree():
    draw = np.random.default_rng(0)
    right = draw.random(2000) < 0.3
    low, high = ends(bootstrap(dict.fromkeys(range(5), Answers.of(right))))
    wide = 2 * 1.96 * 100 * (0.3 * 0.7 / 2000) ** 0.5
    assert high - low == pytest.approx(wide, rel=0.1) and low < 100 * right.mean() < high


def test_seeds_that_differ_widen_the_interval():
    runs = {seed: Answers.of(np.arange(1000) < cut) for seed, cut in enumerate((500, 600, 700, 800, 900))}
    low, high = ends(bootstrap(runs))
    assert 560 < 10 * low < 620 and 780 < 10 * high < 840
    with pytest.raises(ValueError, match="asked .10, 1000. episodes"):
        bootstrap({0: runs[0], 1: Answers.of(np.ones(10, bool))})
    assert bootstrap({0: runs[0], 1: Answers.of(np.ones(10, bool))}, same=False).shape == (2000,)


def test_a_difference_is_paired():
    """Two rows that fail on the same episodes differ by less than chance on each says."""
    hard = np.random.default_rng(1).random(1000) < 0.5
    one, other = Answers.of(~hard), Answers.of(~hard | (np.arange(1000) < 10))
    apart = bootstrap({0: other}) - bootstrap({0: one})
    low, high = ends(apart)
    assert low >= 0 and high < 2 and high - low < 1.5


def test_seeds_of_two_rows_are_drawn_apart():
    """They were drawn by their place: rows whose seeds rise alike differed by too little, and by too much where one falls."""
    rows = [{seed: Answers.of(np.arange(1000) < 10 * (cut + step)) for seed, step in enumerate(steps)}
            for cut, steps in ((90, (0, 3, 6)), (80, (0, 3, 6)), (80, (6, 3, 0)))]  # fmt: skip
    first, alike, against = (bootstrap(runs, row=name) for runs, name in zip(rows, ("first", "alike", "against")))
    expected = np.hypot(first.std(), alike.std())
    assert (first - alike).std() == pytest.approx(expected, rel=0.1) == (first - against).std()
    assert (bootstrap(rows[0], False, "first") == bootstrap(rows[0], False, "another")).all(), "drawn worlds are those of both"


def test_seeds_of_own_worlds_are_drawn_by_their_number():
    """The same world of two rows is drawn alike, whatever other worlds a row has."""
    draw = np.random.default_rng(2)
    one, other = (Answers.of(draw.random(500) < p) for p in (0.3, 0.8))
    assert (bootstrap({4: one}, same=False) == bootstrap({4: one}, same=True)).mean() < 0.2
    both = bootstrap({4: one, 9: one}, same=False)
    other_nine = bootstrap({4: one, 9: other}, same=False)
    assert (other_nine >= both).all() and (other_nine == both).mean() == pytest.approx(0.25, abs=0.05), (
        "a quarter of draws has world 4 twice"
    )


def test_both_sides_of_nothing_are_counted():
    assert (
        two_sided(np.r_[np.ones(1900), -np.ones(100)]) == two_sided(np.r_[-np.ones(1900), np.ones(100)]) == pytest.approx(0.1)
    )
    assert two_sided(np.ones(REPLICATES)) == 2 / REPLICATES and two_sided(np.zeros(REPLICATES)) == 1
