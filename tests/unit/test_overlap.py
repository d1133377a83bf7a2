"""Overlap of boxes: exact against an outside volume, one block for one goal, and CausalWorld's measure as `legacy`."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

pytest.importorskip("pybullet")
from envs.bodies.rotations import rotation  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.trifinger.scene.overlap import box_intersection, overlap  # noqa: E402

CUBE = np.array([0, 0, 0.0325, 0, 0, 0, 1, 0.065, 0.065, 0.065])


def moved(x=0.0, y=0.0, z=0.0, yaw=0.0):
    box = CUBE.copy()
    box[:3] += x, y, z
    box[3:7] = 0, 0, np.sin(yaw / 2), np.cos(yaw / 2)
    return box


def half_spaces(box):
    axes = rotation(box[3:7]).T
    return np.array([[*(s * n), -(s * n @ box[:3] + box[7 + i] / 2)] for i, n in enumerate(axes) for s in (1, -1)])


def outside_volume(a, b):
    """By scipy's intersection of half-spaces (qhull)."""
    planes = np.vstack([half_spaces(a), half_spaces(b)])
    inner = linprog(
        [0, 0, 0, -1], A_ub=np.c_[planes[:, :3], np.ones(12)], b_ub=-planes[:, 3], bounds=[(None, None)] * 3 + [(0, None)]
    )
    if not inner.success or inner.x[3] < 1e-9:
        return 0.0
    return ConvexHull(HalfspaceIntersection(planes, inner.x[:3]).intersections).volume


def random_box(rng, upright=False):
    turn = rng.normal(size=4)
    if upright:
        turn[:2] = 0
    return np.concatenate([rng.uniform(-0.03, 0.03, 3), turn, rng.uniform(0.03, 0.1, 3)])


@pytest.mark.parametrize("upright", [True, False])
def test_agrees_with_an_outside_library(upright):
    rng = np.random.default_rng(0)
    for _ in range(100):
        a, b = random_box(rng, upright), random_box(rng, upright)
        volume = outside_volume(a, b)
        assert box_intersection(a, b) == pytest.approx(volume, abs=1e-12)
        assert box_intersection(b, a) == pytest.approx(volume, abs=1e-12)


def test_agrees_with_counting_points():
    rng = np.random.default_rng(1)
    for _ in range(5):
        a, b = random_box(rng), random_box(rng)
        points = a[:3] + (rng.uniform(-0.5, 0.5, (200_000, 3)) * a[7:]) @ rotation(a[3:7]).T
        inside = (np.abs((points - b[:3]) @ rotation(b[3:7])) <= b[7:] / 2).all(1).mean()
        assert box_intersection(a, b) / a[7:].prod() == pytest.approx(inside, abs=0.005)


def test_a_block_turned_by_45_degrees_does_not_fill_its_goal():
    """CausalWorld gives it 1.0, since it compares axis-aligned hulls."""
    turned = moved(yaw=np.pi / 4)[None]
    assert overlap(turned, CUBE[None]) == pytest.approx(2 * (np.sqrt(2) - 1))
    assert overlap(turned, CUBE[None], "legacy") == pytest.approx(1.0)


def test_two_blocks_in_one_goal_count_once():
    pair = np.stack([CUBE, CUBE])
    assert overlap(pair, CUBE[None]) == 1.0
    assert overlap(pair, CUBE[None], "legacy") == pytest.approx(2.0)


def test_the_best_matching_is_taken():
    """The first block covers both goals a little better than nothing; it must leave the first goal to the second block."""
    goals = np.stack([moved(0), moved(0.065)])
    blocks = np.stack([moved(0.03), moved(0.0)])
    assert overlap(blocks, goals) == pytest.approx((1 + 0.03 / 0.065) / 2)


@pytest.mark.parametrize("gap", [0.0, 1e-13, -1e-13, 1e-11])
def test_touching_and_coinciding_faces(gap):
    assert overlap(moved(z=0.065 + gap)[None], CUBE[None]) == pytest.approx(0, abs=1e-8)
    assert overlap(moved(z=gap)[None], CUBE[None]) == pytest.approx(1)
    assert overlap(moved(0.0325, z=gap)[None], CUBE[None]) == pytest.approx(0.5)


def test_no_goal_is_a_filled_goal_and_no_block_fills_nothing():
    assert overlap(CUBE[None], np.zeros((0, 10))) == 1.0
    assert overlap(np.zeros((0, 10)), CUBE[None]) == 0.0


def test_the_name_that_the_package_gives():
    """A module of the same name would take its place after the first import."""
    import envs.trifinger

    assert envs.trifinger.overlap is overlap and envs.trifinger.overlap is overlap


def test_refusals():
    with pytest.raises(Problem, match=r"shape \(n, 10\).*got \(1, 9\)"):
        overlap(np.zeros((1, 9)), CUBE[None])
    with pytest.raises(Problem, match="did you mean 'exact'"):
        overlap(CUBE[None], CUBE[None], "exakt")


@pytest.mark.parametrize("edge", [0.0, -0.1, np.nan])
def test_boxes_without_a_volume_are_refused(edge):
    with pytest.raises(Problem, match="edges longer than 0"):
        overlap(np.array([[0, 0, 0, 0, 0, 0, 1, 0.1, 0.1, 0.1]]), np.array([[0, 0, 0, 0, 0, 0, 1, edge, 0.1, 0.1]]))
