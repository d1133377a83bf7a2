"""Slots that compete for places, and slots that are hidden: slot attention, the transformer."""

import pytest
import torch

from models.encoders.slot_attention import SlotAttention
from models.transitions.transformer import TransformerTransition


def test_hidden_objects_tell_nothing_in_training():
    torch.manual_seed(0)
    transition = TransformerTransition(3, 4, width=5, hidden_share=0.999999).train()
    latent, other, action = torch.randn(2, 3, 5), torch.randn(2, 3, 5), torch.randn(2, 4)
    change, another = (transition(z, action) - z for z in (latent, other))
    assert torch.allclose(change, another, atol=1e-5), "nothing of a hidden latent is read"
    seen, elsewhere = (transition.eval()(z, action) - z for z in (latent, other))
    assert not torch.allclose(seen, elsewhere, atol=1e-3), "outside of training nothing is hidden"


def test_objects_are_hidden_one_by_one():
    """Of three, each with an even chance: one alone in three of eight boards, not all or none."""
    torch.manual_seed(0)
    transition, seen = TransformerTransition(3, 4, width=5, hidden_share=0.5).train(), []
    transition.layers.register_forward_pre_hook(lambda layers, given: seen.append(given[0] - transition.slot))
    transition(torch.randn(4000, 3, 5), torch.randn(4000, 4))
    hidden = torch.isclose(seen[0], transition.unseen, atol=1e-6).all(-1).sum(1)
    assert (hidden == 1).float().mean().item() == pytest.approx(3 / 8, abs=0.03)


@torch.no_grad()
def test_slots_compete_for_places():
    """Of a place the shares sum to 1; a slot takes the mean of places by its shares, here in one round by hand."""
    torch.manual_seed(0)
    encoder, obs = SlotAttention(3, (50, 50, 3), iterations=1).eval(), torch.rand(2, 3, 50, 50)
    slots, share = encoder.attend(obs)
    assert slots.shape == (2, 3, 64) and share.shape == (2, 3, 169)
    assert torch.allclose(share.sum(1), torch.ones(2, 169), atol=1e-5)
    value = encoder.value(encoder.norm_places(encoder.read(encoder.look(obs).flatten(2).mT + encoder.places)))
    for k in range(3):
        taken = (share[:, k, :, None] * value).sum(1) / share[:, k].sum(1, keepdim=True)
        after = encoder.update(taken, encoder.queries[k].expand(2, -1))
        torch.testing.assert_close(slots[:, k], after + encoder.refine(after), rtol=1e-3, atol=1e-4)
