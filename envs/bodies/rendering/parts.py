"""What renderers draw: parts, each a shape at a pose in a colour; they know nothing else of a world."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import fast_simplification
import numpy as np

from envs.bodies.rendering.stl import read_stl

FLOOR_SEGMENT, WALL_SEGMENT = 1, 2  # 0 is nothing; every world numbers what else it has
_TRIANGLES = 200  # of a mesh as drawn: at the 5 mm of a pixel more are not to be seen


@dataclass(frozen=True)
class Part:
    """shape: a name of `triangles`, or triangles (n, 3, 3) of its own, which may change from one picture to the next; pose (4,
    4) carries its size; color (3,) in [0, 1]; alpha < 1 is drawn last; casts: a shadow."""

    shape: str | np.ndarray
    pose: np.ndarray
    color: np.ndarray
    segment: int
    alpha: float = 1.0
    casts: bool = True


def triangles(shape: str | np.ndarray, meshes: Mapping[str, np.ndarray]) -> np.ndarray:
    """Corners of a shape's triangles, (n, 3, 3), counter-clockwise seen from outside: box and sphere of size 1, the path of
    an STL file, or a name of `meshes`, which a world hands to its renderer."""
    if isinstance(shape, np.ndarray):
        return shape
    return meshes[shape] if shape in meshes else _known(shape)


@lru_cache
def _known(shape: str) -> np.ndarray:
    if shape == "box":
        square = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, -1, 1], [1, 1, 1], [-1, 1, 1]]) / 2
        turns = [
            np.eye(3),
            np.diag([1, -1, -1]),
            *(np.roll(np.eye(3), k, 0) @ np.diag(s) for k in (1, 2) for s in ((1, 1, 1), (1, -1, -1))),
        ]
        return np.concatenate([square @ turn.T for turn in turns]).reshape(-1, 3, 3)
    if shape == "sphere":
        u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 17), np.linspace(0, np.pi, 9), indexing="ij")
        grid = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], -1) / 2
        return quads(grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1])
    corners, faces = np.unique(read_stl(Path(shape)).astype("f4").reshape(-1, 3), axis=0, return_inverse=True)
    faces = faces.reshape(-1, 3)
    if len(faces) > _TRIANGLES:
        corners, faces = fast_simplification.simplify(corners, faces.astype("i4"), target_count=_TRIANGLES)
    return corners[faces].astype(float)


def quads(a, b, c, d) -> np.ndarray:
    """Triangles (n, 3, 3) of quadrilaterals, whose corners are given one array each."""
    return np.stack([np.stack([a, b, c], -2), np.stack([a, c, d], -2)]).reshape(-1, 3, 3)
