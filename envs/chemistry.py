"""Chemistry: objects on a 5x5 board whose colours cause one another along a hidden graph (reference sections 3 and 4)."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from envs.boards import OBSERVATIONS, Boards, GridWorld, random_cells
from envs.graphs import NUMBERING, describe, numbered, resolve
from envs.graphs.scm import REDRAW, StructuralCausalModel, reached
from envs.grid import (
    CROSS,
    DIAMOND,
    DISK,
    GRID,
    HOURGLASS,
    PARALLELOGRAM,
    PENTAGON,
    RING,
    SCALENE,
    SQUARE,
    TRIANGLE,
    render,
)  # fmt: skip
from envs.problem import Problem, nearest
from envs.streams import Stream

__all__ = ["ChemistryBoards", "ChemistryWorld", "PALETTE", "StructuralCausalModel", "reached"]

# The shape names the object: the published eight, in the published order, and two of ours.
SHAPES = (DISK, TRIANGLE, SQUARE, DIAMOND, PENTAGON, CROSS, PARALLELOGRAM, SCALENE, RING, HOURGLASS)
STATIC_CELLS = [(0, 0), (0, 4), (4, 0), (4, 4), (2, 2), (1, 1), (1, 3), (3, 1), (3, 3), (0, 2)]
# Fixed and far apart (any two at least 85 of 442 in RGB); the published palette is drawn anew in every instance.
PALETTE = np.array(
    [(228, 26, 28), (55, 126, 184), (77, 175, 74), (255, 255, 51), (152, 78, 163),
     (255, 127, 0), (245, 245, 245), (0, 205, 205), (166, 86, 40), (247, 129, 191)], np.uint8
)  # fmt: skip
COLOR_NAMES = ("red", "blue", "green", "yellow", "purple", "orange", "white", "cyan", "brown", "pink")
MOVEMENT = ("static", "dynamic")
POISSON_MEAN = 3  # published: the delay of an edge is 1 + Poisson(3)


@dataclass
class ChemistryBoards(Boards):
    """positions (B, N, 2) int8 (row, column), colors (B, N) int8, waiting (B, N, longest delay) bool: effects on their way."""

    colors: np.ndarray
    waiting: np.ndarray


@dataclass(frozen=True)
class ChemistryWorld(GridWorld):
    """The rules for drawing and stepping boards. Action = object * num_colors + colour: do(object := colour).

    num_objects 1..10, num_colors 2..10.  graph: a preset (chain5), a text of the graph language (0->{1-3}), or an
    adjacency [child][parent]; envs/graphs/.
    movement: static keeps object i in its published cell; dynamic draws the cells anew in every episode.
    delay: null, effects within the step; a whole number of steps; or poisson, 1 + Poisson(3) for each edge.
    skewness, redraw: envs/graphs/scm.py.  scm_seed: names the causal model.  scm: a saved model to use in place of a drawn one.
    numbering: permuted, the objects of `graph` get other numbers, so that no number tells what causes what; causal, they
    keep theirs, as published. Shape, cell and index follow the new number.
    observation: pixels | state, what models are shown: frames, or the table of objects.
    """

    num_objects: int = 5
    num_colors: int = 5
    graph: str | list = "chain5"
    movement: str = "static"
    delay: int | str | None = None
    skewness: float = 3.5
    redraw: str = "descendants"
    scm_seed: int = 0
    numbering: str = "permuted"
    scm: str | None = field(default=None, metadata={"identity": False})  # its digest identifies it, its path does not
    observation: str = field(default="pixels", metadata={"identity": False})  # files hold pixels and state alike
    model: StructuralCausalModel = field(init=False, compare=False)

    def __post_init__(self) -> None:
        n, c = self.num_objects, self.num_colors
        for name in ("num_objects", "num_colors", "scm_seed"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise Problem(f"chemistry takes a whole number >= 0 as {name}, got {value!r}; set env.world.{name}=")
        if not isinstance(self.skewness, int | float) or isinstance(self.skewness, bool):
            raise Problem(f"chemistry takes a number >= 0 as skewness, got {self.skewness!r}; set env.world.skewness=")
        if not 1 <= n <= len(SHAPES):
            raise Problem(f"chemistry tells objects apart by shape and has {len(SHAPES)} shapes, got {n} objects; "
                          f"choose a graph of fewer nodes, or set env.world.num_objects=")  # fmt: skip
        if not 2 <= c <= len(PALETTE):
            raise Problem(f"the palette tells 2 to {len(PALETTE)} colours apart, got {c}; set env.world.num_colors=")
        if self.movement not in MOVEMENT:
            raise Problem(f"chemistry has no movement '{self.movement}': {nearest(str(self.movement), MOVEMENT)}")
        if self.numbering not in NUMBERING:
            raise Problem(f"chemistry has no numbering '{self.numbering}': {nearest(str(self.numbering), NUMBERING)}")
        if self.redraw not in REDRAW:
            raise Problem(f"chemistry has no redraw '{self.redraw}': {nearest(str(self.redraw), REDRAW)}")
        if not isinstance(self.graph, str):  # plain lists, whatever held them: they go into headers
            object.__setattr__(self, "graph", resolve(self.graph, n).astype(int).tolist())
        if self.observation not in OBSERVATIONS:
            raise Problem(f"chemistry has no observation '{self.observation}': {nearest(str(self.observation), OBSERVATIONS)}")
        object.__setattr__(self, "model", self._read_model() if self.scm else self._draw_model())
        self._set_spec(GRID, {"color": c} | ({"place": GRID**2} if self.movement == "dynamic" else {}), c)

    def _draw_model(self) -> StructuralCausalModel:
        rng = Stream.TABLES.rng(self.scm_seed)
        parents = numbered(self.graph, self.num_objects, self.numbering, self.scm_seed)
        shape = parents.shape
        if self.delay is None:
            delays = None
        elif self.delay == "poisson":
            delays = 1 + Stream.DELAYS.rng(self.scm_seed).poisson(POISSON_MEAN, shape)
        elif isinstance(self.delay, int) and not isinstance(self.delay, bool) and self.delay >= 1:
            delays = np.full(shape, self.delay)
        else:
            raise Problem(f"delay is null, a whole number of steps >= 1, or poisson; got {self.delay!r}")
        return StructuralCausalModel(parents, self.num_colors, rng, self.skewness, self.redraw, delays)

    def _read_model(self) -> StructuralCausalModel:
        """The saved model; graph, numbering, delay, skewness and redraw then say what it holds, not what was asked."""
        found = StructuralCausalModel.load(self.scm)
        for what, held, asked in (
            ("objects", len(found), self.num_objects), ("colours", found.num_colors, self.num_colors)
        ):  # fmt: skip
            if held != asked:
                raise Problem(f"{self.scm} holds a causal model of {held} {what}, this env has {asked}; choose another scm= or "
                              f"set env.world.num_{'colors' if what == 'colours' else what}={held}")  # fmt: skip
        held = {"graph": describe(found.parents), "numbering": "causal", "skewness": found.skewness, "redraw": found.redraw,
                "delay": None if found.delays is None else found.delays.tolist()}  # fmt: skip
        for name, value in held.items():
            object.__setattr__(self, name, value)
        return found

    @property
    def choice_names(self) -> tuple[str, ...]:
        return COLOR_NAMES[: self.num_colors]

    @property
    def parents(self) -> np.ndarray:
        """The true graph, (N, N) bool, parents[child, parent]."""
        return self.model.parents

    @property
    def identity(self) -> dict:
        """What the parameters do not determine: the drawn tables, the palette."""
        return {"scm": self.model.digest, "palette": PALETTE[: self.num_colors].tolist()}

    def save_beside(self, path: Path) -> Path | None:
        """Saves the causal model, named by its digest."""
        target = path.parent / f"scm-{self.model.digest}.npz"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            self.model.save(target)
        return target

    # -- drawing boards -------------------------------------------------------------------------------------------

    def reset(self, batch: int, rng: np.random.Generator, mode: str = "train") -> ChemistryBoards:
        """Draw `batch` independent boards: colours in order of the graph, nothing waiting."""
        if mode != "train":
            raise Problem(f"chemistry has no mode '{mode}': {nearest(mode, ('train',))}")
        n = self.num_objects
        if self.movement == "dynamic":
            positions = random_cells(batch, n, rng)
        else:
            positions = np.tile(np.array(STATIC_CELLS[:n], np.int8), (batch, 1, 1))
        return ChemistryBoards(positions, self.model.sample(batch, rng), np.zeros((batch, n, self.model.longest_delay), bool))

    # -- stepping and drawing ---------------------------------------------------------------------------------------

    def noise(self, batch: int, rng: np.random.Generator) -> np.ndarray:
        """The exogenous variables of one step, (batch, N) in [0, 1)."""
        return rng.random((batch, self.num_objects))

    def step(self, boards: ChemistryBoards, action: np.ndarray, noise: np.ndarray | None):
        """-> (boards after the action, (B,) bool, always False).

        noise (B, N); None: every effect takes its likeliest colour.
        """
        action = np.asarray(action)
        if action.size and not (action.min() >= 0 and action.max() < self.spec.action.size):
            raise Problem(f"actions go from 0 to {self.spec.action.size - 1}, got {action.min()} to {action.max()}")
        target, color = np.divmod(action, self.num_colors)
        if self.model.delays is None:
            colors, waiting = self.model.respond(boards.colors, target, color, noise), boards.waiting
        else:
            colors, waiting = self.model.respond_later(boards.colors, boards.waiting, target, color, noise)
        return ChemistryBoards(boards.positions, colors, waiting), np.zeros(len(boards), bool)

    def paint(self, boards: ChemistryBoards, action: np.ndarray) -> ChemistryBoards:
        """What a model without any causes expects: the acted object takes its colour, nothing follows."""
        target, color = np.divmod(np.asarray(action), self.num_colors)
        colors = boards.colors.copy()
        colors[np.arange(len(colors)), target] = color
        return ChemistryBoards(boards.positions, colors, boards.waiting)

    def events(self, boards: ChemistryBoards, action: np.ndarray) -> dict[str, np.ndarray]:
        """effect (B,) bool: the acted object has descendants, so that something follows, with `delay` at later steps."""
        return {"effect": self.parents.any(0)[np.asarray(action) // self.num_colors]}

    def _set_object(self, boards: ChemistryBoards, index: int, rng: np.random.Generator) -> ChemistryBoards:
        """The same boards with one object, `index`, in another colour."""
        after = boards.take(np.arange(len(boards)))
        after.colors[:, index] = (after.colors[:, index] + rng.integers(1, self.num_colors, len(after))) % self.num_colors
        return after

    def render(self, boards: ChemistryBoards) -> np.ndarray:
        """-> frames (B, 50, 50, 3) uint8."""
        shapes = np.tile(np.array(SHAPES[: self.num_objects]), (len(boards), 1))
        return render(boards.positions, shapes, PALETTE[boards.colors] / np.float32(255))

    def factors(self, boards: ChemistryBoards) -> np.ndarray:
        """One-hot factors of every object, (B, N, C) uint8, and (B, N, C + 25) where cells change: colour, then cell."""
        colors = np.eye(self.num_colors, dtype=np.uint8)[boards.colors]
        if self.movement == "static":
            return colors
        cells = boards.positions[..., 0].astype(int) * GRID + boards.positions[..., 1]
        return np.concatenate([colors, np.eye(GRID**2, dtype=np.uint8)[cells]], -1)

    @staticmethod
    def distance(boards: ChemistryBoards, goal: ChemistryBoards) -> np.ndarray:
        """Share of objects whose colour is not the goal's, (B,) in [0, 1]; 0 is solved."""
        return (boards.colors != goal.colors).mean(-1)

    def reward(self, boards: ChemistryBoards, goal: ChemistryBoards) -> np.ndarray:
        """Share of objects whose colour is the goal's, (B,) in [0, 1]; 1 is solved."""
        return 1 - self.distance(boards, goal)

    # -- the state column of an episode file ------------------------------------------------------------------------

    @staticmethod
    def pack(boards: ChemistryBoards) -> np.ndarray:
        """-> (B, N, 3 + longest delay) float32: row, column, colour, effects on their way."""
        parts = (boards.positions, boards.colors[..., None], boards.waiting)
        return np.concatenate([part.astype(np.float32) for part in parts], -1)

    @staticmethod
    def unpack(state: np.ndarray) -> ChemistryBoards:
        """The inverse of `pack`: the simulator restored from a file."""
        return ChemistryBoards(state[..., :2].astype(np.int8), state[..., 2].astype(np.int8), state[..., 3:] > 0)

    @staticmethod
    def target(goal: ChemistryBoards) -> np.ndarray:
        """What the goal column holds, (B, N): the colours to reach."""
        return goal.colors
