"""Poses and sizes of published trials: those of the public generator's meshes, and of our own folders."""

import json

import numpy as np
import pytest

pytest.importorskip("pybullet")
pytest.importorskip("cv2")
from scipy.spatial.transform import Rotation  # noqa: E402
from test_voe_published import FRAMES, TEST, A, world, write  # noqa: E402

from envs.voe import table as drawn  # noqa: E402
from envs.voe.features import features, vector  # noqa: E402
from envs.voe.published_table import of_one_origin, table  # noqa: E402
from envs.voe.settings import published  # noqa: E402
from envs.voe.simulate import simulate  # noqa: E402
from envs.voe.table import COLUMNS, ENTITIES  # noqa: E402

MOVED = np.array([0.4, -0.1, 0.2])  # of an origin, along the axes of the body
TURNS = np.array([np.pi / 2, 0, 0])[None] + np.arange(FRAMES)[:, None] * [0.0, 0.03, 0.01]  # as of a torus that tips


def places(version: str) -> np.ndarray:
    """(FRAMES, 3): it falls, and from frame 20 on the surprising one stays."""
    frames = np.arange(FRAMES) if version == "expected" else np.minimum(np.arange(FRAMES), 20)
    return np.stack([-2 + 0.02 * frames, np.full(FRAMES, -6.9), 6 - 0.05 * frames], 1)


def put(root, version: str, moved=(0.0, 0.0, 0.0)) -> None:
    """A trial whose object is placed and turned so.  moved (3,): of its origin, along its own axes."""
    write(root, "A_support", version, 4501, A)
    path = root / f"A_support/test/{version}/trial_4501/scene_data.json"
    scene = json.loads(path.read_text())
    found = places(version) + Rotation.from_euler("xyz", TURNS).apply(moved)
    for frame, place, turn in zip(scene["frame"].values(), found.tolist(), TURNS.tolist()):
        frame["Object"] = {"Pose": dict(zip("xyz", place)), "Orientation": dict(zip("xyz", turn))}
    path.write_text(json.dumps(scene))


def test_a_moved_origin_is_no_violation(tmp_path):
    """The public generator makes surprises of A by another origin of the mesh, which it writes as the pose: every surprising
    trial was violated in row 0, where its picture is that of the expected version, and its table said so."""
    put(tmp_path, "expected")
    put(tmp_path, "surprising", MOVED)
    expected, surprising = (world(tmp_path).record({**TEST, "version": v}, None, 1)[0] for v in ("expected", "surprising"))
    assert surprising["label_violation"][0] == 21  # the first frame in which it stands where it should move
    assert np.allclose(surprising["objects"][:, 0, COLUMNS["position"]], places("surprising"), atol=1e-5)
    assert np.allclose(surprising["objects"][:21], expected["objects"][:21], atol=1e-5)


def test_where_the_expected_version_is_not_there_poses_are_those_of_the_file(tmp_path):
    put(tmp_path, "surprising", MOVED)
    alone = world(tmp_path).record({**TEST, "version": "surprising"}, None, 1)[0]
    assert alone["label_violation"][0] == -1
    assert not np.allclose(alone["objects"][0, 0, COLUMNS["position"]], places("surprising")[0], atol=0.1)


def test_one_origin_changes_nothing():
    poses = np.concatenate([places("surprising"), TURNS], 1)
    assert (of_one_origin(poses, np.concatenate([places("expected"), TURNS], 1)) == poses).all()


def sizes(category: str, said: dict, own: bool, turn=(0.0, 0.0, 0.0)) -> dict[str, np.ndarray]:
    """Entity -> half extents, of a trial of these features.  turn: Euler angles."""
    poses = {name: np.tile([0.0, 0.0, 0.0, *turn], (FRAMES, 1)) for name in ENTITIES[category]}
    found = table(category, poses, vector(said).astype(np.float32), np.zeros((1, 2, 2), np.uint8), own)
    return dict(zip(ENTITIES[category], found[0, :, COLUMNS["size"]]))


@pytest.mark.parametrize("category", ENTITIES)
def test_sizes_of_our_folders_are_those_of_the_source(category):
    """A trial of each shape and container: they were [width, width, height] of any shape."""
    first = {}
    for setting in published(category):
        first.setdefault((setting.shape, setting.left_shape, setting.container), setting)
    for setting in first.values():
        clip = simulate(setting, "expected").clip
        made = drawn.table(setting, clip, np.zeros((1, 2, 2), np.uint8), 1)[0, :, COLUMNS["size"]]
        read = sizes(category, features(setting, clip), own=True)
        for name, ours in zip(ENTITIES[category], made):
            if name in ("object", "left", "right", "container"):
                assert read[name] == pytest.approx(ours, abs=1e-5), (setting, name)


CUBE, TORUS, LYING = ({"object_width": 0.8, "object_height": 1.2, "object_shape": shape} for shape in (0, 2, 4))
UPRIGHT, ON_ITS_SIDE = (np.pi / 2, 0.0, 0.0), (0.0, 1.55643, 0.0)  # the meshes of a torus and a cylinder are turned so


@pytest.mark.parametrize(("category", "said", "turn", "half"), [
    ("A", CUBE, (0, 0, 0), [0.8, 1.0, 1.2]),
    ("B", CUBE, (0, 0, 0), [1.2, 1.2, 1.2]),
    ("C", CUBE | {"container_width": 1, "container_height": 1, "container_shape": 0}, (0, 0, 0), [0.8, 0.8, 1.2]),
    ("E", CUBE, (0, 0, 0), [1.0, 0.8, 1.2]),
    ("A", TORUS, UPRIGHT, [1.0, 1.5, 0.25]),
    ("A", LYING, ON_ITS_SIDE, [1.2, 1.0, 0.8]),
])  # fmt: skip
def test_sizes_of_published_objects(category, said, turn, half):
    """Half of what the public generator makes of the mesh, along the axes that the table gives beside it."""
    assert sizes(category, said, own=False, turn=turn)["object"] == pytest.approx(half, abs=1e-5)
