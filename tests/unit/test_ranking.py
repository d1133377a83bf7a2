"""Ranks, hits and MRR worked out by hand."""

import numpy as np
import pytest
import torch

from eval.ranking import hits_at_k, mrr, ranks

LINE = np.array([[0.0], [1.0], [3.0]])


def test_grouped_by_hand():
    """Predictions 0.2, 2.6, 1.9 for outcomes 0, 1, 3: ranks 0, 1 (3 is nearer), 1 (1 is nearer)."""
    assert ranks([[0.2], [2.6], [1.9]], LINE).tolist() == [0, 1, 1]


def test_grouped_counts_ties_against_us():
    """2 lies between 1 and 3: both true outcomes are as near, so either rank is 1, not 0."""
    assert ranks([[0.0], [2.0], [2.0]], LINE).tolist() == [0, 1, 1]


def test_groups_are_one_candidate():
    """Three copies of one outcome do not compete with one another; the rest does."""
    target = np.array([[0.0], [0.0], [0.0], [5.0]])
    predicted = np.array([[0.0], [1.0], [4.0], [5.0]])
    assert ranks(predicted, target, groups=[7, 7, 7, 2]).tolist() == [0, 0, 1, 0]
    assert ranks(predicted, target).tolist() == [2, 2, 3, 0]


def test_groups_are_candidates_once():
    """A far group of a hundred copies pushes the true outcome down by one rank only."""
    target = np.concatenate([np.zeros((1, 1)), np.ones((100, 1))])
    result = ranks(np.ones((101, 1)), target, groups=[0] + [1] * 100)
    assert result[0] == 1 and (result[1:] == 0).all()


def test_reference_by_hand():
    """The target queries all predictions: 0 -> .2 first; 1 -> 1.9 (.9) and .2 (.8) before 2.6 (1.6); 3 -> 2.6 before 1.9."""
    assert ranks([[0.2], [2.6], [1.9]], LINE, rule="reference").tolist() == [0, 2, 1]


def test_reference_lets_ties_win():
    """A constant prediction is perfect under the authors' rule and last under ours."""
    assert ranks(np.full((3, 1), 9.0), LINE, rule="reference").tolist() == [0, 0, 0]
    assert ranks(np.zeros((3, 2)), np.zeros((3, 2))).tolist() == [2, 2, 2]


@pytest.mark.parametrize("rule", ["grouped", "reference"])
def test_blocks_agree_with_naive(rule):
    """A pool wider than one block gives what the full distance matrix gives."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(3000, 4))
    predicted = target + 0.4 * rng.normal(size=(3000, 4))
    square = np.stack([((row - target) ** 2).sum(1) for row in predicted])  # [prediction, target]
    own = np.diag(square)
    expected = (square < own[:, None]).sum(1) if rule == "grouped" else (square < own[None]).sum(0)
    assert np.array_equal(ranks(predicted, target, rule=rule), expected)


def test_offset_does_not_change_ranks():
    """Distances survive a large common offset."""
    rng = np.random.default_rng(0)
    target, noise = rng.normal(size=(200, 8)), 0.3 * rng.normal(size=(200, 8))
    assert np.array_equal(ranks(target + noise, target), ranks(target + noise + 1e4, target + 1e4))


def test_tensors_and_slots():
    """(N, K, D) tensors are flattened."""
    z = torch.randn(20, 3, 4, generator=torch.Generator().manual_seed(0))
    assert ranks(z, z).tolist() == [0] * 20


def test_hits_and_mrr():
    """Ranks 0, 1, 4: hits@1 one third, hits@2 two thirds, MRR (1 + 1/2 + 1/5) / 3, in percent."""
    assert hits_at_k([0, 1, 4], 1) == pytest.approx(100 / 3)
    assert hits_at_k([0, 1, 4], 2) == pytest.approx(200 / 3)
    assert mrr([0, 1, 4]) == pytest.approx(100 * 1.7 / 3)


def test_empty():
    """No queries: no ranks, and an average that admits it."""
    assert len(ranks(np.zeros((0, 2)), np.zeros((0, 2)))) == 0
    assert np.isnan(hits_at_k([])) and np.isnan(mrr([]))


@pytest.mark.parametrize("change, sentence", [
    ({"predicted": np.zeros((2, 1))}, "differ in shape"), ({"rule": "grupped"}, "no ranking rule"),
    ({"predicted": np.array([[0.0], [np.nan], [1.0]])}, "NaN or infinity"),
    ({"target": np.array([[0.0], [np.inf], [1.0]])}, "NaN or infinity"),
])  # fmt: skip
def test_refusals(change, sentence):
    """Shapes, rules and diverged models are refused, never ranked."""
    with pytest.raises(ValueError, match=sentence):
        ranks(**{"predicted": LINE, "target": LINE, **change})


@pytest.mark.parametrize("seed", range(5))
def test_one_answer_for_all_is_that_answer_to_each(seed):
    """With copies and ties, at the rounding of float32 latents."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, 3, (400, 3)).astype(np.float32) / 3
    _, groups = np.unique(target, axis=0, return_inverse=True)
    for answer in (target.mean(0, keepdims=True), target[:1], rng.normal(size=(1, 3))):
        assert np.array_equal(ranks(answer, target, groups=groups), ranks(np.repeat(answer, 400, 0), target, groups=groups))
    with pytest.raises(ValueError, match="differ in shape"):
        ranks(target[:1], target, rule="reference")
