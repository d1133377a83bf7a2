"""Streams of random numbers: one name for each purpose, so that no two purposes share numbers.

numpy pads seeds with zeros: default_rng(1), default_rng([1]) and default_rng([1, 0]) are one generator. A name therefore
stands first, and it is larger than the seeds of data, whose blocks are drawn from [seed of the split, block]: these end at
6999 (configs/ranges.py).
"""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What the numbers are for."""

    TASKS = 7001  # starts and goals to plan for
    CHANCE = 7002  # of the world while a planner acts
    RANDOM = 7003  # the policy that acts at random
    GREEDY = 7004  # chance that the true world's planner imagines
    SIMULATOR = 7005
    EPISODES = 7006  # of agents without a model
    TABLES = 7007  # of a causal model
    DELAYS = 7008
    NUMBERING = 7009
    ASKED = 7010  # which episodes are asked what if
    COUNTERFACTUAL = 7011  # the step that is replaced, and the chance that is shared
    ALTERNATIVES = 7012  # what else might have happened to a board
    ROLLOUTS = 7013  # of the true model, whose mean is a score
    ANSWERS = 7014  # chance where the true model is asked what moves what
    STRENGTHS = 7015  # which transitions tell how strong an edge is
    ORDER = 7016  # boards on which a planner asks what moves what
    GAPS = 7017  # boards that differ in one object
    NOISY = 7018  # which objects are shown as noise, and the noise
    NOISY_TRUTH = 7019
    PAIRS = 7020  # frames whose distance is learned
    HELD_OUT_PAIRS = 7021
    PICTURES = 7022  # which cases a page shows
    CANDIDATES = 7023  # plans that a planner draws
    CAUSES = 7025  # values that causes are set to
    ORDERS = 7026  # of weights, of which there are too many to ask all

    def rng(self, *seeds: int) -> np.random.Generator:
        """The generator of this purpose and these seeds."""
        return np.random.default_rng([self, *seeds])
