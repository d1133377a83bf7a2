"""What RIM and SCOFF are made of, against torch's own cells, naive formulas and states worked out by hand."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from models.transitions.blocks import InputAttention, gru, most_interested
from models.transitions.rim import RIM
from models.transitions.scoff import SCOFF

B = 5


@torch.no_grad()
def test_sleeping_blocks_keep_their_state():
    """Of 4 blocks exactly 2 change in every world, those most interested in the input."""
    torch.manual_seed(0)
    core = RIM(24, 24, blocks=4, active=2, key_size=8, value_size=8, heads=2, head_size=4)
    memory, x = torch.randn(B, 24), torch.randn(B, 1, 24)
    after = core(x, memory)[1].view(B, 4, 6)
    changed = (after != memory.view(B, 4, 6)).any(-1)
    key, value = core.read.offer(x)
    interest = core.read(memory.view(B, 4, 6).transpose(0, 1), key[0], value[0])[1][..., 0].T
    assert changed.sum(1).tolist() == [2] * B
    assert interest[changed].view(B, 2).amin(1).ge(interest[~changed].view(B, 2).amax(1)).all()


def test_most_interested_breaks_ties():
    """Equal interest still wakes exactly as many as asked for."""
    assert most_interested(torch.ones(6, 3, 1), 4).sum(0).flatten().tolist() == [4, 4, 4]


def test_gru_is_torchs():
    """The cell behind its linear layers equals nn.GRUCell."""
    torch.manual_seed(0)
    cell, x, h = nn.GRUCell(3, 4), torch.randn(5, 3), torch.randn(5, 4)
    ours = gru(F.linear(x, cell.weight_ih, cell.bias_ih), F.linear(h, cell.weight_hh, cell.bias_hh), h)
    torch.testing.assert_close(ours, cell(x, h))


def test_input_attention_is_a_softmax_with_a_null_input():
    """The sigmoid equals the softmax over [input, zeros] with keys and values of both."""
    torch.manual_seed(0)
    read, h, x = InputAttention(nn.Linear(4, 8), 6, 8, 3), torch.randn(2, 5, 4), torch.randn(5, 1, 6)
    key, value = read.offer(x)
    both = torch.stack([x[:, 0], torch.zeros(5, 6)], 1)  # (B, 2, inputs)
    scores = torch.einsum("kbd,bnd->kbn", read.query(h), read.key(both)) / 8**0.5
    expected = torch.einsum("kbn,bnv->kbv", scores.softmax(-1), read.value(both))
    torch.testing.assert_close(read(h, key[0], value[0])[0], expected)


def test_object_files_part():
    """Files that start alike do not stay alike, and share every weight but their names."""
    torch.manual_seed(0)
    core = SCOFF(24, 24, files=3, active=3, schemata=2, key_size=8, value_size=8, heads=2, head_size=4).eval()
    state = core(torch.randn(1, 3, 24), torch.zeros(1, 24))[1].view(3, 8)
    assert (torch.pdist(state) > 1e-6).all()


def test_schemata_are_chosen_hard():
    """In training as in evaluation a file follows one schema, not a mixture; evaluation draws nothing."""
    torch.manual_seed(0)
    core = SCOFF(24, 24, files=3, active=2, schemata=2, key_size=8, value_size=8, heads=2, head_size=4)
    read, hidden = torch.randn(3, B, 8), torch.randn(3, B, 8)
    of_input, of_hidden = core.from_input(read).unflatten(-1, (2, -1)), core.from_hidden(hidden).unflatten(-1, (2, -1))
    proposals = gru(of_input, of_hidden, hidden[:, :, None])  # (3, B, 2, 8)
    for mode in (True, False):
        led = core.train(mode).follow(read, hidden)
        assert torch.isclose(led[:, :, None], proposals, atol=1e-5).all(-1).any(-1).all()
    assert torch.equal(core.follow(read, hidden), core.follow(read, hidden))


@pytest.mark.parametrize("core", [RIM, SCOFF])
def test_impossible_sizes_are_refused(core):
    """The sentence names the numbers."""
    with pytest.raises(ValueError, match="active=9"):
        core(active=9)
