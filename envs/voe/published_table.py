"""The table of a published trial: where its entities are in every frame, how they are turned, and how large they are."""

from collections.abc import Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from envs.voe import shapes
from envs.voe.clip import CONTAINER, FRAMES, LEFT, OBJECT, OCCLUDER, RIGHT, SHAPES, SUPPORT, WALL
from envs.voe.features import FEATURES
from envs.voe.geometry import container_scale
from envs.voe.scenes import RATE
from envs.voe.settings import CONTAINER_SHAPES
from envs.voe.table import COLUMNS, ENTITIES, KINDS, SHAPES_SEEN, WIDTH

_SEGMENTS = {
    "object": OBJECT, "wall": WALL, "occluder": OCCLUDER, "middle": OCCLUDER, "container": CONTAINER, "support": SUPPORT,
    "left": LEFT, "right": RIGHT,
}  # fmt: skip
# category -> what an object is scaled with along x, y, z: its width, its height, or one
_SCALES = {"A": "w1h", "B": "whh", "C": "wwh", "D": "hhh", "E": "wwh"}
_RELEASED = _SCALES | {"B": "hhh", "E": "1wh"}  # the width of B never reaches the mesh; E is one deep along its way


def poses_of(data: Mapping, category: str) -> dict[str, np.ndarray]:
    """Entity -> (FRAMES, 6): position, Euler angles. Names are those of `envs/voe/table.py`."""
    found: dict[str, list] = {}
    for frame in range(1, FRAMES + 1):
        for entity, place in data["frame"][str(frame)].items():
            name = next((name for name in ENTITIES[category] if name in entity.lower()), None)
            if name is None and entity.lower() in SHAPES and "object" in ENTITIES[category]:
                name = "object"  # named by its shape
            if name is not None:
                found.setdefault(name, []).append([place[kind][axis] for kind in ("Pose", "Orientation") for axis in "xyz"])
    return {name: np.array(rows, float) for name, rows in found.items() if len(rows) == FRAMES}


def of_one_origin(poses: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Poses (FRAMES, 6) of a surprising object of A, as of the origin that it has in the expected version.

    The published surprises of A move the origin of the mesh, its center of mass there, before anything falls. Pictures stay
    those of the expected version until it lands, and the poses of every frame are off: by what the first one shows, turned
    with the body.
    """
    turns = Rotation.from_euler("xyz", poses[:, 3:])
    moved = turns[0].inv().apply(poses[0, :3] - expected[0, :3])  # along its own axes
    return np.concatenate([poses[:, :3] - turns.apply(moved), poses[:, 3:]], 1)


def table(
    category: str, poses: Mapping[str, np.ndarray], features: np.ndarray, masks: np.ndarray, own: bool
) -> np.ndarray:
    """(rows, N, WIDTH) float32; sizes are known of objects and containers alone.  own: `envs/publish.py` wrote the folder."""
    said = dict(zip(FEATURES, features.tolist()))
    found = np.zeros((len(masks), len(ENTITIES[category]), WIDTH), np.float32)
    for row, name in enumerate(ENTITIES[category]):
        if name not in poses:
            continue
        of_row, place = found[:, row], poses[name][: len(masks)]
        turns = Rotation.from_euler("xyz", place[:, 3:]).as_matrix()
        of_row[:, COLUMNS["seen"]] = (masks == _SEGMENTS[name]).any((1, 2))[:, None]
        of_row[:, COLUMNS["position"]] = place[:, :3]
        of_row[:, COLUMNS["velocity"]] = np.diff(place[:, :3], axis=0, prepend=place[:1, :3]) * RATE
        of_row[:, COLUMNS["axes"]] = turns[..., :2].transpose(0, 2, 1).reshape(-1, 6)
        of_row[:, COLUMNS["kind"]] = np.array(KINDS) == _SEGMENTS[name]
        if f"{name}_shape" in said:
            mesh = (*(shapes.CONTAINERS if name == "container" else SHAPES), "")[int(said[f"{name}_shape"])]
            of_row[:, COLUMNS["shape"]] = np.array(SHAPES_SEEN) == mesh
            of_row[:, COLUMNS["size"]] = _half(category, name, mesh, said, own, turns[0])
        if name == "wall" and said["wall_opening"] == 1:
            of_row[:, COLUMNS["opening"]] = 2 * said["opening_width"], 2 * said["opening_height"]
    return found


def _half(category: str, name: str, mesh: str, said: Mapping[str, float], own: bool, turn: np.ndarray) -> np.ndarray:
    """(3,): half of what an object or a container takes along its own axes.  turn (3, 3): of its first frame.

    Of a published container it is what ours would take: its mesh is not known here. Where labels are those released, they give
    its height for its width.
    """
    if name == "container":
        kind = CONTAINER_SHAPES[int(said["container_shape"])]
        scale = container_scale(kind, said["container_width"], said["container_height"])
    else:
        height = said.get(f"{name}_size", said.get(f"{name}_height"))
        known = {"w": said.get(f"{name}_width", height), "h": height, "1": 1.0}
        scale = np.array([known[one] for one in (_SCALES if own else _RELEASED)[category]])
    half = np.ptp(shapes.mesh(mesh).reshape(-1, 3), axis=0) / 2 * scale
    if own:
        return half / (1 + shapes.TUBE) if (category, mesh) == ("E", "torus") else half  # as wide as it is said to be
    return half[np.abs(turn).argmax(0)]  # scaled as it stands: a torus, or what lies, is turned from the axes of its mesh
