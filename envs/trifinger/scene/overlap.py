"""The filled share of the goals: the exact overlap of rotated boxes, each goal matched with one block.

A box is a row of ten numbers: position of its centre (3, metres), quaternion xyzw (4), edge lengths (3, metres).
"""

import math

import numpy as np
from scipy.optimize import linear_sum_assignment

from envs.bodies.rotations import rotation
from envs.problem import Problem, nearest

_TOUCH = 1e-10  # metres: nearer to a plane counts as on it
_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))  # corners x, y, z by bits 4, 2, 1


def overlap(blocks: np.ndarray, goals: np.ndarray, method: str = "exact") -> float:
    """Fractional success: the filled share of the goals' volume, in [0, 1]; 1 where there is no goal.

    blocks (B, 10), goals (G, 10).  exact: intersection of the turned boxes, the best one-to-one matching of blocks and
    goals.  legacy: CausalWorld's, the sum over all pairs of the intersections of their axis-aligned hulls over the sum of
    the goals' hulls; it ignores rotation, counts a goal with two blocks twice and can pass 1.
    """
    if method not in ("exact", "legacy"):
        raise Problem(f"there is no overlap method '{method}': {nearest(str(method), ('exact', 'legacy'))}")
    blocks, goals = _rows(blocks, "blocks"), _rows(goals, "goals")
    if not len(goals):
        return 1.0
    if not all(edge > 0 for edges in goals[:, 7:].tolist() for edge in edges):  # nor not-a-number
        raise Problem(f"goals must have edges longer than 0, got {goals[:, 7:].tolist()}")
    if method == "legacy":
        return _legacy(blocks, goals)
    if len(blocks) == len(goals) == 1:
        return min(1.0, box_intersection(blocks[0], goals[0]) / math.prod(goals[0, 7:].tolist()))
    shared = np.zeros((len(blocks), len(goals)))
    for i, j in _near(blocks, goals):
        shared[i, j] = box_intersection(blocks[i], goals[j])
    matched = shared[linear_sum_assignment(shared, maximize=True)]
    return min(1.0, float(matched.sum() / goals[:, 7:].prod(1).sum()))


def _rows(boxes, name: str) -> np.ndarray:
    boxes = np.asarray(boxes, float)
    if boxes.ndim != 2 or boxes.shape[1] != 10:
        raise Problem(f"{name} must have shape (n, 10): position 3, quaternion xyzw 4, size 3; got {boxes.shape}")
    return boxes


def _near(blocks: np.ndarray, goals: np.ndarray) -> list[list[int]]:
    """Pairs whose spheres meet; the others share nothing."""
    if len(blocks) * len(goals) < 5:  # asking them all costs less
        return [[i, j] for i in range(len(blocks)) for j in range(len(goals))]
    reach = np.linalg.norm(blocks[:, None, 7:], axis=-1) + np.linalg.norm(goals[None, :, 7:], axis=-1)
    return np.argwhere(2 * np.linalg.norm(blocks[:, None, :3] - goals[None, :, :3], axis=-1) < reach).tolist()


def hull(boxes: np.ndarray) -> np.ndarray:
    """Axis-aligned hull of each box.  (n, 10) -> (n, 2, 3): lowest and highest corner."""
    reach = np.array([np.abs(rotation(box[3:7])) @ box[7:] / 2 for box in boxes]).reshape(-1, 3)
    return np.stack([boxes[:, :3] - reach, boxes[:, :3] + reach], axis=1)


def _legacy(blocks: np.ndarray, goals: np.ndarray) -> float:
    blocks, goals = hull(blocks), hull(goals)
    low = np.maximum(blocks[:, None, 0], goals[None, :, 0])
    high = np.minimum(blocks[:, None, 1], goals[None, :, 1])
    return float(np.clip(high - low, 0, None).prod(-1).sum() / (goals[:, 1] - goals[:, 0]).prod(-1).sum())


