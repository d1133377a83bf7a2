"""How far apart two boards lie in latent space that differ in one object alone: a health check of any encoder.

A loss that wants predictable latents shrinks what it cannot predict. H@1 shows that late; the smallest gap shows it while
training (recipes: the published hinge loss on chemistry leaves .0004 of a random pair's distance between two colours).
"""

import numpy as np
import torch

from envs.streams import Stream
from eval.rollouts import encode_frames

BOARDS = 256
SMALL = 0.02  # below this share of a random pair, two boards are all but the same to the model


def one_object_gaps(model, world, boards: int = BOARDS) -> np.ndarray:
    """For each object, the mean squared latent distance of boards that differ in it alone (another colour, another cell),
    as a share of that of two random boards.  (N,), the same boards for every model."""
    rng = Stream.GAPS.rng()
    some = world.reset(boards, rng, "train")
    base = encode_frames(model, world.observe(some)).flatten(1).double()
    order = torch.from_numpy(np.roll(np.arange(boards), 1))
    random_pair = (base - base[order]).pow(2).sum(1).mean()
    gaps = []
    for variable in world.variables(some):
        other = encode_frames(model, world.observe(world.intervene(some, variable, rng))).flatten(1).double()
        gaps.append(float((other - base).pow(2).sum(1).mean() / random_pair.clamp(min=1e-12)))
    return np.array(gaps)
