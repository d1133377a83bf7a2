"""Experts: each solves its task, from what it observes alone; holds are in balance; what they cannot do is refused."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
pytest.importorskip("pinocchio")
from envs.bodies.rotations import rotation  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.env.play import play  # noqa: E402
from envs.trifinger.experts import expert  # noqa: E402
from envs.trifinger.experts.holds import _holds, choose, lifting  # noqa: E402
from envs.trifinger.experts.reach import TIP, Reach  # noqa: E402
from envs.trifinger.experts.senses import Box, fitting_yaws, read, turned, upright  # noqa: E402
from envs.trifinger.experts.tasks import TASKS  # noqa: E402
from envs.trifinger.robot.kinematics import Kinematics  # noqa: E402
from envs.trifinger.robot.robot import REST  # noqa: E402

CUBE = np.full(3, 0.065)


def outcome(task, request=None, **options):
    """Fractional success at the end of an expert's episode."""
    env = make(task, reward="none", space=None, **options)
    observation, _ = env.reset(seed=0)
    if request:
        assert env.intervene(request).accepted
        observation = env.observe()
    *_, last = play(env, expert(env), observation)
    env.close()
    return last.info["fractional_success"]


@pytest.mark.parametrize("task, request_, options, least", [
    ("reaching", None, {"skip_frame": 10}, 0.95),
    ("pushing", None, {"skip_frame": 10}, 0.95),
    ("pushing", {"goal_block/cylindrical_position": [0.09, 2.0, 0.0325]}, {"skip_frame": 10}, 0.9),
    ("pushing", {"tool_block/mass": 0.08, "tool_block/cylindrical_position": [0.12, 1.0, 0.0325]}, {"skip_frame": 3}, 0.9),
    ("pushing", None, {"skip_frame": 10, "dynamics": "legacy"}, 0.95),
    ("pushing", None, {"skip_frame": 10, "normalized": False}, 0.95),
    ("picking", None, {"skip_frame": 3}, 0.93),
    ("picking", {"tool_block/cylindrical_position": [0.08, 1.0, 0.0325]}, {"skip_frame": 3}, 0.9),
    ("pick_and_place", None, {"skip_frame": 3}, 0.88),
    ("stacking2", None, {"skip_frame": 3}, 0.85),
])  # fmt: skip
def test_solves_its_task(task, request_, options, least):
    assert outcome(task, request_, **options) > least


def test_sees_neither_mass_nor_friction():
    """Two worlds with other masses and frictions get the same actions as long as they look the same."""
    chosen = []
    for request in ({"tool_block/mass": 0.015}, {"tool_block/mass": 0.1, "floor_friction": 0.8}):
        env = make("pushing", skip_frame=10, reward="none", space=None)
        env.reset(seed=0)
        assert env.intervene(request).accepted
        act, observation, actions = expert(env), env.observe(), []
        for _ in range(25):  # fingers in the air
            actions.append(act(observation))
            observation = env.step(actions[-1])[0]
        chosen.append(np.array(actions))
        env.close()
    assert np.array_equal(*chosen)


@pytest.mark.parametrize("task, options, said", [
    ("towers", {}, "there is no expert for towers; there are experts for reaching, pushing"),
    ("pushing", {"action_mode": "joint_torques"},
     "an expert needs action_mode=joint_positions, the environment has joint_torques"),
    ("pushing", {"action_mode": "delta_joint_positions"}, "an expert needs action_mode=joint_positions"),
    ("pushing", {"observation": "pixel"}, "an expert needs observation=structured, the environment has pixel"),
])  # fmt: skip
def test_refused_in_one_sentence(task, options, said):
    with pytest.raises(Problem, match=said):
        expert(make(task, **options))


def test_an_observation_is_read_back_in_its_units():
    """What `observe` makes of the state, `named` undoes, normalised or not."""
    for normalized in (True, False):
        env = make("stacking2", normalized=normalized)
        observation, _ = env.reset(seed=3)
        state, parts = env.state, env.named(observation)
        assert np.allclose(parts["tool_block_2/cartesian_position"], state["tool_block_2"]["cartesian_position"])
        assert np.allclose(parts["joint_positions"], state["joint_positions"])
        assert parts["time_left"] == pytest.approx(env.limit * env.dt)
        assert sum(map(len, parts.values())) == len(observation)
        scene = read(parts)
        assert list(scene.boxes) == ["tool_block_1", "tool_block_2", "goal_block_1", "goal_block_2"]
        assert np.allclose(scene.tips, env.unwrapped._now.tips)
        env.close()


