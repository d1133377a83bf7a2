"""What follows from sizes alone, before anything moves:
volumes over an edge, what shows over an occluder, what enters a container.
"""

from functools import lru_cache

import numpy as np

from envs.voe import shapes
from envs.voe.scenes import CAMERA

PLANE = -2.0  # y of B's occluder
HEIGHT = 5.0  # of B's occluder
WIDER = {"box": 1.03 / shapes.BOX_INSIDE, "mug": 1.45 / shapes.MUG_INSIDE}  # of a container than its nominal width
HIGHER = {"box": 1.31, "mug": 1.17}  # both fitted to the published counts
_INSIDE = {"box": shapes.BOX_INSIDE, "mug": shapes.MUG_INSIDE}
_DIAGONAL = ("cube", "side_cylinder")  # their corners, not their sides, meet the round wall of a mug


@lru_cache
def volume_held(shape: str, contact: float) -> float:
    """Share of the object's volume that is over the support; `contact` is the share of its width that is not."""
    at = 1 - 2 * contact  # of the edge, where the object goes from -1 to 1
    if shape in ("cube", "side_cylinder"):
        return (1 + at) / 2
    if shape == "sphere":
        return (2 + 3 * at - at**3) / 4
    if shape == "cylinder":
        return float(_disk(np.array(at)))
    steps = (np.arange(2000) + 0.5) / 2000
    if shape == "torus":
        tube = np.sqrt(shapes.TUBE**2 - (steps * shapes.TUBE) ** 2)
        outer, inner, at = 1 + tube, 1 - tube, at * (1 + shapes.TUBE)
        held = outer**2 * _disk(at / outer) - inner**2 * _disk(at / inner)
        return float(held.sum() / (outer**2 - inner**2).sum())
    return float((steps**2 * _disk(at / steps)).sum() / (steps**2).sum())  # cones


def _disk(at: np.ndarray) -> np.ndarray:
    """Share of a disk of radius 1 to the left of x = at."""
    at = np.clip(at, -1.0, 1.0)
    return 0.5 + (at * np.sqrt(1 - at**2) + np.arcsin(at)) / np.pi


def on_occluder(points: np.ndarray) -> np.ndarray:
    """(..., 3) -> (..., 2): x and z where the line from the camera meets the plane of B's occluder."""
    camera = np.array(CAMERA)
    share = (PLANE - camera[1]) / (points[..., 1:2] - camera[1])
    return (camera + share * (points - camera))[..., [0, 2]]


def visible_top(shape: str, height: float, middle: float) -> float:
    """How far the object's highest point shows over the middle segment, measured on the occluder; below 0: it does not.

    Perspective: the camera is higher than the occluder, and looks over its edge at what is behind.
    """
    points = shapes.pieces(shape)[0] * height
    points = points + [0.0, 0.0, (shapes.half_extents(shape) * height)[2]]
    return float(on_occluder(points)[:, 1].max() - HEIGHT * middle)


def container_scale(container: str, width: float, height: float) -> np.ndarray:
    """(3,): of the mesh of a box or a mug of a nominal width and height."""
    return np.array([width * WIDER[container], width * WIDER[container], height * HIGHER[container]])


def opening(container: str, width: float) -> float:
    """Half the width of the opening of a box, the radius of that of a mug; scene units."""
    return _INSIDE[container] * WIDER[container] * width


def depth(container: str, height: float) -> float:
    """From the rim down to the bottom inside; scene units."""
    return (2 - shapes.FLOOR) * HIGHER[container] * height


def reach(shape: str, width: float, container: str) -> float:
    """How far the object reaches from its middle towards the wall of a container; scene units."""
    if container == "mug" and shape in _DIAGONAL:
        return width * np.sqrt(2.0)
    if shape == "torus":
        return width * (1 + shapes.TUBE)
    return width
