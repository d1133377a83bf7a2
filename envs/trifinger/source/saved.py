"""Saved states as rows of numbers, and the table of entities of a row, which models are shown.

A row holds everything that `TriFingerEnv.save` gives, float64, in the order of the dict: a simulation from a row equals the
one from the saved state bit for bit. The order is the same for all states with the same objects.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from envs.problem import Problem
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.scene.state import CUBE, State, of_type

FINGERS = 3
FEATURES = (  # of a row of the table; the other kind of entity has zeros there
    ("is_block", 1), ("position", 3),  # metres: of the tip, or of the block's centre
    ("joint_positions", 3), ("joint_velocities", 3),  # of a finger, rad and rad/s
    ("axes", 6),  # of a block: its first two axes in the world; a quaternion has two signs
    ("linear_velocity", 3), ("angular_velocity", 3), ("size", 3), ("mass", 1),  # m/s, rad/s, m, kg
)  # fmt: skip
WIDTH = sum(width for _, width in FEATURES)
COLUMNS = {name: slice(end - width, end) for (name, width), end in zip(FEATURES, np.cumsum([w for _, w in FEATURES]).tolist())}


@dataclass(frozen=True)
class States:
    """B states of one scene. rows (B, S) float64, as `Layout` orders them."""

    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index) -> "States":
        return States(self.rows[index])


class Layout:
    """Where each number of a saved state stands in a row. saved: any state of the scene."""

    def __init__(self, saved: State) -> None:
        self._shapes = dict(_leaves(saved))
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes.values()]).tolist()
        self.width = ends[-1]
        self.slices = {path: slice(start, end) for path, start, end in zip(self._shapes, [0, *ends], ends)}
        self.blocks = of_type(saved, CUBE)

    def row(self, saved: State) -> np.ndarray:
        """(S,). A Problem where the objects are others."""
        leaves = dict(_leaves(saved))
        if leaves != self._shapes:
            other = sorted(leaves.keys() ^ self._shapes.keys())[:1]
            raise Problem(f"states of one source have the same objects, got one with other entries {other}; leave out what "
                          f"changes their number")  # fmt: skip
        return np.concatenate([np.ravel(part) for part in _parts(saved)]).astype(np.float64, copy=False)

    def saved(self, row: np.ndarray) -> State:
        """The inverse of `row`."""
        state: State = {}
        for path, shape in self._shapes.items():
            name, _, key = path.partition("/")
            value = row[self.slices[path]].reshape(shape)
            if key:
                state.setdefault(name, {})[key] = value
            else:
                state[name] = value
        return state

    def of(self, rows: np.ndarray, path: str) -> np.ndarray:
        """One entry of many rows, (B, width)."""
        return rows[:, self.slices[path]]

    def table(self, rows: np.ndarray, kinematics: Kinematics) -> np.ndarray:
        """rows (B, S)  ->  (B, 3 + blocks, WIDTH) float32: the fingers 60, 120, 300, then the blocks. No goal and no time."""
        batch = len(rows)
        table = np.zeros((batch, FINGERS + len(self.blocks), WIDTH), np.float32)
        joints = self.of(rows, "joint_positions")
        fingers = table[:, :FINGERS]
        fingers[..., COLUMNS["position"]] = np.array([kinematics.tips(q) for q in joints]).reshape(batch, FINGERS, 3)
        for name in ("joint_positions", "joint_velocities"):
            fingers[..., COLUMNS[name]] = self.of(rows, name).reshape(batch, FINGERS, 3)
        for entity, name in enumerate(self.blocks, FINGERS):
            block = table[:, entity]
            block[:, COLUMNS["is_block"]] = 1
            block[:, COLUMNS["position"]] = self.of(rows, f"{name}/cartesian_position")
            block[:, COLUMNS["axes"]] = two_axes(self.of(rows, f"{name}/orientation"))
            for key in ("linear_velocity", "angular_velocity", "size", "mass"):
                block[:, COLUMNS[key]] = self.of(rows, f"{name}/{key}")
        return table

    def with_table(self, rows: np.ndarray, table: np.ndarray) -> np.ndarray:
        """rows (B, S) with the joints and the blocks of a table (B, N, WIDTH): good to be drawn; velocities stay."""
        rows = rows.copy()
        rows[:, self.slices["joint_positions"]] = table[:, :FINGERS, COLUMNS["joint_positions"]].reshape(len(rows), -1)
        for entity, name in enumerate(self.blocks, FINGERS):
            rows[:, self.slices[f"{name}/cartesian_position"]] = table[:, entity, COLUMNS["position"]]
            rows[:, self.slices[f"{name}/orientation"]] = of_two_axes(table[:, entity, COLUMNS["axes"]])
        return rows

    def moved(self, before: np.ndarray, after: np.ndarray, distance: float = 1e-3, angle: float = 0.02) -> np.ndarray:
        """Whether any block went further than a distance (metres) or turned by more than an angle (radians), (B,) bool."""
        moved = np.zeros(len(before), bool)
        for name in self.blocks:
            way = self.of(after, f"{name}/cartesian_position") - self.of(before, f"{name}/cartesian_position")
            turn = (self.of(after, f"{name}/orientation") * self.of(before, f"{name}/orientation")).sum(-1)
            moved |= (np.linalg.norm(way, axis=-1) > distance) | (2 * np.arccos(np.clip(np.abs(turn), 0, 1)) > angle)
        return moved


def two_axes(quaternion: np.ndarray) -> np.ndarray:
    """xyzw (B, 4)  ->  the body's first two axes in the world, (B, 6)."""
    x, y, z, w = (quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)).T
    return 2 * np.stack([
        0.5 - y * y - z * z, x * y + z * w, x * z - y * w, x * y - z * w, 0.5 - x * x - z * z, y * z + x * w,
    ], -1)  # fmt: skip


def of_two_axes(axes: np.ndarray) -> np.ndarray:
    """(B, 6)  ->  xyzw (B, 4): the rotation whose first two axes are nearest, the first kept."""
    first, second = np.asarray(axes, float).reshape(-1, 2, 3).transpose(1, 0, 2)
    first = first / np.linalg.norm(first, axis=-1, keepdims=True)
    second = second - (first * second).sum(-1, keepdims=True) * first
    second = second / np.linalg.norm(second, axis=-1, keepdims=True)
    return Rotation.from_matrix(np.stack([first, second, np.cross(first, second)], -1)).as_quat()


def _leaves(saved: Mapping):
    """Path and shape of every array."""
    for name, value in saved.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}/{key}", np.shape(part)) for key, part in value.items())
        else:
            yield name, np.shape(value)


def _parts(saved: Mapping):
    for value in saved.values():
        yield from value.values() if isinstance(value, Mapping) else (value,)
