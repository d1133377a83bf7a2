"""Shapes of the scenes: triangles for renderers, convex pieces for Bullet. A shape at scale 1 fills x, y, z in [-1, 1].

One exception: the torus (radius 1 of its ring, .25 of its tube) is 2.5 wide, 2.5 high and .5 deep; it stands upright and its
hole faces the camera. Triangles are (n, 3, 3), counter-clockwise seen from outside. A piece is (n, 3): corners whose convex
hull is solid.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np

from envs.problem import Problem, nearest

TUBE = 0.25  # of the torus
BOX_INSIDE = 0.90  # half the width of the opening of an open box, whose walls end at 1
MUG_INSIDE = 0.94  # radius of the opening of a mug
FLOOR = 0.12  # thickness of the bottom of a box or a mug
_SIDES, _STAVES = 32, 16  # of what is round to the eye; pieces of a mug's wall

CONTAINERS = ("open_box", "mug")  # both at scale 1 from -1 to 1, open above
COMMON = ("cube", "sphere", "torus", "cylinder", "side_cylinder", "cone", "inverted_cone", *CONTAINERS)


@lru_cache
def mesh(name: str) -> np.ndarray:
    """Triangles (n, 3, 3) of a common shape at scale 1."""
    if name not in COMMON:
        raise Problem(f"there is no shape '{name}': {nearest(str(name), COMMON)}")
    around = np.linspace(0, 2 * np.pi, _SIDES + 1)
    if name == "cube":
        return box((-1, -1, -1), (1, 1, 1))
    if name == "sphere":
        up = np.linspace(-np.pi / 2, np.pi / 2, _SIDES // 2 + 1)
        return _turned(np.cos(up), np.sin(up))
    if name == "torus":
        ring = np.stack([(1 + TUBE * np.cos(around)), TUBE * np.sin(around)], 1)
        upright = _turned(ring[::2, 0], ring[::2, 1])
        return upright[..., [0, 2, 1]] * [1, -1, 1]  # its axis from z to y, by a turn that keeps outside outside
    if name == "cylinder":
        return _turned([0, 1, 1, 0], [-1, -1, 1, 1])
    if name == "side_cylinder":
        return mesh("cylinder")[..., [2, 1, 0]] * [1, 1, -1]
    if name == "cone":
        return _turned([0, 1, 0], [-1, -1, 1])
    if name == "inverted_cone":
        return mesh("cone") * [1, -1, -1]
    if name == "mug":
        cup = _turned([0, 1, 1, MUG_INSIDE, MUG_INSIDE, 0], [-1, -1, 1, 1, FLOOR - 1, FLOOR - 1])
        return np.concatenate([cup, _handle()])
    return _open_box()


def box(low, high) -> np.ndarray:
    """Triangles (12, 3, 3) of a box between two corners."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    square = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, -1, 1], [1, 1, 1], [-1, 1, 1]], float)
    half = [np.roll(np.eye(3), k, 0) for k in range(3)]
    turns = [np.diag(sign) @ turn for turn in half for sign in ((1, 1, 1), (1, -1, -1))]
    return (np.concatenate([square @ turn for turn in turns]) * (high - low) / 2 + (high + low) / 2).reshape(-1, 3, 3)


def occluder_sides(width: float, height: float, middle: float, depth: float) -> np.ndarray:
    """Triangles of the two segments of a U beside its middle one; all standing on z = 0, the middle of all at x = 0.

    width, height: of the whole.  middle: width of the segment between them.
    """
    x, y, m = width / 2, depth / 2, middle / 2
    return np.concatenate([box((-x, -y, 0), (-m, y, height)), box((m, -y, 0), (x, y, height))])


def wall_with_opening(depth: float, width: float, height: float, opening_width: float, opening_height: float) -> np.ndarray:
    """Triangles of a wall across the way (along x), standing on z = 0, with an opening from the ground up in its middle."""
    solid = wall_pieces(depth, width, height, opening_width, opening_height)
    return np.concatenate([box(piece.min(0), piece.max(0)) for piece in solid])


def wall_pieces(depth: float, width: float, height: float, opening_width: float, opening_height: float) -> list[np.ndarray]:
    """Convex pieces of `wall_with_opening`: two posts and what lies over the opening; a wall without one is a single piece."""
    x, y, o = depth / 2, width / 2, opening_width / 2
    if opening_width <= 0 or opening_height <= 0:
        return [_corners((-x, -y, 0), (x, y, height))]
    posts = [_corners((-x, -y, 0), (x, -o, height)), _corners((-x, o, 0), (x, y, height))]
    return posts + ([_corners((-x, -o, opening_height), (x, o, height))] if opening_height < height else [])


