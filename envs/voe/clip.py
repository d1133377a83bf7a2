"""A clip: the bodies of one trial and where they are in every frame. Simulations write it, renderers and labels read it."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

FRAMES = 50  # at 24 frames a second

CATEGORIES = {"A": "support", "B": "occlusion", "C": "containment", "D": "collision", "E": "barrier"}
SUBTYPES = ("A1", "A2", "B1", "B2", "C1", "C2", "D1", "D2", "D3", "E1", "E2", "E3")
# in the order of their class numbers
SHAPES = ("cube", "sphere", "torus", "cylinder", "side_cylinder", "cone", "inverted_cone")

# Segment numbers of masks: those of the published set. B's object is 6 there; here every object is 1.
GROUND, OBJECT, WALL, OCCLUDER, CONTAINER, SUPPORT, LEFT, RIGHT = range(8)


class Version(StrEnum):
    """What a clip of a trial shows.

    expected: what physics does.  surprising: it violates the cause that the category asks for.  control: at the same moment
    something else as large in pixels changes, and it is lawful.
    """

    EXPECTED = "expected"
    SURPRISING = "surprising"
    CONTROL = "control"


@dataclass(frozen=True)
class Body:
    """One entity of a scene.

    name: object, left, right, support, container, occluder, wall.  segment: its number in masks.  mesh: name of its shape in
    `Clip.meshes`.  scale (3,): of the mesh along its own axes.  color (3,) in [0, 1].
    """

    name: str
    segment: int
    mesh: str
    scale: tuple[float, float, float]
    color: tuple[float, float, float]


@dataclass(frozen=True)
class Clip:
    """One video before it is drawn; N bodies, the ground is not one of them. Units: scene units (two meters), seconds.

    poses (FRAMES, N, 7): position x y z, then rotation as a quaternion x y z w.  velocities (FRAMES, N, 3).
    shown (FRAMES, N) bool: whether a body is drawn at all.  meshes: name -> triangles (n, 3, 3), counter-clockwise from
    outside, beside the shapes that all clips share (`envs/voe/shapes.py`).  cloth: name of a body -> its triangles in each
    frame (FRAMES, n, 3, 3) in place of mesh and pose, for what bends.
    """

    bodies: tuple[Body, ...]
    poses: np.ndarray
    velocities: np.ndarray
    shown: np.ndarray
    meshes: dict[str, np.ndarray]
    cloth: dict[str, np.ndarray]

    def place(self, name: str) -> np.ndarray:
        """(FRAMES, 3): positions of a body."""
        return self.poses[:, [body.name for body in self.bodies].index(name), :3]
