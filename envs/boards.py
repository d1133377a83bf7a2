"""Batches of boards as values, and what the grid worlds share: observing, recording, drawing goals, setting one variable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from envs.grid import CELL, GRID
from envs.problem import Problem, nearest
from envs.spec import Action, EnvSpec, Observation

OBSERVATIONS = ("pixels", "state")  # values of `env.observation`
GOAL_STEPS = 10  # the recorded reward is minus the distance to a goal this many random actions from the start


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


@dataclass(frozen=True)
class GridWorld:
    """The abilities of both grid worlds, by envs/protocols.py. Subclasses are dataclasses whose fields name the world.

    num_objects, observation: fields of every subclass, which sets its spec by `_set_spec`.
    invalid_flag: name of the flag that `step` returns; None where every action can be done.
    identity: what the fields do not pin down.
    """

    invalid_flag: ClassVar[str | None] = None
    identity: ClassVar[dict] = {}
    spec: EnvSpec = field(init=False, compare=False)
    factor_names: tuple[str, ...] = field(init=False, compare=False)
    factor_sizes: tuple[int, ...] = field(init=False, compare=False)

    def _set_spec(self, board: int, factors: dict[str, int], choices: int) -> None:
        """board: cells along a side.  factors: name -> values that this factor of an object has.
        choices: actions of one object.
        """
        n, side, factor_sizes = self.num_objects, board * CELL, tuple(factors.values())
        shown = {"pixels": Observation("pixels", (side, side, 3)), "state": Observation("objects", (n, sum(factor_sizes)))}
        object.__setattr__(self, "spec", EnvSpec(shown, Action(n * choices, discrete=True, owners=n), n))
        object.__setattr__(self, "factor_names", tuple(factors))
        object.__setattr__(self, "factor_sizes", factor_sizes)

    @property
    def cells_along(self) -> int:
        """Cells along a side."""
        return self.spec.observations["pixels"].shape[0] // CELL

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of an episode file on the disk, at most: about 40 an object, times 1.5."""
        return 100 + 60 * self.spec.objects

    @property
    def shown(self) -> Observation:
        """What models are shown."""
        return self.spec.shown(self.observation)

    def observe(self, boards: Boards, column: str | None = None) -> np.ndarray:
        """What a column of an episode file holds of B boards, None: the one that models are shown.

        pixels: frames (B, H, W, 3) uint8.  objects: one-hot factors of every object (B, N, F) uint8.
        """
        columns = {"pixels": self.render, "objects": self.factors}
        column = self.shown.column if column is None else column
        if column not in columns:
            raise Problem(f"boards are observed as a column, got '{column}': {nearest(column, columns)}")
        return columns[column](boards)

    def header(self) -> dict:
        """Class, fields and what they do not pin down."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.init and f.metadata.get("identity", True)}
        return {"world": type(self).__name__, **own, **self.identity, "renderer": "grid-1"}

    def save_beside(self, path: Path) -> Path | None:
        """The header names everything."""

    def derived(self) -> dict[str, tuple[tuple[str, ...], Callable[..., np.ndarray]]]:
        """Older files lack the table of objects and the events."""

        def event(name: str) -> Callable[..., np.ndarray]:
            def happens(state, action, ep_len, ep_offset) -> np.ndarray:
                seen = self.events(self.unpack(state), action)[name]
                seen[ep_offset + ep_len - 1] = False  # padding, as its action is
                return seen

            return happens

        one = self.reset(1, np.random.default_rng(0)), np.zeros(1, np.int64)
        events = {f"event_{name}": (("state", "action", "ep_len", "ep_offset"), event(name)) for name in self.events(*one)}
        return {"objects": (("state",), lambda state: self.observe(self.unpack(state), "objects")), **events}

    def candidates(self, action: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
        """Every action, (B, A)."""
        return np.tile(np.arange(self.spec.action.size), (len(action), 1))

    def draw_goals(self, boards: Boards, rng: np.random.Generator, steps: int, may_equal_start: bool = False):
        """(boards reached by `steps` random actions, those actions (B, steps));
        goals that equal the start are drawn anew unless allowed.
        """
        if steps < 1 and not may_equal_start:
            raise Problem(f"a goal needs at least 1 step away from the start, got num_steps={steps}")
        goal, unsolved = boards.take(np.arange(len(boards))), np.arange(len(boards))
        actions = np.empty((len(boards), steps), np.int64)
        while len(unsolved):
            walk = boards.take(unsolved)
            for t in range(steps):
                actions[unsolved, t] = action = rng.integers(0, self.spec.action.size, len(walk))
                walk, _ = self.step(walk, action, self.noise(len(walk), rng))
            goal.put(unsolved, walk)
            if may_equal_start:
                break
            unsolved = unsolved[self.solved(walk, boards.take(unsolved))]
        return goal, actions

    def solved(self, boards: Boards, goal: Boards) -> np.ndarray:
        """Whether every object is as the goal has it, (B,) bool."""
        return self.distance(boards, goal) == 0

    def variables(self, boards: Boards) -> tuple[str, ...]:
        """The variables: each object's cell, or its colour."""
        return tuple(f"object_{index}" for index in range(self.spec.objects))

    def intervene(self, boards: Boards, variable: str, rng: np.random.Generator) -> Boards:
        """The same boards with one object on another cell, or in another colour."""
        names = self.variables(boards)
        if variable not in names:
            raise Problem(f"boards have no variable '{variable}': {nearest(str(variable), names)}")
        return self._set_object(boards, names.index(variable), rng)

    def record(self, split: Mapping, rng: np.random.Generator, episodes: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Columns (rows, ...) of `episodes` episodes of random actions, one after the other, and their lengths in rows.

        split: mode, length in actions, drop_invalid.  pixels and objects, as `observe` gives them; action; reward; state, as
        `pack` gives it; goal; and event_<name> bool, what happens in the step that leads to the next row.
        """
        for key, holds in (("mode", str), ("drop_invalid", bool)):
            if not isinstance(split.get(key), holds):
                raise Problem(f"a split of boards has {key}, got {split.get(key)!r}; set env.splits.<name>.mode= to a mode of "
                              f"the world and env.drop_invalid= to true or false")  # fmt: skip
        length = split["length"]
        boards = self.reset(episodes, rng, split["mode"])
        goal, _ = self.draw_goals(boards, rng, GOAL_STEPS, may_equal_start=True)
        state = np.empty((episodes, length + 1, *self.pack(boards).shape[1:]), np.float32)
        action = np.zeros((episodes, length + 1), np.int64)
        reward = np.zeros((episodes, length + 1), np.float32)
        invalid = np.zeros((episodes, length + 1), bool)
        for t in range(length):
            state[:, t] = self.pack(boards)
            choice = rng.integers(0, self.spec.action.size, episodes)
            noise = self.noise(episodes, rng)
            after, refused = self.step(boards, choice, noise)
            while split["drop_invalid"] and refused.any():  # as published: a push that needs a second push is never recorded
                choice[refused] = rng.integers(0, self.spec.action.size, refused.sum())
                after, refused = self.step(boards, choice, noise)
            boards = after
            action[:, t], invalid[:, t] = choice, refused
            reward[:, t] = self.reward(boards, goal)
        state[:, length] = self.pack(boards)
        rows = self.unpack(state.reshape(-1, *state.shape[2:]))
        events = {name: seen.reshape(action.shape) for name, seen in self.events(rows, action.ravel()).items()}
        for seen in events.values():
            seen[:, length] = False  # padding, as its action is
        if self.invalid_flag is not None:
            events[self.invalid_flag] = invalid
        goals = np.repeat(self.target(goal)[:, None], length + 1, 1)
        columns = {"action": action, "reward": reward, "state": state, "goal": goals}
        columns |= {f"event_{name}": seen for name, seen in events.items()}
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in columns.items()}
        observed = {one.column: self.observe(rows, one.column) for one in self.spec.observations.values()}
        return {**observed, **flat}, np.full(episodes, length + 1)


def random_cells(batch: int, count: int, rng: np.random.Generator, board: int = GRID) -> np.ndarray:
    """`count` distinct cells for each board, (batch, count, 2) int8 (row, column), in random order."""
    cells = rng.random((batch, board * board)).argpartition(count - 1, axis=1)[:, :count]
    cells = rng.permuted(cells, axis=1)  # argpartition leaves an order; the objects must not inherit it
    return np.stack(np.divmod(cells, board), -1).astype(np.int8)
