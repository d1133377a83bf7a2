"""Millimetres between predicted and true blocks, of those that moved."""

import numpy as np
import pytest

from eval.probes.block_error import block_error


def test_it_counts_blocks_that_moved_in_millimetres():
    true = np.zeros((4, 2, 3))
    predicted = true.copy()
    predicted[:, 0, 0] = (0.001, 0.002, 0.009, 5.0)
    predicted[:, 1, 1] = 7.0
    moved = np.array([[True, False], [True, False], [True, False], [False, False]])
    assert block_error(predicted, true, moved) == pytest.approx((2.0, 4.0, 3))
    assert block_error(predicted[:, :1], true[:, :1], moved[:, 0]) == pytest.approx((2.0, 4.0, 3))


def test_where_nothing_moved_there_is_no_error():
    found = block_error(np.ones((3, 1, 3)), np.zeros((3, 1, 3)), np.zeros(3, bool))
    assert found.moved == 0 and np.isnan(found.median) and np.isnan(found.mean)


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        block_error(np.zeros((3, 2, 3)), np.zeros((3, 1, 3)), np.ones(3, bool))
