"""Cameras: position, target, field of view, picture size."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Camera:
    """eye, target (3,) metres in the world; fov: vertical, degrees; size in pixels.

    aspect: width over height of what is seen, where that is not the pixels' own: the picture is squeezed.
    roll: degrees that the camera is turned about its axis, its right side upwards.
    mirrored: rows read from right to left, as CausalWorld's pictures are.
    """

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    fov: float = 52.0
    height: int = 128
    width: int = 128
    near: float = 0.02
    far: float = 4.0
    mirrored: bool = False
    roll: float = 0.0
    aspect: float | None = None

    def sized(self, height: int, width: int) -> "Camera":
        return replace(self, height=height, width=width)

    def plain(self) -> dict:
        """As JSON holds it."""
        return {key: np.asarray(value).tolist() for key, value in asdict(self).items()}

    @classmethod
    def of(cls, plain: Mapping) -> "Camera":
        """The inverse of `plain`."""
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()})

    def view(self) -> np.ndarray:
        """World -> camera, (4, 4): x to the right, y up, looking along -z."""
        eye, forward = np.array(self.eye), np.array(self.target) - self.eye
        forward = forward / np.linalg.norm(forward)
        up = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
        right = np.cross(forward, up)
        right /= np.linalg.norm(right)
        up, angle = np.cross(right, forward), np.radians(self.roll)
        right, up = np.cos(angle) * right + np.sin(angle) * up, np.cos(angle) * up - np.sin(angle) * right
        turn = np.stack([right, up, -forward])
        return np.block([[turn, -(turn @ eye)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])

    def projection(self) -> np.ndarray:
        """Camera -> clip space of OpenGL, (4, 4)."""
        scale, n, f = 1 / np.tan(np.radians(self.fov) / 2), self.near, self.far
        across = scale * self.height / self.width if self.aspect is None else scale / self.aspect
        return np.array([
            [across, 0, 0, 0], [0, scale, 0, 0],
            [0, 0, (f + n) / (n - f), 2 * f * n / (n - f)], [0, 0, -1, 0],
        ])  # fmt: skip

    def metres(self, depth: np.ndarray) -> np.ndarray:
        """A depth buffer in [0, 1] -> distance along the view axis in metres."""
        return self.near * self.far / (self.far - depth * (self.far - self.near))
