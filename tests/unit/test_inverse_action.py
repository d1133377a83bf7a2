"""Inverse-action codes, their likelihood, whitening, and the gaps that show a collapse."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from envs.chemistry import ChemistryWorld
from eval.probes.sensitivity import SMALL, pairs, sensitivities
from losses.inverse_action import CategoricalLikelihood, InverseAction, commands
from models.encoders import BoardMaps, SlotEncoder
from models.encoders.categorical import CategoricalEncoder
from models.encoders.whitened import WhitenedEncoder
from models.interfaces import Batch, Latent


def test_commands():
    """Action 7 of two slots with five choices is slot 1, choice 2."""
    assert [int(x) for x in commands(F.one_hot(torch.tensor(7), 10).float(), 2)] == [1, 2]


def test_codes_are_one_hot():
    """Every slot is two one-hot codes side by side."""
    latent = CategoricalEncoder(BoardMaps(3, size="patch"), 4)(torch.rand(6, 3, 50, 50)).mean
    assert latent.shape == (6, 3, 29)
    assert (latent[..., :4].sum(-1) == 1).all() and (latent[..., 4:].sum(-1) == 1).all() and latent.max() == 1


class Fixed:
    """A model whose slots look like `logits`, and whose predictions are `predicted`."""

    def __init__(self, logits=None, predicted=None, where=None):
        self.logits, self.predicted, self.where, self.encoder = logits, predicted, where, self
        self.training, self.transition = True, None

    def look(self, obs):
        where = torch.tensor([1.0, 0.0]).expand(len(obs), 2, 2) if self.where is None else self.where
        return self.logits.expand(len(obs), -1, -1), where

    def predict_windows(self, latent, action):
        return self.predicted


def test_inverse_action_reads_the_acted_slot():
    """Only the acted slot's logits count: log 2 for an undecided one, whatever the other says."""
    action = F.one_hot(torch.tensor([[2]]), 4).float()  # slot 1, choice 0
    batch = Batch(torch.zeros(1, 2, 3, 50, 50), action, torch.arange(2)[None])
    terms = InverseAction()(Fixed(torch.tensor([[[9.0, -9.0], [0.0, 0.0]]])), batch)
    assert terms["command"].item() == pytest.approx(math.log(2)) and terms["steady"].item() == 0


def test_slots_that_look_elsewhere_pay():
    """Half the weight in another cell costs log 2 for one of two slots, times the weight."""
    where = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]])  # (frames, slots, cells)
    batch = Batch(torch.zeros(1, 2, 3, 50, 50), F.one_hot(torch.tensor([[2]]), 4).float(), torch.arange(2)[None])
    terms = InverseAction(0.1)(Fixed(torch.zeros(1, 2, 2), where=where), batch)
    assert terms["steady"].item() == pytest.approx(0.1 * math.log(2) / 2)


def test_likelihood_by_hand():
    """Summed over slots, mean over transitions: one certain slot and one undecided among four cost log 4."""
    latent = torch.zeros(1, 2, 2, 5)
    latent[0, 1, 0, 1] = latent[0, 1, 1, 2] = 1
    predicted = torch.zeros(1, 1, 2, 4)
    predicted[0, 0, 0, 1] = 50.0
    batch = Batch(None, torch.zeros(1, 1, 8), torch.arange(2)[None], latent)
    assert CategoricalLikelihood()(Fixed(predicted=predicted), batch)["likelihood"].item() == pytest.approx(
        math.log(4), rel=1e-5
    )


def test_whitening():
    """Directions are uncorrelated and of unit variance over the frames they were set from."""
    torch.manual_seed(0)
    world = ChemistryWorld(movement="dynamic")
    frames = torch.from_numpy(world.render(world.reset(500, np.random.default_rng(0)))).permute(0, 3, 1, 2)
    encoder = WhitenedEncoder(SlotEncoder(BoardMaps(5, size="small"), 8), 40, 5, 2)
    encoder.fit(frames)
    flat = encoder(frames).mean.flatten(1)
    assert torch.allclose(flat.T.cov(), torch.eye(10), atol=2e-2)
    inner = encoder.inner(frames).mean.flatten(1).detach().double()
    most = torch.linalg.eigvalsh(inner.T.cov())[-10:]
    kept = 1 / encoder.directions.double().square().sum(0)  # a direction is one of length 1 over the root of its variance
    assert torch.allclose(kept, most, rtol=1e-2), "those along which frames differ most"


class Blind:
    """Sees every object's cell but the third one's."""

    device = "cpu"

    def encode(self, frames):
        cells = frames.float().unflatten(3, (-1, 10)).unflatten(2, (-1, 10)).mean((3, 5))  # (B, 3, 5, 5)
        cells[:, :, 4, 0] = 0  # the static cell of object 2
        return cells.flatten(1)[:, None]


def test_gaps_show_the_blind_spot():
    """The gap of the object that is not seen (but for a column of pixels beside its cell) is small, and of no other."""
    found = np.array(list(sensitivities(Blind(), pairs(ChemistryWorld(numbering="causal"))).values()))
    assert found[2] < SMALL and (np.delete(found, 2) > 0.1).all()


def test_latent_protocol():
    """Codes are a plain Latent without variance."""
    assert isinstance(CategoricalEncoder(BoardMaps(2, size="patch"), 3)(torch.rand(1, 3, 50, 50)), Latent)
