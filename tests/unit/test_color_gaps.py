"""Colours that an encoder makes one: seen pair by pair, where the mean over an object's colours looks well."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from envs.chemistry import ChemistryWorld
from eval.probes.color_gaps import color_gaps, nearest_colors
from eval.probes.sensitivity import pairs, sensitivities

WORLD = ChemistryWorld(num_objects=3, num_colors=4, graph="chain3", observation="state")


class Encoder:
    """Colours as they are, but that object `thing` has one latent for colours 1 and 3."""

    device = "cpu"

    def __init__(self, thing=None):
        self.thing = thing

    def encode(self, obs):
        latent = obs.float().clone()
        if self.thing is not None:
            latent[:, self.thing, 1] += latent[:, self.thing, 3]
            latent[:, self.thing, 3] = 0
        return latent


def test_equal_colors_are_found():
    """Two colours of the last object in one place: no distance there, and a mean gap that says nothing of it."""
    whole, merged = (color_gaps(Encoder(thing), WORLD) for thing in (None, 2))
    assert whole.shape == (3, 4, 4) and np.allclose(whole, whole.transpose(0, 2, 1))
    apart = ~np.eye(4, dtype=bool)
    assert np.allclose(whole[:, apart], whole[0, 0, 1]) and whole[0, 0, 1] > 0.2, "one-hot colours are all equally far apart"
    assert merged[2, 1, 3] == 0 and (merged[2][apart] > 0).sum() == 10 and (merged[:2, apart] > 0).all()
    assert min(sensitivities(Encoder(2), pairs(WORLD)).values()) > 0.2


@pytest.mark.parametrize("thing", [None, 0])
def test_the_probe_names_the_two(thing):
    data = SimpleNamespace(arrays={})
    found = nearest_colors.measure(SimpleNamespace(model=Encoder(thing), world=WORLD), data)
    assert (found["test/color_gap"] == 0) == (thing == 0)
    if thing == 0:
        assert data.arrays["nearest_colors"]["0"] == {"colors": [1, 3], "gap": 0.0} and data.arrays["nearest_colors"]["1"]["gap"] > 0.2


def test_a_latent_of_nothing_is_no_division_by_zero():
    class Nothing:
        device = "cpu"

        def encode(self, obs):
            return torch.zeros(len(obs), 1, 2)

    assert (color_gaps(Nothing(), WORLD) == 0).all()
