"""The published folders are read, faults and all: a miniature in their exact layout, written here."""

import json

import numpy as np
import pytest

pytest.importorskip("pybullet")
cv2 = pytest.importorskip("cv2")
from envs.collect import collect  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.protocols import Source  # noqa: E402
from envs.voe import published_files as files  # noqa: E402
from envs.voe.clip import FRAMES, OBJECT, SUBTYPES, SUPPORT  # noqa: E402
from envs.voe.features import FEATURES  # noqa: E402
from envs.voe.published import PublishedVoe  # noqa: E402
from envs.voe.recording import DEPTH_STEP  # noqa: E402
from envs.voe.settings import published  # noqa: E402

HEIGHT, WIDTH = 54, 96
TEST = {"segment": "test", "length": 49}
A = {
    "features": {"object_height": 1.2, "object_width": 0.8, "contact_point": 0.7, "object_shape": "Torus"},
    "prior_rules": {
        "does_object_have_majority_contact_proportion?": False, "does_object_have_majority_volume_proportion?": False,
    },
    "posterior_rules": {"does_support_hold_object?": True},  # inverted there: it fell
}  # fmt: skip
C = {
    "features": {"object_height": 0.6, "object_width": 0.6, "container_height": 1.1, "container_width": 1.1,
                 "object_shape": "Cube", "container_shape": "mug"},
    "prior_rules": {"is_object_taller_than_container?": True, "is_object_thinner_than_container?": True},
    "posterior_rules": {"did_the_object_fit?": True, "did_the_object_protude?": False},
}  # fmt: skip
D = {
    "features": {"left_size": 1.0, "right_size": 1.0, "left_prior_velocity": 2.0, "right_prior_velocity": -1.0,
                 "left_posterior_velocity": 0.5, "right_posterior_velocity": 0.5, "left_shape": "Side_Cylinder",
                 "right_shape": "Cone"},
    "prior_rules": {"is_right_object_larger?": False, "are_both_objects_same_size?": True, "is_right_object_faster?": False,
                    "are_both_objects_same_speed?": False},
    "posterior_rules": {"did_right_object_change_direction?": True, "did_left_object_change_direction?": False,
                        "did_right_object_increase_speed_magnitude?": False,
                        "did_left_object_increase_speed_magnitude?": False},
}  # fmt: skip
NAMES = {
    "A_support": ("Object", "Support"),
    "C_container": ("Object", "Container"),
    "D_collision": ("Left_Object", "Right_Object"),
}
IDS = {"Object": 1, "Support": 5, "Container": 4, "Left_Object": 6, "Right_Object": 7}


def write(root, folder: str, version: str, trial: int, labels: dict, frames: int = FRAMES, moves_from: int = FRAMES) -> None:
    """One trial. Its first entity is a square that moves to the right, and stands from frame `moves_from` on."""
    home = root / folder / "test" / version / f"trial_{trial}"
    home.mkdir(parents=True)
    video = cv2.VideoWriter(str(home / "rgb.avi"), cv2.VideoWriter_fourcc(*"DIVX"), 24, (WIDTH, HEIGHT))
    ids, poses = np.zeros((HEIGHT, WIDTH, FRAMES), np.uint8), {}
    first, second = NAMES[folder]
    for frame in range(FRAMES):
        x = min(frame, moves_from)
        picture = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
        picture[20:40, x : x + 20] = (0, 0, 220)  # blue, green, red
        if frame < frames:
            video.write(picture)
        ids[20:40, x : x + 20, frame] = IDS[first]
        ids[45:, :, frame] = IDS[second]
        ids[44, :, frame] = IDS[second] - (1 if folder == "A_support" else 0)  # JPEG
        poses[str(frame + 1)] = {
            name: {
                "Pose": {"x": x / 10 if name == first else -4.5, "y": 0.0, "z": 2.0},
                "Orientation": {"x": 0.0, "y": 0.0, "z": 0.0},
            }
            for name in (first, second)
        }
    video.release()
    np.savez_compressed(home / "inst_raw.npz", ids)
    np.savez_compressed(home / "depth_raw.npz", np.full((HEIGHT, WIDTH, FRAMES), 30, np.uint8))
    (home / "physical_data.json").write_text(json.dumps(labels))
    instance = {
        "0": {"type": "ground"},
        **{str(IDS[name]): {"type": name.lower(), "colour": "red"} for name in (first, second)},
    }
    scene = {
        "trial_num": trial,
        "dataset_segment": "test",
        "violation": version == "surprising",
        "frame": poses,
        "instance": instance,
    }
    (home / "scene_data.json").write_text(json.dumps(scene))


