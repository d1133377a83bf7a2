"""Boards of chemistry in the middle of an episode, and whether two batches of them are equal."""

import numpy as np

RNG = np.random.default_rng


def walked(world, count=20, steps=6, seed=0):
    """Boards after some random actions, with effects on their way where the world has delays."""
    rng = RNG(seed)
    boards = world.reset(count, rng)
    for _ in range(steps):
        boards, _ = world.step(boards, rng.integers(0, world.spec.action.size, count), world.noise(count, rng))
    return boards


def same(one, other):
    """Whether two batches of boards are equal in every field."""
    return all(np.array_equal(getattr(one, f), getattr(other, f)) for f in ("positions", "colors", "waiting"))
