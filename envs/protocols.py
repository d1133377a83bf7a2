"""What a world can do: small protocols, asked for by `isinstance(world, Protocol)` and never by a name.

A state is a batch and opaque outside of its world: it has `len()` and `take(index)`. All randomness comes from generators
that are handed in.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np

from envs.spec import EnvSpec, Observation


class State(Protocol):
    """B states of a world."""

    def __len__(self) -> int: ...
    def take(self, index) -> Self: ...


@runtime_checkable
class Source(Protocol):
    """Episodes can be recorded. A subclass writes `header` and `record`, and sets the rest.

    observation: name of what models are shown.  row_bytes: bytes of a row of an episode file on the disk, at most.
    """

    spec: EnvSpec
    observation: str
    row_bytes: int

    @property
    def shown(self) -> Observation:
        """The entry of the spec of what models are shown."""
        return self.spec.shown(self.observation)

    def header(self) -> dict:
        """Everything but the split that decides the bytes of a file; JSON."""

    def record(self, split: Mapping, rng: np.random.Generator, episodes: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Columns (rows, ...) of some episodes, one after the other, and their lengths in rows (episodes,)."""

    def save_beside(self, path: Path) -> Path | None:
        """Saves, into the folder of a data file, what the header names only by a digest.  -> its path, or None"""


@runtime_checkable
class OlderFiles(Protocol):
    """Older files can be read: the columns that they lack follow from others."""

    def derived(self) -> dict[str, tuple[tuple[str, ...], Callable[..., np.ndarray]]]:
        """Column -> the columns (rows, ...) or index of episodes it is made from, and how."""


