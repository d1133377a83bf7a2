"""Ways of rating for simulated participants: perfect, noisy, random, lazy."""

import random
from collections.abc import Callable

RIGHT = 0.88  # share of clips that a noisy participant takes for what they are
SPREAD = 14  # of their ratings around a belief

Rater = Callable[[str, bool], int]  # clip id, whether it is surprising -> 0..100


def perfect(rng: random.Random) -> Rater:
    """Rates every clip on its own side."""
    return lambda clip, surprising: rng.randint(78, 100) if surprising else rng.randint(0, 22)


def noisy(rng: random.Random) -> Rater:
    """Takes some clips for the other kind, and rates around that belief, which stays when the clip comes again."""
    beliefs = {}

    def rate(clip: str, surprising: bool) -> int:
        belief = beliefs.setdefault(clip, surprising if rng.random() < RIGHT else not surprising)
        return min(100, max(0, round(rng.gauss(78 if belief else 22, SPREAD))))

    return rate


def guessing(rng: random.Random) -> Rater:
    """Any value with the same chance."""
    return lambda clip, surprising: rng.randint(0, 100)


def lazy(rng: random.Random) -> Rater:
    """One value for everything, as fast as the pages allow."""
    value = rng.choice([0, 50, 100])
    return lambda clip, surprising: value


RATERS = {"perfect": perfect, "noisy": noisy, "random": guessing, "lazy": lazy}
