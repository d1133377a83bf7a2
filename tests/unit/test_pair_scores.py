"""Hit rate, AUC and accuracy of surprise, by hand."""

import numpy as np
import pytest

from eval.probes.pair_scores import interval
from eval.surprise import accuracy, auc, hit_rate

NAN = float("nan")


def test_pairs_are_counted_and_ties_are_one_half():
    assert hit_rate([0, 1, 2, 5], [1, 1, 3, 4]) == (1 + 0.5 + 1 + 0) / 4
    assert hit_rate(np.array([3.0]), np.array([3.0])) == 0.5


def test_an_oracle_has_one_a_constant_one_half_and_an_inverted_one_zero():
    no, yes, same = np.zeros(7), np.ones(7), np.full(7, 0.3)
    for score in (hit_rate, auc):
        assert (score(no, yes), score(same, same), score(yes, no)) == (1.0, 0.5, 0.0)
    assert (accuracy(no, yes, 0.5), accuracy(same, same, 0.5), accuracy(yes, no, 0.5)) == (1.0, 0.5, 0.0)


def test_auc_counts_all_pairs_matched_or_not():
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 5, 13), rng.integers(1, 6, 9)
    every = np.mean([(b > a) + 0.5 * (b == a) for a in low for b in high])
    assert auc(low, high) == pytest.approx(every)
    roc = pytest.importorskip("sklearn.metrics").roc_auc_score
    assert auc(low, high) == pytest.approx(roc([0] * 13 + [1] * 9, [*low, *high]))


def test_infinite_surprise_is_larger_than_any_number():
    assert hit_rate([1.0, np.inf], [np.inf, np.inf]) == 0.75 and auc([1.0], [np.inf]) == 1.0


@pytest.mark.parametrize("expected, surprising, says", [
    ([], [], "expected clips is empty"), ([1, 2], [1], "got 2 expected and 1 surprising"),
    ([1, NAN], [1, 2], "expected clips holds 1 NaN of 2"), ([1, 2], [NAN, NAN], "surprising clips holds 2 NaN"),
    ([[1]], [[2]], r"one number a clip, \(P,\), got shape \(1, 1\)"),
])  # fmt: skip
def test_what_cannot_be_paired_is_told(expected, surprising, says):
    with pytest.raises(ValueError, match=says):
        hit_rate(expected, surprising)


@pytest.mark.parametrize("expected, surprising, says", [
    ([], [1.0], "expected clips is empty"), ([1.0], [], "surprising clips is empty"), ([NAN], [1.0], "NaN"),
])  # fmt: skip
def test_one_class_alone_has_no_auc(expected, surprising, says):
    with pytest.raises(ValueError, match=says):
        auc(expected, surprising)


def test_a_threshold_is_a_number():
    with pytest.raises(ValueError, match="finite number, got nan"):
        accuracy([0.0], [1.0], NAN)


def test_the_interval_of_a_rate_is_wilsons():
    """Agresti and Coull's example of 9 of 10, an empty and a full count, and the width at many pairs."""
    assert interval(0.9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    assert (
        interval(0.0, 50) == pytest.approx((0.0, 0.0713), abs=1e-4)
        and interval(1.0, 50)[0] == pytest.approx(1 - 0.0713, abs=1e-4)
    )
    low, high = interval(0.5, 10_000)
    assert high - low == pytest.approx(2 * 1.96 * 0.005, rel=1e-3)


def test_the_interval_holds_the_true_rate_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for true in (0.6, 0.9):
        found = [interval(hits / 50, 50) for hits in rng.binomial(50, true, 2000)]
        assert np.mean([low <= true <= high for low, high in found]) > 0.93


@pytest.mark.parametrize("rate, pairs", [(1.2, 5), (NAN, 5), (0.5, 0)])
def test_an_interval_of_no_rate_is_told(rate, pairs):
    with pytest.raises(ValueError, match="a rate from 0 to 1 over one pair or more"):
        interval(rate, pairs)