@runtime_checkable
class Simulator(Protocol):
    """It continues from any recorded row.

    noise: the exogenous variables of one step, drawn apart from it; the same noise under another action is the counterfactual
    "had this been done instead". None where the world is deterministic.
    """

    spec: EnvSpec

    def reset(self, batch: int, rng: np.random.Generator, mode: str) -> State:
        """Fresh states."""

    def pack(self, state: State) -> np.ndarray:
        """The rows of the column `state`."""

    def unpack(self, rows: np.ndarray) -> State:
        """The inverse of `pack`."""

    def noise(self, batch: int, rng: np.random.Generator) -> np.ndarray | None:
        """The exogenous variables of one step."""

    def step(self, state: State, action: np.ndarray, noise: np.ndarray | None) -> tuple[State, np.ndarray]:
        """-> (states after the actions, (B,) bool: actions that are impossible)."""

    def observe(self, state: State, column: str | None = None) -> np.ndarray:
        """What a column of an episode file holds of the states; None: the one that models are shown."""

    def candidates(self, action: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
        """Alternatives to the actions done, `action` (B, ...): (B, C, ...), the action done among them.

        Every action where actions are discrete, else the one done and `count` - 1 draws.
        """


@runtime_checkable
class Goals(Simulator, Protocol):
    """States can be goals."""

    def draw_goals(
        self, state: State, rng: np.random.Generator, steps: int, may_equal_start: bool = False
    ) -> tuple[State, np.ndarray]:
        """Goals `steps` actions away, and those actions (B, steps, ...)."""

    def distance(self, state: State, goal: State) -> np.ndarray:
        """How far each state is from its goal, (B,) >= 0."""

    def solved(self, state: State, goal: State) -> np.ndarray:
        """Whether each state is its goal, (B,) bool."""


@runtime_checkable
class OwnGoals(Goals, Protocol):
    """States hold a goal of their own, and a goal can be reached in part."""

    def own_goals(self, state: State) -> State:
        """The states as they are when their own goals are reached. Problem where the task's goals are no states."""

    def grade(self, state: State, goal: State) -> np.ndarray:
        """How much of its goal each state has reached, (B,) from 0 to 1."""


FACTORS = "place", "weight", "color"  # names that factors have


@runtime_checkable
class Factors(Simulator, Protocol):
    """Every object has discrete factors, which together are the state that can be seen.

    factor_names: of FACTORS; a weight is what a shade shows.  factor_sizes: how many values each factor of an object has.
    """

    factor_names: tuple[str, ...]
    factor_sizes: tuple[int, ...]

    def factors(self, state: State) -> np.ndarray:
        """One-hot, one factor after the other, (B, N, sum of sizes) uint8; of an absent object all zero."""


@runtime_checkable
class Interventions(Protocol):
    """One variable of a state can be set while the others stay."""

    def variables(self, state: State) -> tuple[str, ...]:
        """Names of the variables."""

    def intervene(self, state: State, variable: str, rng: np.random.Generator) -> State:
        """Copies of the states with another value of one variable, drawn."""


SPACES = ("a", "b")  # of values: for training, and kept apart


@runtime_checkable
class Causes(Simulator, Protocol):
    """Kinds of variables, of all objects together, can be set to draws from one of SPACES."""

    def causes(self) -> tuple[str, ...]:
        """Names of the causes."""

    def set_cause(self, state: State, cause: str, space: str, rng: np.random.Generator) -> tuple[State, np.ndarray]:
        """-> (copies of the states with other values of the cause, (B,) bool: the world accepted one)."""


@runtime_checkable
class Blocks(Protocol):
    """Some rows of the table that models are shown are movable blocks."""

    def blocks(self, table: np.ndarray) -> np.ndarray:
        """Their rows: (B, N, F)  ->  (B, n, F)."""

    def positions(self, table: np.ndarray) -> np.ndarray:
        """Their centres in metres: (B, N, F)  ->  (B, n, 3)."""

    def poses(self, table: np.ndarray) -> np.ndarray:
        """Position and orientation in metres: each centre, and from it the centres of two faces: (B, N, F)  ->  (B, n, 9)."""

    def tips(self, table: np.ndarray) -> np.ndarray:
        """Positions of what pushes them, in metres: (B, N, F)  ->  (B, m, 3)."""


@runtime_checkable
class NamedChoices(Protocol):
    """The actions on one object are few and have names."""

    choice_names: tuple[str, ...]


@runtime_checkable
class DrawsTables(Protocol):
    """The table that models are shown can be drawn, also one that a model predicts."""

    def draw(self, state: State, table: np.ndarray) -> np.ndarray:
        """Pictures (B, H, W, 3) uint8 of states (B), with every body where the table (B, N, F) has it."""


@runtime_checkable
class CausalGraph(Protocol):
    """The true graph is known: parents[child, parent] (N, N) bool."""

    parents: np.ndarray


class CausalModel(Protocol):
    """Tables along a graph: each of N variables takes one of C colours, drawn given the colours of its parents.

    order (N,): every variable after its parents.  delays (N, N): steps from parent to child, None: all within one step.
    redraw: descendants, an action redraws every descendant; changed, only where a parent changed.
    """

    parents: np.ndarray
    order: np.ndarray
    num_colors: int
    delays: np.ndarray | None
    redraw: str

    def __len__(self) -> int: ...

    def probabilities(self, v: int, colors: np.ndarray) -> np.ndarray:
        """Of each colour of variable `v`, given the colours of all.  (B, N) -> (B, C)"""


@runtime_checkable
class CausalTables(CausalGraph, Protocol):
    """The distributions along the true graph are known as well, so that the best possible prediction can be computed."""

    model: CausalModel
    num_colors: int


@runtime_checkable
class ShowsBoard(Protocol):
    """Its pictures show a board of cells of ten pixels, each of which models may read apart."""

    @property
    def cells_along(self) -> int:
        """Cells along a side."""


@runtime_checkable
class Painting(Protocol):
    """An action sets a value of an object, so that a model without causes predicts that value and no other change."""

    def paint(self, state: State, action: np.ndarray) -> State:
        """The acted object takes its value; nothing else changes."""


@runtime_checkable
class Violations(Protocol):
    """Its clips are trials in versions: as one expects it, with a violated cause, and with a lawful change of the same size.

    A file of it has the columns `label_trial`, `label_subtype` (an index in `subtypes`), `label_violation` (the row where a
    version first differs from the expected one; -1: never) and `label_posterior`, constant over the rows of a clip.
    """

    subtypes: tuple[str, ...]

    def versions(self, split: str) -> dict[str, str]:
        """Version -> the split that holds the trials of `split` in it: expected, surprising, control.

        Empty where the clips of the split are no expected ones.
        """
