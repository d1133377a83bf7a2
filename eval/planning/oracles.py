"""Policies without a model: the true world's own planner, the replay of what made the goal, and floors."""

import numpy as np

from envs.boards import Boards
from envs.streams import Stream
from eval.planning.tasks import Tasks, after_every_action

SAMPLES = 16  # of chance, where the true world plans


def greedy(world, boards: Boards, goal: Boards, rng: np.random.Generator, samples: int = SAMPLES) -> np.ndarray:
    """The action after which the true world expects the smallest distance to the goal, (E,)."""
    count, choices = len(boards), world.spec.action.size
    aim, expected = goal.take(np.repeat(np.arange(count), choices)), np.zeros(count * choices)
    for _ in range(samples):
        noise = world.noise(count, rng)
        expected += world.distance(after_every_action(world, boards, noise), aim)
        if noise is None:
            break
    return expected.reshape(count, choices).argmin(1)


class Random:
    """Floor."""

    def __init__(self, world, seed: int) -> None:
        self.choices, self.rng = world.spec.action.size, Stream.RANDOM.rng(seed)

    def begin(self, tasks: Tasks) -> None: ...

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        return self.rng.integers(0, self.choices, len(boards))


class LowestWrong:
    """Floor: the lowest-numbered object of a wrong colour is painted; where none is wrong, the last one.

    It knows no causes. Where objects are numbered in causal order it puts causes before effects all the same.
    """

    def __init__(self, world) -> None:
        self.num_colors = world.num_colors

    def begin(self, tasks: Tasks) -> None:
        self.goal = tasks.goal

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        wrong = boards.colors != self.goal.colors
        first = np.where(wrong.any(1), wrong.argmax(1), wrong.shape[1] - 1)
        return first * self.num_colors + self.goal.colors[np.arange(len(first)), first].astype(np.int64)


class Replay:
    """The actions that made the goal: certain where there is no chance; where there is, often far below the best plan."""

    def begin(self, tasks: Tasks) -> None:
        self.actions = tasks.actions

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        return self.actions[:, -remaining]


class TrueGreedy:
    """One step ahead with the true world and the true distance."""

    def __init__(self, world, seed: int) -> None:
        self.world, self.rng = world, Stream.GREEDY.rng(seed)

    def begin(self, tasks: Tasks) -> None:
        self.goal = tasks.goal

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        return greedy(self.world, boards, self.goal, self.rng)
