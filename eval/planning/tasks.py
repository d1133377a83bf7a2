"""Tasks of reaching goals, and how a policy is run on them: one action for every board at once.

A policy is told the goals once (`begin`), then at every step the boards and the steps that remain (`act`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from envs.boards import Boards, walk_to_goal
from envs.streams import Stream


@dataclass(frozen=True)
class Tasks:
    """start and goal, E boards each, and the actions (E, T) that made the goals."""

    start: Boards
    goal: Boards
    actions: np.ndarray

    @property
    def horizon(self) -> int:
        return self.actions.shape[1]


def draw_tasks(world, episodes: int, horizon: int, seed: int, mode: str = "train", may_equal_start: bool = False) -> Tasks:
    """Fresh boards with goals `horizon` random actions away; the same for every model."""
    rng = Stream.TASKS.rng(seed, horizon)
    start = world.reset(episodes, rng, mode)
    return Tasks(start, *walk_to_goal(world, start, rng, horizon, may_equal_start))


def has_goals(world) -> bool:
    """Whether a world tells how far its boards are from a goal, and has actions that can be tried one by one."""
    return hasattr(world, "distance") and world.spec.action.discrete


class Policy(Protocol):
    """Chooses an action for every board."""

    def begin(self, tasks: Tasks) -> None: ...
    def act(self, boards: Boards, remaining: int) -> np.ndarray: ...


def reach(world, tasks: Tasks, policy: Policy, seed: int, after_step: Callable[[], None] = lambda: None) -> np.ndarray:
    """Which goals stand after exactly as many steps as made them, (E,) bool. Chance is the same for every policy.

    after_step: called after every step of all episodes.
    """
    rng, boards = Stream.CHANCE.rng(seed, tasks.horizon), tasks.start
    policy.begin(tasks)
    for t in range(tasks.horizon):
        noise = world.noise(len(boards), rng)
        boards, _ = world.step(boards, policy.act(boards, tasks.horizon - t), noise)
        after_step()
    return world.distance(boards, tasks.goal) == 0


def after_every_action(world, boards: Boards, noise) -> Boards:
    """The boards after every action in turn, E * A of them; chance (E, ...) is shared by the actions of a board."""
    count, choices = len(boards), world.spec.action.size
    noise = None if noise is None else np.repeat(noise, choices, 0)
    return world.step(boards.take(np.repeat(np.arange(count), choices)), np.tile(np.arange(choices), count), noise)[0]
