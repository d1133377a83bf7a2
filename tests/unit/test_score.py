"""What a score says about the latents themselves."""

import pytest
import torch

from eval.probes.latents import weakest_slot


@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0])
def test_weakest_slot_by_hand(scale):
    """A slot that varies half as much as the other scores 50, a still one 0; where it stands does not count."""
    one = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    latent = torch.stack([one, 7 + scale * one], 1)
    assert weakest_slot(latent) == pytest.approx(100 * min(scale, 1 / max(scale, 1e-12)), abs=1e-3)


def test_collapsed_slots_are_weak():
    """No spread anywhere is no number out of nothing."""
    assert weakest_slot(torch.ones(5, 3, 2)) == 0
