"""InfoNCE against numbers worked out by hand, and what it asks of a model."""

import math
from types import SimpleNamespace

import pytest
import torch
from added_actions import Table, windows

from losses.infonce import InfoNCE, squared_distances
from models.interfaces import Batch
from models.transitions.causal import CausalTransition


def test_squared_distances():
    """Equal to the naive ones and never negative, even where they cancel."""
    a, b = torch.randn(5, 3), torch.randn(7, 3)
    assert torch.allclose(squared_distances(a, b), (a[:, None] - b[None]).pow(2).sum(-1), atol=1e-5)
    big = torch.full((4, 3), 1000.3)
    assert (squared_distances(big, big) >= 0).all()


def test_infonce_by_hand():
    """One window 0 -> 1 -> 3 with actions +1, +1: softmax over frames (forward) and over predictions (backward)."""
    terms = InfoNCE()(Table(), windows([[[[0.0]], [[1.0]], [[3.0]]]], [[[1.0], [1.0]]]))
    # predictions 1 and 2; squared distances to the frames 0, 1, 3: (1, 0, 4) and (4, 1, 1)
    forward = [-math.log(1 / (math.exp(-1) + 1 + math.exp(-4))), -math.log(math.exp(-1) / (math.exp(-4) + 2 * math.exp(-1)))]
    # frames 1 and 3 against predictions 1, 2: (0, 1) and (4, 1)
    backward = [-math.log(1 / (1 + math.exp(-1))), -math.log(math.exp(-1) / (math.exp(-4) + math.exp(-1)))]
    assert terms["forward"].item() == pytest.approx(sum(forward) / 2, rel=1e-5)
    assert terms["backward"].item() == pytest.approx(sum(backward) / 2, rel=1e-5)
    assert terms["squared"].item() == pytest.approx((0 + 1) / 2)


def test_infonce_masks_twins():
    """A frame with the true one's picture is no negative; with another name it is one."""
    frames, actions = [[[[0.0]], [[0.0]]]], [[[0.0]]]
    assert InfoNCE()(Table(), windows(frames, actions, [[4, 4]]))["forward"].item() == pytest.approx(0.0)
    assert InfoNCE()(Table(), windows(frames, actions, [[4, 5]]))["forward"].item() == pytest.approx(math.log(2))


def test_infonce_masks_twins_of_other_windows():
    """Twins are found across the batch, and in the backward direction too."""
    frames, actions = [[[[0.0]], [[1.0]]], [[[0.0]], [[1.0]]]], [[[1.0]], [[1.0]]]
    apart = InfoNCE()(Table(), windows(frames, actions))
    twins = InfoNCE()(Table(), windows(frames, actions, [[0, 1], [0, 1]]))
    assert twins["backward"].item() == pytest.approx(0.0)
    assert apart["backward"].item() == pytest.approx(math.log(2))
    # candidates of prediction 1: frames 0, 0 and itself; without the mask its twin as well
    assert twins["forward"].item() == pytest.approx(math.log(1 + 2 * math.exp(-1)), rel=1e-5)
    assert apart["forward"].item() == pytest.approx(math.log(2 + 2 * math.exp(-1)), rel=1e-5)


def test_infonce_without_its_own_window():
    """Only other windows' frames are negatives then: the window 0 -> 1 alone has none, the second window's frames stay."""
    alone = windows([[[[0.0]], [[1.0]]]], [[[0.5]]])
    assert InfoNCE(own_window=False)(Table(), alone)["forward"].item() == pytest.approx(0.0)
    assert InfoNCE()(Table(), alone)["forward"].item() == pytest.approx(math.log(2))
    longer = windows([[[[0.0]], [[1.0]], [[3.0]]]], [[[1.0], [1.0]]])  # two predictions of one window
    assert InfoNCE(own_window=False)(Table(), longer)["backward"].item() == pytest.approx(0.0)
    assert InfoNCE()(Table(), longer)["backward"].item() > 0.01
    both = windows([[[[0.0]], [[1.0]]], [[[5.0]], [[1.0]]]], [[[1.0]], [[-4.0]]])
    # predictions 1 and 1; candidates of the first: its true 1, and 5, 1 of the other window; of the second: its 1, and 0, 1
    first = math.log(2 + math.exp(-16))
    second = math.log(2 + math.exp(-1))
    assert InfoNCE(own_window=False)(Table(), both)["forward"].item() == pytest.approx((first + second) / 2, rel=1e-5)


def test_infonce_at_few_frames_encodes_no_others_and_compares_after_as_many_steps():
    """Every prediction is the one of its step: all are right here, and a wrong pairing would be squared error. Other batches
    draw other frames, the same batch the same, and a model that is scored is compared everywhere."""
    model, loss = Table(), InfoNCE(open_loop=True, later=2)
    model.transition, model.rollout = model, lambda latent, actions: latent[:, None] + actions.cumsum(1)[:, :, None]
    frames = torch.arange(0, 1.1, 0.1).pow(2).view(1, 11, 1, 1).expand(3, -1, -1, -1)
    seen = []
    for first in range(8):
        batch = Batch(frames, frames.diff(dim=1)[..., 0], first + torch.arange(33).view(3, 11))
        model.encoded = 0
        terms = loss(model, batch)
        assert model.encoded == 9 and terms["squared"] < 1e-12  # 3 windows, their first frame and two later ones
        assert loss(model, batch) == terms
        seen.append(terms["forward"].item())
    assert len(set(seen)) > 3
    model.training, model.encoded = False, 0
    assert loss(model, batch)["squared"] < 1e-12 and model.encoded == 33


@pytest.mark.parametrize("wrong", [{"later": 2}, {"later": 0, "open_loop": True}, {"later": "few", "open_loop": True},
                                   {"later": True, "open_loop": True}])  # fmt: skip
def test_few_frames_of_no_open_loop_are_refused(wrong):
    with pytest.raises(ValueError, match="set loss.later="):
        InfoNCE(**wrong)


def test_a_transition_that_learns_from_every_step_needs_every_frame():
    """Seen: model=causal read the changes between frames three steps apart with the actions of others, and ended in a shape."""
    model = SimpleNamespace(encoder=None, transition=CausalTransition(3, 9, 8))
    needs = {later: list(InfoNCE(open_loop=True, later=later).needs(model, None)) for later in (3, None)}
    assert all(met for met, _ in needs[None])
    assert [said for met, said in needs[3] if not met] == ["CausalTransition learns its graph from every step of a window, and "
                                                           "loss.later=3 leaves frames out; set loss.later=null"]  # fmt: skip
