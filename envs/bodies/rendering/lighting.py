"""Light: where from, how far its shadows reach, and whether it is small and hard or large and soft."""

from dataclasses import dataclass

import numpy as np

from envs.bodies.rendering.cameras import Camera


@dataclass(frozen=True)
class Lighting:
    """Light that falls in one direction over what lies around `target`.

    direction (3,): to the light, of any length.  reach, depth: half of what the shadow map covers across the light and along
    it, in the units of the world.  pixels: of the shadow map, each side.  background: color where nothing is.
    softness: width of the light over its distance; 0: hard shadows and even light. With a width, shadows grow softer the
    farther they fall, light weakens with the distance from `lamp`, colors pass through a tone curve, and what is round is
    shaded so. lamp (3,): where the light stands.  fade: distance from it at which a quarter of the light is left.
    """

    direction: tuple[float, float, float]
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reach: float = 0.55
    depth: float = 1.0
    pixels: int = 512
    background: tuple[float, float, float] = (0.75, 0.8, 0.85)
    softness: float = 0.0
    lamp: tuple[float, float, float] = (0.0, 0.0, 1.0)
    fade: float = 1.0

    def toward(self) -> np.ndarray:
        """(3,): direction of length 1."""
        return np.array(self.direction) / np.linalg.norm(self.direction)

    def matrix(self) -> np.ndarray:
        """World -> clip space of the shadow map, (4, 4): a camera without perspective."""
        eye = np.array(self.target) + self.direction
        box = np.diag([1 / self.reach, 1 / self.reach, -1 / self.depth, 1.0])
        box[2, 3] = -np.linalg.norm(self.direction) / self.depth
        return box @ Camera(tuple(eye), self.target).view()


ARENA = Lighting((0.35, -0.25, 1.0))  # of tables and robots, a metre wide
