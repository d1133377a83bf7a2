"""Oracles without a model: the true world's own planner, the replay of what made the goal, and floors."""

import numpy as np

from envs.protocols import Goals, Painting, Simulator, State
from envs.streams import Stream
from eval.planning.actions import every_action, random_actions
from eval.planning.tasks import Oracle, Tasks

SAMPLES = 16  # of chance, where the true world plans


def after_every_action(world: Simulator, state: State, noise) -> State:
    """The states after every action in turn, E * A of them; chance (E, ...) is shared by the actions of a state."""
    count, every = len(state), every_action(world.spec.action)
    noise = None if noise is None else np.repeat(noise, len(every), 0)
    return world.step(state.take(np.repeat(np.arange(count), len(every))), np.tile(every, count), noise)[0]


def greedy(world: Goals, state: State, goal: State, rng: np.random.Generator, samples: int = SAMPLES) -> np.ndarray:
    """The action after which the true world expects the smallest distance to the goal, (E,)."""
    count, choices = len(state), len(every_action(world.spec.action))
    aim, expected = goal.take(np.repeat(np.arange(count), choices)), np.zeros(count * choices)
    for _ in range(samples):
        noise = world.noise(count, rng)
        expected += world.distance(after_every_action(world, state, noise), aim)
        if noise is None:
            break
    return expected.reshape(count, choices).argmin(1)


class Random(Oracle):
    """Floor."""

    def __init__(self, world: Simulator, seed: int) -> None:
        self.action, self.seed = world.spec.action, seed

    def begin(self, tasks: Tasks) -> None:
        self.rng = Stream.RANDOM.rng(self.seed)

    def act(self, state: State, remaining: int) -> np.ndarray:
        return random_actions(self.action, self.rng, (len(state),))


class LowestWrong(Oracle):
    """Floor: the lowest-numbered object of a wrong colour is painted; where none is wrong, the last one.

    It knows no causes. Where objects are numbered in causal order it puts causes before effects all the same.
    """

    def __init__(self, world: Painting) -> None:
        self.num_colors = world.num_colors

    def begin(self, tasks: Tasks) -> None:
        self.goal = tasks.goal

    def act(self, state: State, remaining: int) -> np.ndarray:
        wrong = state.colors != self.goal.colors
        first = np.where(wrong.any(1), wrong.argmax(1), wrong.shape[1] - 1)
        return first * self.num_colors + self.goal.colors[np.arange(len(first)), first].astype(np.int64)


class Replay(Oracle):
    """The actions that made the goal: certain where there is no chance; where there is, often far below the best plan."""

    def begin(self, tasks: Tasks) -> None:
        self.actions = tasks.actions

    def act(self, state: State, remaining: int) -> np.ndarray:
        return self.actions[:, -remaining]


class TrueGreedy(Oracle):
    """One step ahead with the true world and the true distance."""

    def __init__(self, world: Goals, seed: int) -> None:
        self.world, self.seed = world, seed

    def begin(self, tasks: Tasks) -> None:
        self.goal, self.rng = tasks.goal, Stream.GREEDY.rng(self.seed)

    def act(self, state: State, remaining: int) -> np.ndarray:
        return greedy(self.world, state, self.goal, self.rng)