@pytest.fixture
def root(tmp_path):
    write(tmp_path, "A_support", "expected", 4501, A)
    held = {**A, "posterior_rules": {"does_support_hold_object?": False}}
    write(tmp_path, "A_support", "surprising", 4501, held, moves_from=20)
    write(tmp_path, "A_support", "expected", 4502, A)
    return tmp_path


def world(root, category="support", **options) -> PublishedVoe:
    return PublishedVoe(category, str(root), size=32, **options)


def test_a_trial_is_read_as_what_it_shows(root):
    columns, lengths = world(root).record({**TEST, "version": "expected"}, None, 2)
    assert isinstance(world(root), Source) and lengths.tolist() == [FRAMES, FRAMES]
    assert columns["label_trial"].tolist() == [4501] * FRAMES + [4502] * FRAMES
    assert columns["pixels"].shape == (2 * FRAMES, 32, 32, 3) and columns["depth"][0, 0, 0] * DEPTH_STEP == 30
    masks, pixels = columns["mask"][:FRAMES], columns["pixels"][:FRAMES].astype(int)
    assert set(np.unique(masks)) == {0, OBJECT, SUPPORT}  # none that JPEG made
    red = (pixels[..., 0] > 150) & (pixels[..., 2] < 100)
    assert (red & (masks == OBJECT)).sum() > 0.8 * (masks == OBJECT).sum()  # first red, where the mask has it
    assert np.diff(columns["objects"][:FRAMES, 0, 1]) == pytest.approx(0.1, abs=1e-5)  # x of the object
    assert columns["objects"][:, 0, 0].all() and columns["objects"][0, 0, 13:16] == pytest.approx([1, 0.25, 1.5])


def test_released_labels_are_the_files_and_ours_are_mended(root):
    for kind, holds in (("released", 1), ("ours", 0)):
        labels = world(root, labels=kind).record({**TEST, "version": "expected"}, None, 1)[0]
        assert labels["label_posterior"][0].tolist() == [holds] + [2] * 8
        assert labels["label_prior"][0].tolist() == [0, 0] + [2] * 11
        assert SUBTYPES[labels["label_subtype"][0]] == "A1"
        features = dict(zip(FEATURES, labels["label_features"][0].tolist()))
        assert features["object_shape"] == 2 and features["contact_point"] == pytest.approx(0.7) and features["left_shape"] == 7
        assert features["left_size"] == -1 and features["wall_soft"] == 2


def test_the_pair_of_a_trial_has_one_subtype_and_a_moment(root):
    surprising = world(root).record({**TEST, "version": "surprising"}, None, 1)[0]
    assert SUBTYPES[surprising["label_subtype"][0]] == "A1" and surprising["label_version"][0] == 1
    assert surprising["label_violation"][0] == 21  # the first frame in which it stands where it should move
    short = world(root).record({**TEST, "version": "surprising", "length": 9}, None, 1)[0]
    assert len(short["label_violation"]) == 10 and short["label_violation"][0] == -1  # it is not in these frames
    assert world(root).record({**TEST, "version": "expected"}, None, 1)[0]["label_violation"][0] == -1
    assert world(root).versions("test") == {"expected": "test", "surprising": "test-surprising"}