def box_intersection(a: np.ndarray, b: np.ndarray) -> float:
    """Volume (cubic metres) that two boxes, each (10,), share.

    b's corners are moved into a's frame and the solid is cut by a's six faces, one after the other; the volume is the sum
    of the tetrahedra between its faces and its middle.  Plain floats: for a single pair arrays cost more than they save.
    """
    ax, ay, az = a[7:].tolist()
    gap = a[:3] - b[:3]
    if math.dist(a[:3], b[:3]) * 2 >= math.hypot(ax, ay, az) + math.hypot(*b[7:].tolist()):
        return 0.0
    turn = rotation(a[3:7]).T  # world -> a's frame
    frame = turn @ rotation(b[3:7]) * (b[7:] / 2)
    cx, cy, cz = (-(turn @ gap)).tolist()
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = frame.tolist()
    if max(abs(zx), abs(zy), abs(xz), abs(yz)) < _TOUCH:  # both stand upright in one another: cut a rectangle in the plane
        height = min(az / 2, cz + abs(zz)) - max(-az / 2, cz - abs(zz))
        if height <= _TOUCH:
            return 0.0
        corners = [(cx + i * xx + j * xy, cy + i * yx + j * yy) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        return height * _area(_cut_rectangle(corners, ax / 2, ay / 2))
    corners = [
        (cx + i * xx + j * xy + k * xz, cy + i * yx + j * yy + k * yz, cz + i * zx + j * zy + k * zz)
        for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)
    ]  # fmt: skip
    solid = [[corners[c] for c in face] for face in _FACES]
    for axis, half in enumerate((ax / 2, ay / 2, az / 2)):
        for sign in (1.0, -1.0):
            solid = _cut(solid, axis, sign, half)
            if not solid:
                return 0.0
    return _volume(solid)


def _cut_polygon(polygon: list[tuple], axis: int, sign: float, half: float) -> list[tuple]:
    """What lies on the inner side of the plane sign * x[axis] = half (Sutherland and Hodgman 1974)."""
    kept = []
    previous = polygon[-1]
    d_previous = sign * previous[axis] - half
    for point in polygon:
        d = sign * point[axis] - half
        if (d > _TOUCH) != (d_previous > _TOUCH):
            t = d_previous / (d_previous - d)
            kept.append(tuple(p + t * (q - p) for p, q in zip(previous, point)))
        if d <= _TOUCH:
            kept.append(point)
        previous, d_previous = point, d
    return kept


def _cut_rectangle(corners: list[tuple], half_x: float, half_y: float) -> list[tuple]:
    for axis, half in ((0, half_x), (1, half_y)):
        for sign in (1.0, -1.0):
            corners = _cut_polygon(corners, axis, sign, half)
            if len(corners) < 3:
                return []
    return corners


def _area(polygon: list[tuple]) -> float:
    return abs(sum(p[0] * q[1] - p[1] * q[0] for p, q in zip(polygon, polygon[1:] + polygon[:1]))) / 2


def _cut(solid: list[list[tuple]], axis: int, sign: float, half: float) -> list[list[tuple]]:
    """The faces of a convex solid after a cut, the new face among them."""
    heights = [sign * point[axis] - half for face in solid for point in face]
    if max(heights) <= _TOUCH:
        return solid
    if min(heights) >= -_TOUCH:
        return []
    faces, rim = [], []
    for face in solid:
        face = _cut_polygon(face, axis, sign, half)
        if len(face) > 2:
            faces.append(face)
            rim += [point for point in face if abs(sign * point[axis] - half) <= _TOUCH]
    if len(rim) > 2:
        u, v = (axis + 1) % 3, (axis + 2) % 3
        mu, mv = sum(p[u] for p in rim) / len(rim), sum(p[v] for p in rim) / len(rim)
        faces.append(sorted(rim, key=lambda p: math.atan2(p[v] - mv, p[u] - mu)))
    return faces


def _volume(solid: list[list[tuple]]) -> float:
    """Of a convex solid: tetrahedra from a point within to the fans of its faces."""
    points = [point for face in solid for point in face]
    mx, my, mz = (sum(point[i] for point in points) / len(points) for i in range(3))
    total = 0.0
    for face in solid:
        px, py, pz = face[0]
        px, py, pz = px - mx, py - my, pz - mz
        whole = 0.0
        for q, r in zip(face[1:], face[2:]):
            qx, qy, qz, rx, ry, rz = q[0] - mx, q[1] - my, q[2] - mz, r[0] - mx, r[1] - my, r[2] - mz
            whole += px * (qy * rz - qz * ry) - py * (qx * rz - qz * rx) + pz * (qx * ry - qy * rx)
        total += abs(whole)  # every fan lies in one plane, so its pieces have one sign
    return total / 6
