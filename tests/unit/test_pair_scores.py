"""Hit rate, AUC and accuracy of surprise, by hand."""

import numpy as np
import pytest

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