def test_width_of_a_container_and_signed_velocities(tmp_path):
    write(tmp_path, "C_container", "expected", 4501, C)
    write(tmp_path, "D_collision", "expected", 4501, D)
    split = {**TEST, "version": "expected"}
    width = list(FEATURES).index("container_width")
    released, ours = (world(tmp_path, "containment", labels=kind).record(split, None, 1)[0] for kind in ("released", "ours"))
    assert released["label_features"][0, width] == pytest.approx(1.1)
    assert ours["label_features"][0, width] == pytest.approx(published("C")[4500].container_width)
    assert released["label_prior"][0, 3] == 1 and ours["label_prior"][0, 3] == 0  # .6 high is not taller than 1.1
    labels = world(tmp_path, "collision").record(split, None, 1)[0]
    features = dict(zip(FEATURES, labels["label_features"][0].tolist()))
    assert (
        features["right_prior_speed"] == 1
        and features["right_prior_direction"] == 0
        and features["right_posterior_direction"] == 1
    )
    assert (features["left_shape"], features["right_shape"]) == (4, 5) and SUBTYPES[labels["label_subtype"][0]] == "D3"


def broken_video(home):
    (home / "rgb.avi").write_bytes((home / "rgb.avi").read_bytes()[:3000])


def no_video(home):
    (home / "rgb.avi").unlink()


def unknown_rule(home):
    labels = {**A, "posterior_rules": {"does_suport_hold_object?": True}}
    (home / "physical_data.json").write_text(json.dumps(labels))


def unknown_feature(home):
    (home / "physical_data.json").write_text(json.dumps({**A, "features": {**A["features"], "obj_height": 1.0}}))


def few_poses(home):
    scene = json.loads((home / "scene_data.json").read_text())
    del scene["frame"]["50"]
    (home / "scene_data.json").write_text(json.dumps(scene))


def no_depth(home):
    (home / "depth_raw.npz").write_bytes(b"nothing")


def no_rule(home):
    """Read as "irrelevant", it made every version surprising."""
    (home / "physical_data.json").write_text(json.dumps({**A, "posterior_rules": {}}))


def no_prior_rule(home):
    labels = {**A, "prior_rules": {"does_object_have_majority_contact_proportion?": False}}
    (home / "physical_data.json").write_text(json.dumps(labels))


def of_another_category(home):
    (home / "physical_data.json").write_text(json.dumps(D))


def no_contact(home):
    labels = {**A, "features": {key: value for key, value in A["features"].items() if key != "contact_point"}}
    (home / "physical_data.json").write_text(json.dumps(labels))


def changed_scene(change):
    def damage(home):
        scene = json.loads((home / "scene_data.json").read_text())
        change(scene)
        (home / "scene_data.json").write_text(json.dumps(scene))

    return damage


def array(name, found):
    return lambda home: np.savez_compressed(home / name, found)


def deep(home):
    (home / "scene_data.json").write_text("[" * 100_000)


NO_POSE = "in frame 7 without x, y, z of its 'Pose' and 'Orientation' in numbers"


