"""Which colours of an object lie in one place: how far apart two states lie in latent space in which it has one colour and another.

The smallest gap of an object (eval/probes/sensitivity.py) is a mean over its colours, and does not show that two of them are one.
Where chance decides between colours, a loss that wants predictable latents may put them in one place.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from envs.protocols import CausalTables, Simulator
from envs.streams import Stream
from eval.probes.probe import Row, probe
from eval.rollouts import encode_frames

STATES = 128


def color_gaps(model, world, states: int = STATES) -> np.ndarray:
    """(N, C, C): mean squared latent distance of states that differ in the colour of one object, as a share of that of two random ones."""
    some = world.reset(states, Stream.GAPS.rng(), "train")

    def encoded(colors: np.ndarray) -> np.ndarray:
        return encode_frames(model, world.observe(replace(some, colors=colors))).flatten(1).double().numpy()

    base = encoded(some.colors)
    random_pair = np.square(base - np.roll(base, 1, 0)).sum(1).mean()
    found = np.zeros((world.spec.objects, world.num_colors, world.num_colors))
    for thing in range(world.spec.objects):
        of_color = []
        for color in range(world.num_colors):
            colors = some.colors.copy()
            colors[:, thing] = color
            of_color.append(encoded(colors))
        for a, b in combinations(range(world.num_colors), 2):
            found[thing, a, b] = found[thing, b, a] = np.square(of_color[a] - of_color[b]).sum(1).mean()
    return found / max(random_pair, 1e-12)


@probe(
    needs=(CausalTables, Simulator), by_name=True,
    rows=(Row("test/color_gap", "smallest gap of two colours of one object, % of a random pair", "health", percent=False, scale=100),),
)  # fmt: skip
def nearest_colors(run, data) -> dict[str, float]:
    """The smallest of all, as a share; the nearest two colours of every object go into `nearest_colors` of the results."""
    found = color_gaps(run.model, run.world)
    nearest = [min(combinations(range(len(of)), 2), key=lambda pair: of[pair]) for of in found]
    data.arrays["nearest_colors"] = {
        str(thing): {"colors": list(pair), "gap": round(float(of[pair]), 4)} for thing, (of, pair) in enumerate(zip(found, nearest))
    }
    return {"test/color_gap": float(min(of[pair] for of, pair in zip(found, nearest)))}
