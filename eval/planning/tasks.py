"""Goal-reaching tasks, what acts on them, and the one loop that plays them: an action for every episode at once.

A `Policy` sees what models are shown. An `Oracle` is a bound or a floor: it is given tasks and true states. `play` tells
them apart, and nothing else does.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from envs.protocols import Goals, OwnGoals, State
from envs.streams import Stream
from eval.planning.actions import countable

TASKS = ("walk", "own")  # goals are states that random actions lead to | those of the task itself


@dataclass(frozen=True)
class Tasks:
    """start and goal, E states each, and the actions (E, T, ...) that made the goals."""

    start: State
    goal: State
    actions: np.ndarray

    @property
    def horizon(self) -> int:
        return self.actions.shape[1]


def draw_tasks(
    world: Goals, episodes: int, horizon: int, seed: int, mode: str = "train", may_equal_start: bool = False
) -> Tasks:
    """Fresh states with goals `horizon` random actions away; the same for every model."""
    rng = Stream.TASKS.rng(seed, horizon)
    start = world.reset(episodes, rng, mode)
    return Tasks(start, *world.draw_goals(start, rng, horizon, may_equal_start))


def draw_own_tasks(world: OwnGoals, episodes: int, horizon: int, seed: int, mode: str = "train") -> Tasks:
    """Fresh states with goals of their own, and `horizon` steps for each; nobody knows actions that reach them."""
    start = world.reset(episodes, Stream.TASKS.rng(seed, horizon), mode)
    return Tasks(start, world.own_goals(start), np.zeros((episodes, horizon, world.spec.action.size), np.float32))


def has_goals(world) -> bool:
    """Whether the usual planner can be run: the world has goals, and actions that can be tried one by one."""
    return isinstance(world, Goals) and countable(world.spec.action)


class Policy(Protocol):
    """Chooses an action for every episode by what models are shown."""

    def begin(self, goal_obs: np.ndarray) -> None:
        """goal_obs (E, ...): the goals as models are shown them."""

    def act(self, obs: np.ndarray, remaining: int) -> np.ndarray:
        """obs (E, ...) now, and how many actions remain, this one included  ->  recorded actions (E, ...)."""


class Oracle:
    """Chooses an action for every episode by the truth. Bounds, floors, and planners that are lent the simulator."""

    @staticmethod
    def check(model, world) -> None:
        """Raises Problem where it cannot plan."""

    def begin(self, tasks: Tasks) -> None:
        """Nothing is kept, unless a subclass keeps it."""

    def act(self, state: State, remaining: int) -> np.ndarray:
        """states (E) now, and how many actions remain, this one included  ->  recorded actions (E, ...)."""
        raise NotImplementedError


class Played(NamedTuple):
    """One step of all episodes: the actions (E, ...), the chance they met, the states after them."""

    action: np.ndarray
    noise: np.ndarray | None
    state: State


def play(world: Goals, tasks: Tasks, policy: Policy | Oracle, seed: int) -> Iterator[Played]:
    """Every step of exactly as many as made the goals. Chance is the same for every policy."""
    rng, state, oracle = Stream.CHANCE.rng(seed, tasks.horizon), tasks.start, isinstance(policy, Oracle)
    policy.begin(tasks if oracle else world.observe(tasks.goal))
    for remaining in range(tasks.horizon, 0, -1):
        noise = world.noise(len(state), rng)
        action = policy.act(state if oracle else world.observe(state), remaining)
        state, _ = world.step(state, action, noise)
        yield Played(action, noise, state)


def last_state(
    world: Goals, tasks: Tasks, policy: Policy | Oracle, seed: int, after_step: Callable[[], None] = lambda: None
) -> State:
    """Where a policy leads to. after_step: called after every step of all episodes."""
    for played in play(world, tasks, policy, seed):
        after_step()
    return played.state


def run_policy(world: Goals, tasks: Tasks, policy: Policy | Oracle, seed: int) -> np.ndarray:
    """Which goals are solved after exactly as many steps as made them, (E,) bool."""
    return world.solved(last_state(world, tasks, policy, seed), tasks.goal)
