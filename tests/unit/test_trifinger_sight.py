"""What models see of TriFinger as pictures: cameras, sizes, and pixels that are means."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger.scene.views import FRONT  # noqa: E402
from envs.trifinger.source import TriFingerSource  # noqa: E402
from envs.trifinger.source.sight import Sight, earlier  # noqa: E402


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"camera": "frnt"}, "did you mean 'front'.*env.world.camera"),
        ({"observation": "views", "camera": "front"}, "of 3 cameras, and camera 'front' is one.*env.observation=pixels"),
        ({"drawn": 0}, "drawn 1 to 4, got 0; set env.world.drawn"),
        ({"drawn": 1.5}, "got 1.5"),
        ({"motion": 0}, "more than 0 and at most 0.5 s, or null for one picture, got 0; set env.world.motion="),
        ({"motion": "long"}, "got 'long'"),
        ({"drawn": True}, "got True; set env.world.drawn="),
        ({"camera": ["front"]}, "there is no camera.*env.world.camera="),
        ({"size": 0}, "pixels >= 1 along a side, got 0; set env.world.image_size="),
        ({"size": None}, "got None; set env.world.image_size="),
    ],
)
def test_a_sight_that_there_is_not_is_one_sentence(wrong, said):
    with pytest.raises(Problem, match=said):
        Sight(**{"observation": "pixels", **wrong})


def test_a_pixel_is_the_mean_of_those_drawn_in_its_place():
    """Each camera's colours stay together, rows and columns in place."""
    drawn = np.random.default_rng(0).integers(0, 256, (2, 3, 8, 8, 3)).astype(np.uint8)
    shown = Sight("views", size=4, drawn=2).shown(drawn)
    assert shown.shape == (2, 4, 4, 9)
    for camera in range(3):
        mean = drawn[1, camera, 2:4, 4:6].astype(float).mean((0, 1))
        assert shown[1, 1, 2, 3 * camera : 3 * camera + 3] == pytest.approx(mean, abs=0.5)
    assert np.array_equal(Sight("views", size=8).shown(drawn)[..., 3:6], drawn[:, 1])


def test_headers_of_before_stay_and_another_camera_is_told_by_where_it_stands():
    assert Sight("pixels").header() == {"image_size": 64} and Sight("objects", drawn=2).header() == {}
    (where,) = Sight("pixels", "front", drawn=2).header()["camera"]
    assert Sight("pixels", motion=0.04).header() == {"image_size": 64, "motion": 0.04}
    assert len(where) == 7 and Sight("pixels", drawn=2).header() == {"image_size": 64, "drawn": 2}


@pytest.fixture(scope="module")
def world():
    return TriFingerSource("pushing", observation="pixels", image_size=32, camera="front", drawn=2, motion=0.04,
                           renderer="bullet", workers=1, collision="primitive")  # fmt: skip


def test_the_front_camera_sees_every_finger(world):
    """Segments of the start of pushing: each has its colour, red, green and blue."""
    state = world.reset(2, np.random.default_rng(0))
    seen = world.observe(state, "pixels").astype(int)
    assert seen.shape == (2, 32, 32, 6) and world.spec.shown("pixels").shape == (32, 32, 6)
    for color in range(3):
        others = seen[..., [other for other in range(3) if other != color]].max(-1)
        assert (seen[..., color] > others + 40).mean((1, 2)).min() > 0.01


def test_the_front_camera_has_the_whole_floor_and_the_fingers_over_it_in_its_picture():
    """Where blocks lie in either space, to .19 m from the middle, and tips up to a decimetre above."""
    angle = np.linspace(0, 2 * np.pi, 24)
    for radius, height in ((0.19, 0.0), (0.1, 0.1)):
        points = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(24, height), np.ones(24)])
        seen = FRONT.projection() @ FRONT.view() @ points
        assert np.abs(seen[:2] / seen[3]).max() < 1


def test_the_moment_before_is_where_all_was_at_its_velocity(world):
    """At rest both pictures are one; after a step the second is that of joints and block set back, and the first is today's."""
    rest = world.reset(1, np.random.default_rng(1))
    seen = world.observe(rest, "pixels")
    assert np.array_equal(seen[..., :3], seen[..., 3:])
    rows = world.pack(rest).copy()
    layout = world._layout
    rows[:, layout.slices["joint_velocities"]] = 0.8
    rows[:, layout.slices["tool_block/linear_velocity"]] = (0.5, 0, 0)
    rows[:, layout.slices["tool_block/angular_velocity"]] = (0, 0, 5)
    moving = world.observe(world.unpack(rows), "pixels")
    assert np.array_equal(moving[..., :3], seen[..., :3]) and not np.array_equal(moving[..., 3:], seen[..., 3:])
    before = earlier(layout.saved(rows[0]), 0.04)
    now = layout.saved(rows[0])
    assert before["joint_positions"] == pytest.approx(now["joint_positions"] - 0.032)
    block, was = now["tool_block"], before["tool_block"]
    assert was["cartesian_position"] == pytest.approx(block["cartesian_position"] - (0.02, 0, 0))
    turned = Rotation.from_quat(block["orientation"]) * Rotation.from_quat(was["orientation"]).inv()
    assert turned.as_rotvec() == pytest.approx([0, 0, 0.2], abs=1e-9)


def test_workers_draw_with_the_renderer_of_the_header():
    """Each chose for itself, and one that finds no OpenGL draws other pictures than the header says."""
    drawn, tables = (TriFingerSource("reaching", observation=shown, workers=1) for shown in ("pixels", "objects"))
    asked = json.loads(drawn._crew._of_workers())["options"]["renderer"]
    assert asked == drawn.header()["renderer"] and asked != "auto"
    assert json.loads(tables._crew._of_workers())["options"]["renderer"] == "auto", "nothing is opened that nobody needs"
