"""The hinge between states, on the pairs that InfoNCE compares, against numbers worked out by hand."""

import pytest
from added_actions import Table, windows

from losses.hinge import AllPairsHinge


def test_all_pairs_hinge_by_hand():
    """Next frames .2 and 4 against the frames 0, .2, 3, 4 (2 d^2 each), the frame itself left out."""
    batch = windows([[[[0.0]], [[0.2]]], [[[3.0]], [[4.0]]]], [[[0.5]], [[1.0]]])
    terms = AllPairsHinge()(Table(), batch)
    assert terms["positive"].item() == pytest.approx((2 * 0.3**2 + 0) / 2, rel=1e-4)
    assert terms["negative"].item() == pytest.approx((1 - 2 * 0.2**2 + 0) / 2, rel=1e-4)  # .2 to 0; 4 to 3 lies outside
    same = windows([[[[0.0]], [[0.2]]], [[[3.0]], [[4.0]]]], [[[0.5]], [[1.0]]], [[7, 7], [8, 9]])
    assert AllPairsHinge()(Table(), same)["negative"].item() == 0.0  # an equal picture is no negative


def test_energies_are_means_over_slots():
    """Two slots that are alike cost what one of them does."""
    frames, actions = [[[[0.0]], [[0.2]]], [[[3.0]], [[4.0]]]], [[[0.5]], [[1.0]]]
    twice = [[slots * 2 for slots in window] for window in frames]
    one, two = (AllPairsHinge()(Table(), windows(told, actions)) for told in (frames, twice))
    assert all(one[name].item() == pytest.approx(two[name].item(), rel=1e-5) for name in one)


def test_a_constant_offset_does_not_satisfy_the_all_pairs_hinge():
    """A hinge between predictions and frames rests at "next state plus a constant": states that tell nothing apart then
    cost as little as states far apart, and a collapsed encoder goes unpunished."""
    collapsed = windows([[[[0.0]], [[0.0]]], [[[0.0]], [[0.0]]]], [[[0.0]], [[0.0]]])
    shifted = windows([[[[0.0]], [[0.0]]], [[[0.0]], [[0.0]]]], [[[0.5**0.5]], [[0.5**0.5]]])  # by the margin: energy 1
    still, moved = (sum(AllPairsHinge()(Table(), batch).values()).item() for batch in (collapsed, shifted))
    assert still == pytest.approx(1.0) and moved == pytest.approx(2.0)  # the old form paid 3 and 1
