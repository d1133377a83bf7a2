"""Actions as numbers, and what each slot is told of them."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F

from losses.inverse_action import commands
from models.actions import ActionLinear, acted, distinct, per_slot, vector
from models.layers.stacked import StackedLinear
from models.transitions.causal import CausalTransition
from models.transitions.gnn import GNNTransition

BOARD = SimpleNamespace(size=6, discrete=True, owners=3)
TORQUES = SimpleNamespace(size=9, discrete=False, owners=1)
VIDEO = SimpleNamespace(size=0, discrete=False, owners=1)


def test_columns_become_floats():
    """An index is one-hot, torques stay what they are in single precision, and a video has nothing."""
    assert torch.equal(vector(torch.tensor([[5, 0]]), BOARD), torch.eye(6)[[5, 0]][None])
    assert torch.equal(vector(torch.tensor([2], dtype=torch.uint8), BOARD), torch.eye(6)[[2]])
    torques = torch.randn(4, 3, 9, dtype=torch.float64)
    assert torch.equal(vector(torques, TORQUES), torques.float())
    assert vector(torch.zeros(4, 3, 0), VIDEO).shape == (4, 3, 0)
    same = torch.randn(4, 9)
    assert vector(same, TORQUES) is same  # nothing is copied


@pytest.mark.parametrize("raw, action, sentence", [
    (torch.rand(3), BOARD, "discrete actions are whole numbers below 6, got a column of torch.float32"),
    (torch.zeros(3, 4), TORQUES, r"actions are vectors \(..., 9\), got a column of shape \(3, 4\)"),
    (torch.zeros(3), VIDEO, r"actions are vectors \(..., 0\), got a column of shape \(3,\)"),
])  # fmt: skip
def test_columns_of_another_kind_are_refused(raw, action, sentence):
    """A column that does not fit the spec is no action."""
    with pytest.raises(ValueError, match=sentence):
        vector(raw, action)


def test_every_slot_is_told_its_own():
    """Own blocks, zeros for slots without an owner, copies, nothing; with any axes in front."""
    action = torch.arange(12.0).view(2, 6)
    assert per_slot(action, 3, 3)[1].tolist() == [[6, 7], [8, 9], [10, 11]]
    assert per_slot(action, 2, 3)[0].tolist() == [[0, 1, 2], [3, 4, 5], [0, 0, 0]]
    assert per_slot(action, 1, 2)[0].tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    for owners in (1, 2, 4):
        assert per_slot(torch.zeros(2, 0), owners, 3).shape == (2, 3, 0)
    assert per_slot(action.expand(5, 2, 6), 3, 3).shape == (5, 2, 3, 2)


@pytest.mark.parametrize("owners", [1, 3])
def test_blocks_and_copies_are_views(owners):
    """The hot path moves no numbers, also where the action is a part of a window."""
    action = torch.randn(2, 4, 6)[:, 1]
    assert per_slot(action, owners, 3).untyped_storage().data_ptr() == action.untyped_storage().data_ptr()


@pytest.mark.parametrize("make", [
    lambda size, owners, slots: per_slot(torch.zeros(2, size), owners, slots),
    lambda size, owners, slots: GNNTransition(slots, size, 4, 8, owners=owners),
    lambda size, owners, slots: CausalTransition(slots, size, 4, 8, owners=owners),
])  # fmt: skip
def test_what_cannot_be_shared_out_is_refused(make):
    """Fewer slots than owners, and blocks that are not equal: one sentence, from transitions before any step."""
    with pytest.raises(ValueError, match="^actions belong to 3 objects and the model has 2 slots; expected a slot for each"):
        make(6, 3, 2)
    with pytest.raises(ValueError, match="^an action of 9 numbers has no 4 equal blocks; set owners=1 if"):
        make(9, 4, 4)


def test_who_is_acted_on():
    """The owner of a one-hot action with exactly 1, by strength of torques, nobody where nobody owns."""
    assert torch.equal(acted(torch.eye(6), 3, 3), torch.eye(3).repeat_interleave(2, 0))
    assert acted(torch.tensor([3.0, -4.0, 0.0, 0.0]), 2, 3).tolist() == [5, 0, 0]
    assert acted(torch.ones(2, 6), 1, 3).tolist() == [[0, 0, 0]] * 2
    assert acted(torch.ones(2, 4), 1, 1).tolist() == [[2]] * 2
    assert acted(torch.zeros(2, 0), 3, 3).tolist() == [[0, 0, 0]] * 2


@pytest.mark.parametrize("size, owners", [(6, 3), (6, 1), (4, 2), (0, 1)])
def test_distinct_blocks_are_all_blocks(size, owners):
    """No two of them are equal, and their index gives back what every slot was told."""
    blocks = per_slot(torch.eye(size) if size else torch.zeros(5, 0), owners, 3)
    found, index = distinct(blocks)
    assert torch.equal(found[index], blocks) and len(found.unique(dim=0) if size else found) == len(found)


def test_no_command_in_a_video():
    """The inverse-action loss says what it lacks; it was an error about an empty maximum."""
    assert [int(x) for x in commands(F.one_hot(torch.tensor(7), 10).float(), 2)] == [1, 2]
    with pytest.raises(ValueError, match="this world has none; expected discrete actions"):
        commands(torch.zeros(2, 0), 2)


@pytest.mark.filterwarnings("error")
def test_layers_of_no_inputs_are_their_bias():
    """Layers that read actions start at zero and learn their bias, without torch's warning about empty weights."""
    for layer, x in ((ActionLinear(0, 3), torch.zeros(2, 0)), (StackedLinear(2, 0, 3), torch.zeros(2, 4, 0))):
        assert not layer(x).any()
        layer(x).sum().backward()
        assert layer.bias.grad.any()
