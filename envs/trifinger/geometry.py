"""Positions and turns by their other names: cylindrical coordinates, rotation vectors, the angle between two orientations."""

import numpy as np


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
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return np.array([0.0, 0.0, 0.0, 1.0])
    return np.append(np.asarray(turn) / angle * np.sin(angle / 2), np.cos(angle / 2))


def to_turn(quaternion: np.ndarray) -> np.ndarray:
    """xyzw -> rotation vector (3,), angle in [0, pi]"""
    x, y, z, w = np.asarray(quaternion) / np.linalg.norm(quaternion)
    if w < 0:
        x, y, z, w = -x, -y, -z, -w
    length = float(np.linalg.norm((x, y, z)))
    return np.zeros(3) if length < 1e-12 else np.array([x, y, z]) / length * 2 * np.arctan2(length, w)


def angle_between(a: np.ndarray, b: np.ndarray) -> float:
    """Radians in [0, pi] that turn one orientation (xyzw) into the other; q and -q are the same."""
    return 2 * float(np.arccos(min(1.0, abs(float(np.dot(a, b))) / float(np.linalg.norm(a) * np.linalg.norm(b)))))
