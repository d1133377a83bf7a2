"""Batches of boards as values, the promises of a grid world, and the goals both grid worlds draw."""

from dataclasses import dataclass, fields
from typing import Protocol, Self

import numpy as np

from envs.grid import GRID
from envs.problem import Problem
from envs.spec import EnvSpec


@dataclass
class Boards:
    """State of B boards; every field of a subclass is an array whose first axis is the board."""

    positions: np.ndarray

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, index) -> Self:
        """The boards at `index`, copied where `index` is an array."""
        return type(self)(*(getattr(self, f.name)[index] for f in fields(self)))

    def put(self, index, other: Self) -> None:
        """Overwrite the boards at `index`."""
        for f in fields(self):
            getattr(self, f.name)[index] = getattr(other, f.name)


class World(Protocol):
    """What collecting, scoring and planning ask of a grid world. All randomness comes from generators handed in.

    noise: the exogenous variables of one step, drawn apart from it. The same noise under another action is the
    counterfactual "had this been done instead"; None where the world is deterministic.
    A world whose parameters do not pin it down has `identity`, a dict for the header of its data, and `save_beside(path)`.
    """

    spec: EnvSpec
    fault: str | None  # what the flag of `step` means
    observation: str  # pixels | state: what models are shown (envs/observe.py); data files hold both
    factor_width: int  # numbers of each object in `factors`
    choice_names: tuple[str, ...]  # of the actions of one object

    def reset(self, batch: int, rng: np.random.Generator, mode: str) -> Boards: ...
    def noise(self, batch: int, rng: np.random.Generator) -> np.ndarray | None: ...
    def step(self, boards: Boards, action: np.ndarray, noise: np.ndarray | None) -> tuple[Boards, np.ndarray]: ...
    def events(self, boards: Boards, action: np.ndarray) -> dict[str, np.ndarray]: ...
    def alter(self, boards: Boards, index: int, rng: np.random.Generator) -> Boards: ...
    def render(self, boards: Boards) -> np.ndarray: ...
    def factors(self, boards: Boards) -> np.ndarray: ...
    def distance(self, boards: Boards, goal: Boards) -> np.ndarray: ...
    def reward(self, boards: Boards, goal: Boards) -> np.ndarray: ...
    def pack(self, boards: Boards) -> np.ndarray: ...
    def unpack(self, state: np.ndarray) -> Boards: ...
    def target(self, goal: Boards) -> np.ndarray: ...


def random_cells(batch: int, count: int, rng: np.random.Generator, board: int = GRID) -> np.ndarray:
    """`count` distinct cells for each board, (batch, count, 2) int8 (row, column), in random order."""
    cells = rng.random((batch, board * board)).argpartition(count - 1, axis=1)[:, :count]
    cells = rng.permuted(cells, axis=1)  # argpartition leaves an order; the objects must not inherit it
    return np.stack(np.divmod(cells, board), -1).astype(np.int8)


def walk_to_goal(world: World, boards: Boards, rng: np.random.Generator, num_steps: int, may_equal_start: bool = False):
    """(boards reached by `num_steps` random actions, those actions (B, num_steps)); goals that equal the start are drawn
    anew unless allowed."""
    if num_steps < 1 and not may_equal_start:
        raise Problem(f"a goal needs at least 1 step away from the start, got num_steps={num_steps}")
    goal, open_ = boards.take(np.arange(len(boards))), np.arange(len(boards))
    actions = np.empty((len(boards), num_steps), np.int64)
    while len(open_):
        walk = boards.take(open_)
        for t in range(num_steps):
            actions[open_, t] = action = rng.integers(0, world.spec.action_size, len(walk))
            walk, _ = world.step(walk, action, world.noise(len(walk), rng))
        goal.put(open_, walk)
        if may_equal_start:
            break
        open_ = open_[world.distance(walk, boards.take(open_)) == 0]
    return goal, actions


def draw_goal(world: World, boards: Boards, rng: np.random.Generator, num_steps: int, may_equal_start: bool = False) -> Boards:
    """The goal of `walk_to_goal` alone."""
    return walk_to_goal(world, boards, rng, num_steps, may_equal_start)[0]