@pytest.mark.parametrize("sides", [False, True])
def test_holds_are_in_balance(sides):
    """Forces of every hold cancel, in sum and about the vertical; contacts lie a tip's radius outside the faces."""
    size = np.array([0.06, 0.07, 0.08])
    holds = list(_holds(size, sides))
    assert len(holds) == 2 * 2 * 3 * (12 + 6 * sides)
    for hold in [*holds, lifting(Box(size, np.zeros(3), np.eye(3)))]:
        forces = hold.shares[:, None] * hold.inward
        assert np.allclose(forces.sum(0), 0)
        assert np.cross(hold.contacts, forces).sum(0)[2] == pytest.approx(0, abs=1e-9)
        outside = np.abs(hold.contacts[hold.used]) - size / 2
        assert np.allclose(outside.max(1), TIP)


def test_a_hold_is_within_reach_and_of_three_fingers_where_it_can_be():
    kinematics, block = Kinematics(), Box(CUBE, np.array([0.02, -0.03, 0.0325]), np.eye(3))
    goal = np.array([0.0, 0.06, 0.0325])
    cost, hold = choose(block, [goal], [0.0], kinematics, [])
    assert len(hold.used) == 3 and np.isfinite(cost)
    for place in (block.position, goal):
        for finger, tip in enumerate(hold.tips(place, np.eye(3))):
            joints = kinematics.joints(np.tile(tip, (3, 1)))
            assert np.linalg.norm(kinematics.tips(joints)[finger] - tip) < 0.002
    assert choose(block, [np.array([0.5, 0, 0.0325])], [0.0], kinematics, []) is None  # beyond the arena


def test_an_obstacle_makes_reach_dearer():
    kinematics, block = Kinematics(), Box(CUBE, np.array([0.0, 0.0, 0.0325]), np.eye(3))
    touches = [(1, np.array([0.045, 0.0, 0.0325]), np.array([-1.0, 0, 0]))]
    free, blocked = (Reach(kinematics, things).cost(touches, block) for things in ([], [block.moved([0.07, 0, 0.0325])]))
    assert blocked > free + 0.02


def test_yaws_that_fill_a_goal():
    """A cube may arrive by quarters; a long block as its goal lies; the nearest comes first."""
    cube, goal = Box(CUBE, np.zeros(3), turned(1.5)), Box(CUBE, np.zeros(3), np.eye(3))
    assert fitting_yaws(cube, goal)[0] == pytest.approx(np.pi / 2)
    long = Box(np.array([0.09, 0.05, 0.06]), np.zeros(3), turned(1.5))
    for yaw in fitting_yaws(long, Box(long.size, np.zeros(3), np.eye(3))):
        assert np.sin(yaw) == pytest.approx(0, abs=1e-9)


def test_a_block_that_fell_on_its_side_stands_on_another_face():
    fallen = Box(np.array([0.05, 0.06, 0.07]), np.zeros(3), rotation([np.sin(np.pi / 4), 0, 0, np.cos(np.pi / 4)]))
    stood = upright(fallen)
    assert (
        stood.size[2] == 0.06 and stood.rotation[2, 2] == pytest.approx(1) and np.linalg.det(stood.rotation) == pytest.approx(1)
    )
    corners = [np.abs(box.rotation) @ box.size for box in (fallen, stood)]
    assert np.allclose(*corners)


def test_jacobians_and_weight_of_the_fingers():
    """Jacobians against differences; the torques of rest hold the fingers where they are, in the engine."""
    kinematics, step = Kinematics(), 1e-6
    joints = REST + np.linspace(-0.3, 0.3, 9)
    for joint in range(9):
        other = joints.copy()
        other[joint] += step
        moved = (kinematics.tips(other) - kinematics.tips(joints)) / step
        expected = np.zeros((3, 3))
        expected[joint // 3] = kinematics.jacobians(joints)[joint // 3][:, joint % 3]
        assert np.allclose(moved, expected, atol=1e-5)
    env = make("reaching", action_mode="joint_torques", normalized=False, skip_frame=1)
    env.reset(seed=0)
    for _ in range(50):
        observation = env.step(kinematics.gravity(env.named(env.observe())["joint_positions"]))[0]
    assert np.abs(env.named(observation)["joint_positions"] - REST).max() < 0.01
    env.close()


def test_every_expert_is_a_task():
    from envs.trifinger.tasks import TASKS as WORLDS

    assert set(TASKS) < set(WORLDS)