def sheet(points: np.ndarray) -> np.ndarray:
    """Triangles (n, 3, 3) of a cloth from its grid of points (rows, columns, 3), each twice:
    a cloth is seen from both sides.
    """
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
    front = np.stack([np.stack([a, b, c], -2), np.stack([a, c, d], -2)]).reshape(-1, 3, 3)
    return np.concatenate([front, front[:, ::-1]])


@lru_cache
def pieces(name: str) -> list[np.ndarray]:
    """Convex pieces of a common shape at scale 1. The hole of the torus is filled: nothing ever goes through it."""
    if name == "open_box":
        inside, floor = BOX_INSIDE, FLOOR - 1
        side = [_corners((-1, -1, -1), (-inside, 1, 1)), _corners((-inside, -1, -1), (inside, -inside, 1))]
        return [*side, *(piece * [-1, -1, 1] for piece in side), _corners((-inside, -inside, -1), (inside, inside, floor))]
    if name == "mug":
        angles = np.linspace(0, 2 * np.pi, _STAVES + 1)
        rim = np.stack([np.cos(angles), np.sin(angles)], 1)
        inside = MUG_INSIDE / np.cos(np.pi / _STAVES)  # staves are flat: their middles are as far away as the round wall is
        arcs = [np.concatenate([radius * rim[i : i + 2] for radius in (inside, 1.0)]) for i in range(_STAVES)]
        wall = [np.concatenate([np.c_[arc, np.full(4, z)] for z in (-1.0, 1.0)]) for arc in arcs]
        return [*wall, np.concatenate([np.c_[rim[:-1], np.full(_STAVES, z)] for z in (-1.0, FLOOR - 1)])]
    return [np.unique(mesh(name).reshape(-1, 3).round(9), axis=0)]


def center_of_mass(name: str) -> np.ndarray:
    """(3,): of a shape at scale 1, uniformly dense."""
    return np.array([0.0, 0.0, {"cone": -0.5, "inverted_cone": 0.5}.get(name, 0.0)])


def half_extents(name: str) -> np.ndarray:
    """(3,): half of what a shape at scale 1 takes along x, y and z."""
    return np.array([1 + TUBE, TUBE, 1 + TUBE]) if name == "torus" else np.ones(3)


def _corners(low, high) -> np.ndarray:
    """(8, 3): of the box between two corners."""
    return np.stack(np.meshgrid(*zip(low, high), indexing="ij"), -1).reshape(8, 3).astype(float)


def _turned(radius, height) -> np.ndarray:
    """Triangles of a profile (radius and height of its points, from below and outside to above) turned about z."""
    radius, height = np.asarray(radius, float), np.asarray(height, float)
    angle = np.linspace(0, 2 * np.pi, _SIDES + 1)
    up = np.repeat(height[:, None], len(angle), 1)
    rows = np.stack([np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle)), up], -1)
    a, b, c, d = rows[:-1, :-1], rows[:-1, 1:], rows[1:, 1:], rows[1:, :-1]
    return _quads(a, b, c, d)


def _quads(a, b, c, d) -> np.ndarray:
    """Triangles (n, 3, 3) of quadrilaterals; those without an area, at the poles, are left out."""
    faces = np.stack([np.stack([a, b, c], -2), np.stack([a, c, d], -2)]).reshape(-1, 3, 3)
    return faces[np.linalg.norm(np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]), axis=1) > 1e-12]


def _handle() -> np.ndarray:
    """Of a mug, at its right side (x > 0); for the eye alone."""
    along, around = np.linspace(-np.pi / 2, np.pi / 2, 9), np.linspace(0, 2 * np.pi, 9)
    out = 0.45 + 0.1 * np.cos(around)
    aside = np.outer(np.ones(9), 0.1 * np.sin(around))
    bow = np.stack([0.98 + np.outer(np.cos(along), out), aside, np.outer(np.sin(along), out)], -1)
    a, b, c, d = bow[:-1, :-1], bow[:-1, 1:], bow[1:, 1:], bow[1:, :-1]
    return _quads(a, b, c, d)


def _open_box() -> np.ndarray:
    """Walls outside and inside, the rim between them, and two floors."""
    inside, faces = BOX_INSIDE, []
    outer, inner = (np.array([[-s, -s], [s, -s], [s, s], [-s, s]]) for s in (1.0, inside))
    levels = ((outer, -1.0), (outer, 1.0), (inner, 1.0), (inner, FLOOR - 1))
    rings = [np.c_[ring, np.full(4, z)] for ring, z in levels]
    for low, high in pairwise(rings):
        for i in range(4):
            a, b, c, d = low[i], low[(i + 1) % 4], high[(i + 1) % 4], high[i]
            faces += [(a, b, c), (a, c, d)]
    bottom, floor = rings[0], rings[-1]
    faces += [bottom[[0, 2, 1]], bottom[[0, 3, 2]], floor[[0, 1, 2]], floor[[0, 2, 3]]]
    return np.array(faces, float)
