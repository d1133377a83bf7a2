"""Which colours of an object lie in one place: how far apart two states lie in latent space
in which it has one colour and another.

The smallest gap of an object (eval/probes/sensitivity.py) is a mean over its colours, and does not show that two of them are
one. Where chance decides between colours, a loss that wants predictable latents may put them in one place.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import torch

from envs.protocols import CausalTables, Simulator
from envs.streams import Stream
from eval.probes.probe import Row, probe
from eval.probes.sensitivity import of_random_pair
from eval.rollouts import encode_frames

STATES = 128


def color_gaps(model, world, states: int = STATES) -> list[dict[tuple[int, int], float]]:
    """For each object and two of its colours, the mean squared latent distance of states that differ in these alone, as a share
    of that of two random states."""
    some = world.reset(states, Stream.GAPS.rng(), "train")

    def encoded(colors: np.ndarray) -> torch.Tensor:
        return encode_frames(model, world.observe(replace(some, colors=colors))).flatten(1).double()

    base, found = encoded(some.colors), []
    for thing in range(world.spec.objects):
        own = np.arange(world.spec.objects) == thing
        latents = [encoded(np.where(own, np.int8(color), some.colors)) for color in range(world.num_colors)]
        found.append(
            {(a, b): of_random_pair(latents[a], latents[b], base) for a, b in combinations(range(world.num_colors), 2)}
        )
    return found


@probe(
    needs=(CausalTables, Simulator), by_name=True,
    rows=(Row("test/color_gap", "smallest gap of two colours of one object, % of a random pair", "health",
              percent=False, scale=100),),
)  # fmt: skip
def nearest_colors(run, data) -> dict[str, float]:
    """The smallest of all, as a share; the nearest two colours of every object go into `nearest_colors` of the results."""
    gaps = color_gaps(run.model, run.world)
    nearest = [min(of.items(), key=lambda one: one[1]) for of in gaps]
    data.arrays["nearest_colors"] = {
        str(thing): {"colors": list(pair), "gap": round(gap, 4)} for thing, (pair, gap) in enumerate(nearest)
    }
    return {"test/color_gap": min(gap for _, gap in nearest)}
