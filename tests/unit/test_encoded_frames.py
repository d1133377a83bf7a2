"""Which frames of a batch an objective has encoded: each once, and none where its latents are there."""

import pytest
import torch
from test_losses import Table, windows

from losses.contrastive import Contrastive
from losses.hinge import AllPairsHinge
from losses.infonce import InfoNCE
from losses.nll import LatentPrediction
from models.interfaces import Batch


@pytest.mark.parametrize("objective", [Contrastive(), InfoNCE(), AllPairsHinge()])
def test_every_frame_is_encoded_once(objective):
    """A window of T steps costs T + 1 encodings, not 2 T."""
    model = Table()
    objective(model, windows(torch.randn(3, 5, 2, 4).tolist(), torch.zeros(3, 4, 4).tolist()))
    assert model.encoded == 15


@pytest.mark.parametrize("objective", [Contrastive(), InfoNCE(), AllPairsHinge(), LatentPrediction()])
def test_a_frame_equal_to_the_one_before_is_not_encoded_again(objective, monkeypatch):
    """Half the work where actions change nothing, and the same terms; a frame that comes back later is encoded anew."""
    z = torch.randn(3, 2, 4)
    seen = z[[0, 0, 1, 0, 2, 2, 2, 0]].view(2, 4, 2, 4)
    batch = windows(seen.tolist(), torch.zeros(2, 3, 4).tolist())
    batch.obs_id = torch.tensor([[0, 0, 1, 0], [2, 2, 2, 0]])
    model = Table()
    torch.manual_seed(0)
    terms = objective(model, batch)
    assert model.encoded == 5 and terms
    monkeypatch.setattr("losses.objective.distinct_frames", lambda obs, obs_id: (obs.flatten(0, 1), torch.arange(8)))
    every = Table()
    torch.manual_seed(0)
    assert {name: term.item() for name, term in objective(every, batch).items()} == {
        name: term.item() for name, term in terms.items()
    }
    assert every.encoded == 8


@pytest.mark.parametrize("objective", [Contrastive(), InfoNCE(), LatentPrediction()])
def test_kept_latents_replace_encoding(objective):
    """Codes computed beforehand are used as they are."""
    model, z = Table(), torch.randn(3, 2, 2, 4)
    objective(model, Batch(None, torch.zeros(3, 1, 4), torch.arange(6).view(3, 2), z))
    assert model.encoded == 0
