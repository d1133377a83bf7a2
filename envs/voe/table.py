"""The table of a clip: one row for each entity, what it is and where it is, whether or not the camera sees it."""

import numpy as np

from envs.bodies.rotations import rotation
from envs.voe import shapes
from envs.voe.clip import CONTAINER, LEFT, OBJECT, OCCLUDER, RIGHT, SHAPES, SUPPORT, WALL, Body, Clip
from envs.voe.settings import Setting

ENTITIES = {  # of each category, in the order of the rows
    "A": ("object", "support"), "B": ("object", "occluder", "middle"), "C": ("object", "container", "occluder"),
    "D": ("left", "right"), "E": ("object", "wall", "occluder"),
}  # fmt: skip
KINDS = (OBJECT, WALL, OCCLUDER, CONTAINER, SUPPORT, LEFT, RIGHT)
SHAPES_SEEN = (*SHAPES, *shapes.CONTAINERS, "cloth")
COLUMNS = {  # -> numbers of a row
    "seen": slice(0, 1),  # 1: the camera sees some of it; of two bodies with one segment number, of either
    "position": slice(1, 4),  # scene units
    "velocity": slice(4, 7),  # scene units a second
    "axes": slice(7, 13),  # the first two columns of its rotation
    "size": slice(13, 16),  # half of what it takes along its own axes, scene units; of a cloth, as it hangs at first
    "kind": slice(16, 23),  # one-hot: object, wall, occluder, container, support, left, right
    "shape": slice(23, 33),  # one-hot: the seven shapes, box and mug, cloth; of a mesh of its own, zeros
    "opening": slice(33, 35),  # width and height of the opening of a wall, scene units; 0: it has none
}
WIDTH = 35


def table(setting: Setting, clip: Clip, masks: np.ndarray, rows: int) -> np.ndarray:
    """(rows, N, WIDTH) float32, of the first frames.  masks (rows, H, W): segment numbers of what is drawn."""
    names = [body.name for body in clip.bodies]
    found = np.zeros((rows, len(ENTITIES[setting.category]), WIDTH), np.float32)
    for row, name in enumerate(ENTITIES[setting.category]):
        if name not in names:  # a trial without it
            continue
        at = names.index(name)
        body, of_row, poses = clip.bodies[at], found[:, row], clip.poses[:rows, at]
        of_row[:, COLUMNS["seen"]] = ((masks == body.segment).any((1, 2)) & clip.shown[:rows, at])[:, None]
        of_row[:, COLUMNS["position"]] = poses[:, :3]
        of_row[:, COLUMNS["velocity"]] = clip.velocities[:rows, at]
        of_row[:, COLUMNS["axes"]] = [rotation(pose[3:])[:, :2].T.ravel() for pose in poses]
        of_row[:, COLUMNS["size"]] = _half(body, clip)
        of_row[:, COLUMNS["kind"]] = np.array(KINDS) == body.segment
        of_row[:, COLUMNS["shape"]] = np.array(SHAPES_SEEN) == ("cloth" if name in clip.cloth else body.mesh)
        if name == "wall" and setting.barrier == "opening":
            of_row[:, COLUMNS["opening"]] = 2 * setting.opening_width, 2 * setting.opening_height
    return found


def _half(body: Body, clip: Clip) -> np.ndarray:
    """(3,): half extents of a body."""
    if body.name in clip.cloth:
        return np.ptp(clip.cloth[body.name][0].reshape(-1, 3), axis=0) / 2
    mesh = clip.meshes[body.mesh] if body.mesh in clip.meshes else shapes.mesh(body.mesh)
    return np.ptp(mesh.reshape(-1, 3), axis=0) / 2 * body.scale
