"""Sensitivity: how far apart two states lie in latent space that differ in one variable alone, a health check of any encoder.

A loss that wants predictable latents shrinks what it cannot predict. H@1 shows that late; the smallest gap shows it while
training (recipes: the published hinge loss on chemistry leaves .0004 of a random pair's distance between two colours).
"""

from typing import NamedTuple

import numpy as np
import torch

from envs.protocols import Interventions, Simulator
from envs.streams import Stream
from eval.probes.probe import Row, probe
from eval.rollouts import encode_frames

NEEDS = (Simulator, Interventions)
STATES = 256
SMALL = 0.02  # below this share of a random pair, two states are all but the same to the model


class Pairs(NamedTuple):
    """What is shown of B states, (B, ...), and of the same states with another value of one variable, by its name.

    Variables that the observation does not show, as a mass, are left out: no encoder could tell them.
    """

    base: np.ndarray
    altered: dict[str, np.ndarray]


def pairs(world, states: int = STATES) -> Pairs:
    """The same ones for every model; none of a world whose starts all look alike, where two random states are one."""
    rng = Stream.GAPS.rng()
    some = world.reset(states, rng, "train")
    base = world.observe(some)
    if (base == base[0]).all():
        return Pairs(base, {})
    altered = {name: world.observe(world.intervene(some, name, rng)) for name in world.variables(some)}
    return Pairs(base, {name: obs for name, obs in altered.items() if not np.array_equal(obs, base)})


def sensitivities(model, asked: Pairs) -> dict[str, float]:
    """For each variable, the mean squared latent distance of states that differ in it alone, as a share of that of two
    random states."""
    base = encode_frames(model, asked.base).flatten(1).double()
    others = {name: encode_frames(model, obs).flatten(1).double() for name, obs in asked.altered.items()}
    return {name: of_random_pair(other, base, base) for name, other in others.items()}


def of_random_pair(one: torch.Tensor, other: torch.Tensor, some: torch.Tensor) -> float:
    """Mean squared distance of latents (B, F) from their counterparts, as a share of that of random pairs of `some` (B, F)."""
    random_pair = (some - some.roll(1, 0)).pow(2).sum(1).mean().clamp(min=1e-12)
    return float((one - other).pow(2).sum(1).mean() / random_pair)


@probe(
    needs=NEEDS,
    rows=(Row("test/smallest_gap", "smallest gap of one object, % of a random pair", "health", percent=False, scale=100),),
)
def sensitivity(run, data) -> dict[str, float]:
    """The smallest gap, as a share; that of every variable goes into `sensitivity` of the results."""
    found = sensitivities(run.model, pairs(run.world))
    data.arrays["sensitivity"] = {name: round(gap, 4) for name, gap in found.items()}
    return {"test/smallest_gap": min(found.values())} if found else {}
