"""Weighted blocks on a board of 5x5 cells or more: a heavier one pushes a lighter one by a cell (reference section 1).

The core is batched numpy: thousands of boards per call. `envs/board_env.py` puts Gymnasium on top.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from envs.boards import OBSERVATIONS, Boards, GridWorld, random_cells
from envs.grid import GRID, color_table, render
from envs.problem import Problem, nearest

DIRECTIONS = np.array([(0, 0), (-1, 0), (0, 1), (1, 0), (0, -1)], np.int8)  # stay, north, east, south, west
NUM_DIRECTIONS = len(DIRECTIONS)

_FEWER = {f"fewer-{n}": n for n in (1, 2, 3, 4)}  # objects that are not on the board
_GREY = (32, 128)  # of `background`, from the first to below the second: boards are black elsewhere
SETTINGS = {
    "observed": ("train", "test-v1", "test-v2", "test-v3", "zero-shot", "zero-shot-shape", "unseen-shape", "background",
                 *_FEWER),
    "unobserved": ("train", "few-shot-1", "few-shot-2", "few-shot-3", "zero-shot-shape", "unseen-shape", *_FEWER),
    "fixed_unobserved": ("train", "few-shot-1", "few-shot-2", "few-shot-3", *_FEWER),
}  # fmt: skip
ABSENT = -9  # row and column of an object that is not on the board: far from every cell, so that it moves and blocks nothing
COLORMAPS = {
    "observed": ("blues", "reds", "greens"),
    "unobserved": ("sets", "pastels"),
    "fixed_unobserved": ("sets", "pastels"),
}
_GRADIENT = {"blues": "Blues", "reds": "Reds", "greens": "Greens"}
_PALETTE = {"sets": ("Set1", "Set3"), "pastels": ("Pastel1", "Pastel2")}  # base colours, colours new in few-shot
_JITTER = {"test-v1": 4, "test-v2": 3, "test-v3": 2}  # the gap divided by this, in the other modes by 8
_SHAPES = {"zero-shot-shape": (0, 6), "unseen-shape": (3, 6)}  # of the others the first three


def _move(positions, weights, action, board):
    """The one statement of the rule; returns (positions, invalid (B,), contact (B,), pushed (B,)).

    contact: a block stands in the way and there is room behind it, so that the weights alone decide what happens.
    """
    positions = np.asarray(positions)
    action = np.asarray(action)
    row = np.arange(len(positions))
    mover, delta = action // NUM_DIRECTIONS, DIRECTIONS[action % NUM_DIRECTIONS]
    goal = positions[row, mover] + delta
    beyond = goal + delta
    on_board = ((goal >= 0) & (goal < board)).all(-1)
    beyond_on_board = ((beyond >= 0) & (beyond < board)).all(-1)
    moving = (delta != 0).any(-1)

    at_goal = (positions == goal[:, None]).all(-1)  # (B, N)
    blocked = at_goal.any(-1) & moving
    other = at_goal.argmax(-1)
    heavier = weights[row, mover] > weights[row, other]
    beyond_taken = (positions == beyond[:, None]).all(-1).any(-1)

    invalid = blocked & heavier & beyond_taken
    contact = blocked & ~beyond_taken & beyond_on_board
    pushed = contact & heavier
    moved = (moving & on_board & ~blocked) | pushed

    after = positions.copy()
    after[row[pushed], other[pushed]] = beyond[pushed]
    after[row[moved], mover[moved]] = goal[moved]
    return after, invalid, contact, pushed


def push(
    positions: np.ndarray, weights: np.ndarray, action: np.ndarray, board: int = GRID
) -> tuple[np.ndarray, np.ndarray]:
    """One step of B boards of `board` x `board` cells.

    positions (B, N, 2) int (row, column); weights (B, N); action (B,) = object * 5 + direction, directions stay, north
    (-1, 0), east (0, +1), south (+1, 0), west (0, -1)  ->  (positions (B, N, 2), invalid_push (B,) bool).
    A push that would need a second push is invalid and moves nothing; so does any other move that cannot be made.
    """
    after, invalid, _, _ = _move(positions, weights, action, board)
    return after, invalid


@dataclass
class PhysicsBoards(Boards):
    """positions (B, N, 2) int8 (row, column), weights (B, N) float32, shapes (B, N) int8, colors (B, N, 3) uint8, grey (B,)
    uint8: of what lies behind the objects, none given: black.
    """

    weights: np.ndarray
    shapes: np.ndarray
    colors: np.ndarray
    grey: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.grey is None:
            self.grey = np.zeros(self.positions.shape[:-2], np.uint8)


@dataclass(frozen=True)
class PhysicsWorld(GridWorld):
    """The rules for drawing and stepping boards.

    num_objects: 2..9.  setting: observed (darker = heavier) | unobserved (weight named by a palette colour) |
    fixed_unobserved (the same, and object i has shape i).
    object_order: by_weight is parity with the published environments, where the object index gives away the weight
    rank; shuffled draws the order anew in every episode, and object i has shape i: an action names an object by its
    index, so something in the frame must tell the index.
    hidden_weights: weights are drawn independent of colour, shape and index in every episode.
    palette_seed: picks the extra colours of the few-shot modes, once per world.
    board: cells along a side, 5..9.
    observation: pixels | state, what models are shown: frames, or the table of objects.
    """

    num_objects: int = 5
    setting: str = "observed"
    colormap: str = "blues"
    object_order: str = "by_weight"
    hidden_weights: bool = False
    palette_seed: int = 0
    board: int = GRID
    observation: str = field(default="pixels", metadata={"identity": False})  # files hold pixels and state alike
    invalid_flag: ClassVar[str | None] = "invalid_push"
    choice_names: ClassVar[tuple[str, ...]] = ("stay", "north", "east", "south", "west")

    def __post_init__(self) -> None:
        for key, value, known in (
            ("setting", self.setting, SETTINGS),
            ("colormap", self.colormap, COLORMAPS.get(self.setting, ())),
            ("object_order", self.object_order, ("by_weight", "shuffled")),
            ("observation", self.observation, OBSERVATIONS),
        ):
            if value not in known:
                raise Problem(f"physics has no {key} '{value}': {nearest(value, known)}")
        most = 6 if self._shape_is_index else 9
        if not 2 <= self.num_objects <= most:
            raise Problem(
                f"physics {self.setting} {self.object_order} takes 2 to {most} objects, got {self.num_objects}; "
                f"set env.world.num_objects="
            )
        if not GRID <= self.board <= 9:
            raise Problem(f"physics takes boards of 5 to 9 cells a side, got {self.board}; set env.world.board=")
        ranks = {} if self.hidden_weights else {"weight": self.num_objects}
        self._set_spec(self.board, {"place": self.board**2} | ranks, NUM_DIRECTIONS)

    @property
    def _shape_is_index(self) -> bool:
        return self.setting == "fixed_unobserved" or self.object_order == "shuffled"

    # -- drawing boards -------------------------------------------------------------------------------------------

    def reset(self, batch: int, rng: np.random.Generator, mode: str = "train") -> PhysicsBoards:
        """Draw `batch` independent boards; no two objects share a cell.

        fewer-1 to fewer-4: so many objects, drawn at random, are absent: not drawn, and their actions do nothing.
        background: what lies behind the objects is grey, of a brightness of its own on every board.
        """
        if mode not in SETTINGS[self.setting]:
            raise Problem(f"physics {self.setting} has no mode '{mode}': {nearest(mode, SETTINGS[self.setting])}")
        if mode in _SHAPES and self._shape_is_index:
            raise Problem(f"physics shuffled tells objects apart by shape and has no mode '{mode}'; use by_weight")
        n = self.num_objects
        if _FEWER.get(mode, 0) >= n:
            raise Problem(f"physics mode '{mode}' leaves none of {n} objects on the board; take more objects or another mode")
        colors, weights = self._colors_and_weights(batch, rng, mode)
        if self._shape_is_index:
            shapes = np.tile(np.arange(n, dtype=np.int8), (batch, 1))
        else:
            shapes = rng.integers(*_SHAPES.get(mode, (0, 3)), (batch, n)).astype(np.int8)
        positions = random_cells(batch, n, rng, self.board)
        if mode in _FEWER:
            gone = rng.permuted(np.tile(np.arange(n), (batch, 1)), axis=1)[:, : _FEWER[mode]]
            positions[np.arange(batch)[:, None], gone] = ABSENT
        if self.hidden_weights:
            weights = rng.permuted(np.tile(np.arange(1, n + 1, dtype=np.float32), (batch, 1)), axis=1)
        boards = PhysicsBoards(positions, weights, shapes, np.rint(colors * 255).astype(np.uint8))
        if self.object_order == "shuffled":
            order = rng.permuted(np.tile(np.arange(n), (batch, 1)), axis=1)
            row = np.arange(batch)[:, None]
            boards = PhysicsBoards(positions, weights[row, order], shapes, boards.colors[row, order])
        return replace(boards, grey=rng.integers(*_GREY, batch, np.uint8)) if mode == "background" else boards

    def _colors_and_weights(self, batch, rng, mode):
        """colors (B, N, 3) in [0, 1] and weights (B, N), in the published object order."""
        n = self.num_objects
        if self.setting == "observed":
            if mode == "zero-shot":
                shade = np.sort(rng.random((batch, n)), axis=1)
            else:
                # zero-shot-shape jitters by the whole gap in the authors' code, so that colour contradicts weight in
                # most episodes; here it changes the shapes and nothing else.
                gap = 1 / (n - 1)
                width = gap / _JITTER.get(mode, 8)
                jitter = rng.uniform(-width, width, (batch, n))
                jitter[:, 0], jitter[:, -1] = abs(jitter[:, 0]), -abs(jitter[:, -1])
                shade = np.arange(n) * gap + jitter
            table = color_table(_GRADIENT[self.colormap])
            entry = np.minimum((shade * len(table)).astype(int), len(table) - 1)
            weights = np.tile(np.arange(n, 0, -1, dtype=np.float32), (batch, 1))
            return table[entry][:, ::-1], weights  # object 0 is the darkest and heaviest
        base, extra = (color_table(name) for name in _PALETTE[self.colormap])
        table, heaviness = base, np.arange(len(base), dtype=np.float32)
        if mode.startswith("few-shot"):
            new = np.random.default_rng(self.palette_seed).choice(len(extra), int(mode[-1]), replace=False)
            table, heaviness = np.concatenate([base, extra[new]]), np.concatenate([heaviness, new + np.float32(0.5)])
        entry = np.sort(rng.random((batch, len(table))).argsort(axis=1)[:, :n], axis=1)
        return table[entry], heaviness[entry]

    # -- stepping and drawing ---------------------------------------------------------------------------------------

    def noise(self, batch: int, rng: np.random.Generator) -> None:
        """Blocks move without chance."""

    def step(self, boards: PhysicsBoards, action: np.ndarray, noise: None = None) -> tuple[PhysicsBoards, np.ndarray]:
        """-> (boards after the action, invalid_push (B,) bool)."""
        positions, invalid = push(boards.positions, boards.weights, action, self.board)
        return replace(boards, positions=positions), invalid

    def events(self, boards: PhysicsBoards, action: np.ndarray) -> dict[str, np.ndarray]:
        """What happens at this step, each (B,) bool.

        contact: the mover meets a block that could be moved, so the weights decide the outcome; push: it is moved.
        """
        _, _, contact, pushed = _move(boards.positions, boards.weights, action, self.board)
        return {"contact": contact, "push": pushed}

    def render(self, boards: PhysicsBoards) -> np.ndarray:
        """-> frames (B, 10 board, 10 board, 3) uint8."""
        return render(boards.positions, boards.shapes, boards.colors / np.float32(255), self.board, boards.grey)

    def factors(self, boards: PhysicsBoards) -> np.ndarray:
        """One-hot factors of every object, uint8: its cell (board squared) and its weight rank (N), unless hidden."""
        cells = boards.positions[..., 0].astype(int) * self.board + boards.positions[..., 1]
        here = (boards.positions[..., :1] != ABSENT).astype(np.uint8)  # an absent object has no factors
        cells = np.eye(self.board**2, dtype=np.uint8)[cells * here[..., 0]] * here
        if self.hidden_weights:
            return cells
        rank = boards.weights.argsort(1).argsort(1)
        return np.concatenate([cells, np.eye(self.num_objects, dtype=np.uint8)[rank] * here], -1)

    def _set_object(self, boards: PhysicsBoards, index: int, rng: np.random.Generator) -> PhysicsBoards:
        """The same boards with one object, `index`, on another free cell."""
        after = boards.take(np.arange(len(boards)))
        free = rng.permuted(np.tile(np.arange(self.board**2), (len(boards), 1)), axis=1)
        cells = np.stack(np.divmod(free, self.board), -1)
        taken = (cells[:, :, None] == boards.positions[:, None]).all(-1).any(-1)
        after.positions[:, index] = cells[np.arange(len(boards)), taken.argmin(1)]
        return after

    @staticmethod
    def distance(boards: PhysicsBoards, goal: PhysicsBoards) -> np.ndarray:
        """Mean over objects of the L1 distance in cells, (B,) in [0, 2 board - 2]; 0 is solved."""
        gap = np.abs(boards.positions.astype(int) - goal.positions)
        return gap.sum(-1).mean(-1)

    def reward(self, boards: PhysicsBoards, goal: PhysicsBoards) -> np.ndarray:
        """Minus the distance, (B,) <= 0: 0 is solved."""
        return -self.distance(boards, goal)

    # -- the state column of an episode file ------------------------------------------------------------------------

    @staticmethod
    def pack(boards: PhysicsBoards) -> np.ndarray:
        """-> (B, N, 7) float32: row, column, weight, shape, red, green, blue (0..255);
        an eighth is the grey behind, where not black.
        """
        grey, objects = boards.grey[..., None, None], boards.weights.shape[-1]
        behind = np.repeat(grey, objects, -2) if grey.any() else boards.colors[..., :0]
        parts = (boards.positions, boards.weights[..., None], boards.shapes[..., None], boards.colors, behind)
        return np.concatenate([part.astype(np.float32) for part in parts], -1)

    @staticmethod
    def unpack(state: np.ndarray) -> PhysicsBoards:
        """The inverse of `pack`: the simulator restored from a file."""
        return PhysicsBoards(
            state[..., :2].astype(np.int8), state[..., 2], state[..., 3].astype(np.int8), state[..., 4:7].astype(np.uint8),
            state[..., 0, 7].astype(np.uint8) if state.shape[-1] > 7 else None,
        )  # fmt: skip

    @staticmethod
    def target(goal: PhysicsBoards) -> np.ndarray:
        """What the goal column holds, (B, N, 2): the cells to reach."""
        return goal.positions
