"""What models see of TriFinger as pictures: cameras, sizes, and pixels that are means."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger.source import TriFingerSource  # noqa: E402
from envs.trifinger.source.sight import Sight  # noqa: E402


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"camera": "frnt"}, "did you mean 'front'.*env.world.camera"),
        ({"observation": "views", "camera": "front"}, "of 3 cameras, and camera 'front' is one.*env.observation=pixels"),
        ({"drawn": 0}, "drawn 1 to 4, got 0; set env.world.drawn"),
        ({"drawn": 1.5}, "got 1.5"),
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
    assert len(where) == 7 and Sight("pixels", drawn=2).header() == {"image_size": 64, "drawn": 2}


def test_the_front_camera_sees_each_finger_and_the_block_on_most_of_the_floor():
    """Segments of the start of pushing: the robot and the block fill part of the picture, and the block is no speck."""
    world = TriFingerSource("pushing", observation="pixels", image_size=32, camera="front", drawn=2, renderer="bullet", workers=1,
                            collision="primitive")  # fmt: skip
    state = world.reset(2, np.random.default_rng(0))
    seen = world.observe(state, "pixels").astype(int)
    assert seen.shape == (2, 32, 32, 3)
    for color in range(3):  # fingers are red, green and blue, as the reference's
        others = seen[..., [other for other in range(3) if other != color]].max(-1)
        assert (seen[..., color] > others + 40).mean() > 0.01
