"""Colours that an encoder makes one: seen pair by pair, where the mean over an object's colours looks well."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from envs.chemistry import ChemistryWorld
from eval.probes.nearest_colors import color_gaps, nearest_colors
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
    assert [set(of) for of in whole] == [set(combinations(range(4), 2))] * 3
    gaps = [gap for of in whole for gap in of.values()]
    assert np.allclose(gaps, gaps[0]) and gaps[0] > 0.2, "one-hot colours are all equally far apart"
    assert [[pair for pair, gap in of.items() if gap == 0] for of in merged] == [[], [], [(1, 3)]]
    assert min(sensitivities(Encoder(2), pairs(WORLD)).values()) > 0.2


@pytest.mark.parametrize("thing", [None, 0])
def test_the_probe_names_the_two(thing):
    data = SimpleNamespace(arrays={})
    found = nearest_colors.measure(SimpleNamespace(model=Encoder(thing), world=WORLD), data)
    assert (found["test/color_gap"] == 0) == (thing == 0)
    if thing == 0:
        assert (
            data.arrays["nearest_colors"]["0"] == {"colors": [1, 3], "gap": 0.0}
            and data.arrays["nearest_colors"]["1"]["gap"] > 0.2
        )


def test_a_latent_of_nothing_is_no_division_by_zero():
    class Nothing:
        device = "cpu"

        def encode(self, obs):
            return torch.zeros(len(obs), 1, 2)

    assert {gap for of in color_gaps(Nothing(), WORLD) for gap in of.values()} == {0.0}
