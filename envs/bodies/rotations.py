"""Positions and orientations by other names: cylindrical coordinates, rotation vectors, the angle between two orientations."""

import math
from operator import mul

import numpy as np
from scipy.spatial.transform import Rotation


def to_cylindrical(position: np.ndarray) -> np.ndarray:
    """(3,) x, y, z metres -> rho metres, phi radians in [-pi, pi], z metres"""
    x, y, z = position
    return np.array([np.hypot(x, y), np.arctan2(y, x), z])


def from_cylindrical(position: np.ndarray) -> np.ndarray:
    """(3,) rho, phi, z -> x, y, z"""
    rho, phi, z = position
    return np.array([rho * np.cos(phi), rho * np.sin(phi), z])


def to_quaternion(turn: np.ndarray) -> np.ndarray:
    """Rotation vector (3,) axis x angle, radians -> xyzw. CausalWorld calls it euler_orientation; they agree for pure yaw."""
    return Rotation.from_rotvec(turn).as_quat()


def to_turn(quaternion: np.ndarray) -> np.ndarray:
    """xyzw -> rotation vector (3,), angle in [0, pi]"""
    return Rotation.from_quat(quaternion).as_rotvec()


def rotation(quaternion) -> np.ndarray:
    """xyzw of any length but 0 -> (3, 3); columns are the body's axes."""
    x, y, z, w = quaternion
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return np.array([
        [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
        [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
        [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
    ])  # fmt: skip


def angle_between(a: np.ndarray, b: np.ndarray) -> float:
    """Radians in [0, pi] that turn one orientation (xyzw) into the other; q and -q are the same."""
    a, b = a.tolist(), b.tolist()  # of four numbers plain floats are the faster
    return 2 * math.acos(min(1.0, abs(sum(map(mul, a, b))) / (math.hypot(*a) * math.hypot(*b))))
