"""How large a change is to the eye, before anything is drawn:
outlines of convex parts, one over the other, on a coarse picture.

Controls are sized with it. It knows neither light nor shadow.
"""

from functools import lru_cache

import numpy as np
from scipy.spatial.transform import Rotation

from envs.voe import shapes
from envs.voe.clip import FRAMES, Clip
from envs.voe.scenes import ASIDE, CAMERA, DOWN, HALF_VIEW

HEIGHT, WIDTH = 63, 112
_ORDER = ("support", "wall", "object", "left", "right", "container", "occluder", "middle")  # from the back to the front
_ANGLES = np.linspace(0, 2 * np.pi, 24, endpoint=False) + 0.013  # never along a row
_NORMALS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])


def silhouettes(clip: Clip) -> np.ndarray:
    """(FRAMES, HEIGHT, WIDTH) uint8: what is in front, 1 + number of the body; 0 where nothing is."""
    picture = np.zeros((FRAMES, HEIGHT, WIDTH), np.uint8)
    for i in sorted(range(len(clip.bodies)), key=lambda i: _ORDER.index(clip.bodies[i].name)):
        body = clip.bodies[i]
        if body.name in clip.cloth:
            parts = [clip.cloth[body.name].reshape(FRAMES, -1, 3)]
        else:
            rotation = Rotation.from_quat(clip.poses[:, i, 3:]).as_matrix()
            parts = [
                (part * body.scale) @ rotation.transpose(0, 2, 1) + clip.poses[:, i, None, :3] for part in _parts(body, clip)
            ]
        for part in parts:
            picture[outline(part) & clip.shown[:, i, None, None]] = i + 1
    return picture


def project(points: np.ndarray) -> np.ndarray:
    """(..., 3) in the scene -> (..., 2): x to the right and y up, both in halves of the picture's width."""
    away = points - np.array(CAMERA)
    forward = np.array([np.sin(ASIDE) * np.cos(DOWN), np.cos(ASIDE) * np.cos(DOWN), -np.sin(DOWN)])
    right = np.array([np.cos(ASIDE), -np.sin(ASIDE), 0.0])
    depth = np.maximum(away @ forward, 0.1)
    return np.stack([away @ right / depth, away @ np.cross(right, forward) / depth], -1) / HALF_VIEW


def outline(points: np.ndarray) -> np.ndarray:
    """(FRAMES, n, 3) -> (FRAMES, HEIGHT, WIDTH) bool: pixels within the convex hull of the points."""
    farthest = (project(points) @ _NORMALS).max(1)  # (FRAMES, angles)
    y = (1 - (np.arange(HEIGHT) + 0.5) * 2 / HEIGHT) * HEIGHT / WIDTH
    x = (np.arange(WIDTH) + 0.5) * 2 / WIDTH - 1
    limit = (farthest[:, :, None] - _NORMALS[1][:, None] * y) / _NORMALS[0][:, None]
    to_right = _NORMALS[0] > 0
    low, high = limit[:, ~to_right].max(1), limit[:, to_right].min(1)
    return (x >= low[..., None]) & (x <= high[..., None])


def size(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the picture that differs between two clips' silhouettes, the mean over all frames."""
    return float((one != other).mean())


def shows(one: np.ndarray, other: np.ndarray) -> int:
    """The first frame in which two clips' silhouettes differ; FRAMES where they never do."""
    differ = (one != other).any((1, 2))
    return int(np.argmax(differ)) if differ.any() else FRAMES


def _parts(body, clip: Clip) -> list[np.ndarray]:
    """Corners of convex parts; a mesh of the clip's own is made of boxes."""
    if body.mesh in clip.meshes:
        return [box.reshape(-1, 3) for box in clip.meshes[body.mesh].reshape(-1, 12, 3, 3)]
    return [_hull(body.mesh)]


@lru_cache
def _hull(mesh: str) -> np.ndarray:
    return np.unique(shapes.mesh(mesh).reshape(-1, 3).round(6), axis=0)