@pytest.mark.parametrize(("damage", "sentence"), [
    (no_rule, "physical_data.json does not say 'does_support_hold_object', which trials of A_support have"),
    (no_prior_rule, "does not say 'does_object_have_majority_volume_proportion'"),
    (of_another_category, "does not say 'object_height'"),
    (no_contact, "does not say 'contact_point'"),
    (changed_scene(lambda scene: scene["instance"].update(one={})), "has instances .*numbers from 0 to 255"),
    (changed_scene(lambda scene: scene.update(instance=None)), "has instances None"),
    (changed_scene(lambda scene: scene["instance"].update({"256": {}})), "numbers from 0 to 255"),
    (changed_scene(lambda scene: scene["frame"]["7"]["Object"].pop("Pose")), NO_POSE),
    (changed_scene(lambda scene: scene["frame"]["7"]["Object"]["Pose"].update(x=None)), NO_POSE),
    (changed_scene(lambda scene: scene["frame"].update({"7": []})), NO_POSE),
    (deep, "scene_data.json cannot be read as JSON"),
    (array("depth_raw.npz", np.full((HEIGHT, WIDTH, FRAMES), np.nan)),
     "depth_raw.npz holds float64, a published one whole numbers"),
    (array("depth_raw.npz", np.full((HEIGHT, WIDTH, FRAMES), "far")), "depth_raw.npz holds <U3"),
    (array("inst_raw.npz", np.zeros((HEIGHT, WIDTH, FRAMES), np.uint16)),
     "inst_raw.npz holds uint16, instances are numbers of one byte"),
    (array("inst_raw.npz", np.zeros((HEIGHT, 9, FRAMES), np.uint8)), "inst_raw.npz has 54 x 9 pixels, its video 54 x 96"),
    (broken_video, "rgb.avi cannot be read as a video"),
    (no_video, "rgb.avi does not exist"),
    (unknown_rule, "unknown rule 'does_suport_hold_object.': did you mean 'does_support_hold_object'"),
    (unknown_feature, "unknown feature 'obj_height': did you mean 'object_height'"),
    (few_poses, "scene_data.json has poses of 49 frames"),
    (no_depth, "depth_raw.npz cannot be read as the array 'arr_0'"),
])  # fmt: skip
def test_a_broken_trial_is_named_and_left_out_only_if_asked(root, capsys, damage, sentence):
    damage(root / "A_support/test/expected/trial_4501")
    split = {**TEST, "version": "expected"}
    with pytest.raises(Problem, match=f"trial_4501.*{sentence}.*skip_broken=true"):
        world(root).record(split, None, 2)
    columns, lengths = world(root, skip_broken=True).record(split, None, 2)
    assert lengths.tolist() == [FRAMES] and set(columns["label_trial"]) == {4502}
    assert "left out" in capsys.readouterr().err


@pytest.mark.parametrize("broken", [4501, 4502])
@pytest.mark.parametrize("rows", [FRAMES, 2 * FRAMES], ids=["a block each", "one block"])
def test_a_broken_trial_is_left_out_wherever_it_stands(root, tmp_path, broken, rows):
    """The first, of which the columns are learned, or all of a block."""
    few_poses(root / f"A_support/test/expected/trial_{broken}")
    plan = {"name": "voe", "block_rows": rows, "splits": {"test": {**TEST, "version": "expected", "episodes": 2, "seed": 1}}}
    file = collect(plan, world(root, skip_broken=True), "test", tmp_path / "data", quiet=True)
    assert file.ep_len.tolist() == [FRAMES] and set(file.read("label_trial")["label_trial"]) == {4501 + 4502 - broken}


def test_where_no_trial_can_be_read_it_is_said(root):
    for trial in (4501, 4502):
        few_poses(root / f"A_support/test/expected/trial_{trial}")
    with pytest.raises(Problem, match="none of 2 trials of .* can be read; restore them"):
        world(root, skip_broken=True).record({**TEST, "version": "expected"}, None, 1)


def test_a_wrong_count_of_frames(tmp_path):
    write(tmp_path, "A_support", "expected", 4501, A, frames=40)
    with pytest.raises(Problem, match="has 40 frames, a published video has 50"):
        world(tmp_path).record({**TEST, "version": "expected"}, None, 1)


def test_what_is_not_there_is_said(root, tmp_path):
    with pytest.raises(Problem, match="no folder .*E_barrier.*env.world.root="):
        world(root, "barrier").header()
    with pytest.raises(Problem, match="no controls, and no surprising trials for training"):
        world(root).record({"segment": "train", "version": "surprising", "length": 49}, None, 1)
    with pytest.raises(Problem, match="holds 2 trials, got 50 episodes"):
        world(root).record({**TEST, "version": "expected"}, None, 50)
    with pytest.raises(Problem, match="did you mean 'support'"):
        world(root, "suport")
    with pytest.raises(Problem, match="no folder .*control; the published set has no controls"):
        world(root).record({**TEST, "version": "control"}, None, 1)


def test_both_spellings_of_a_rule(tmp_path):
    for spelt in ("did_the_object_protude?", "did_the_object_protrude?", "did_the_object_protrude"):
        (tmp_path / "x.json").write_text(json.dumps({**C, "posterior_rules": {"did_the_object_fit?": True, spelt: True}}))
        assert files.labels(tmp_path / "x.json", "C", 1, "released")[2][3] == 1
