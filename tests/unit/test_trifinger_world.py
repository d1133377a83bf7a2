"""The simulated arena: a state is all there is to it, and its kinematics are the robot's."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.trifinger.robot.kinematics import Kinematics  # noqa: E402
from envs.trifinger.robot.robot import FLOOR, RAISED, REST  # noqa: E402
from envs.trifinger.scene.simulation import World  # noqa: E402
from envs.trifinger.scene.state import arena, block, copied, same  # noqa: E402

REST_TIPS = [[-0.0595, 0.1586, 0.0559], [0.1671, -0.0278, 0.0559], [-0.1077, -0.1308, 0.0559]]  # reference section 2
PUSH = REST - [0, 0.3, 0.3] * 3


def scene(world):
    return {**arena(world.robot.default_masses), "tool_block": block((0, -0.08, 0.0325)), "other": block((0.08, 0.02, 0.0325))}


def what_follows(world, seed, steps=40):
    """Blocks and joints while the fingers poke about, (steps, 31)."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(steps):
        world.follow(PUSH + rng.normal(size=9) * 0.3, 10)
        now = world.read()
        thing = [
            now[name][key]
            for name in ("tool_block", "other")
            for key in ("cartesian_position", "orientation", "linear_velocity")
        ]
        rows.append(np.concatenate([now["joint_positions"], now["joint_velocities"], *thing]))
    return np.array(rows)


@pytest.fixture(params=[("mesh", "default"), ("mesh", "legacy"), ("primitive", "default")], ids="-".join)
def world(request):
    world = World(collision=request.param[0], dynamics=request.param[1])
    yield world
    world.close()


def test_the_fingers_do_move_the_blocks(world):
    world.load(scene(world))
    rows = what_follows(world, 0)
    assert np.abs(rows[-1, 18:21] - rows[0, 18:21]).max() > 0.01


def test_what_happened_before_leaves_no_trace(world):
    """Engines keep contacts from step to step; a loaded world must not remember any."""
    start = scene(world)
    world.load(start)
    first = what_follows(world, 0)
    world.load(start)
    assert np.array_equal(what_follows(world, 0), first)
    other = copied(start)
    other["tool_block"]["size"] *= 1.2
    other["tool_block"]["mass"] = np.array(0.1)
    other["floor_friction"], other["gravity"] = np.array(0.1), np.array([0, 0, -5.0])
    other["robot_finger_60_link_3"]["mass"] = np.array(0.09)
    world.load(other)
    assert not np.array_equal(what_follows(world, 0), first)
    world.load(start)
    assert np.array_equal(what_follows(world, 0), first)


def test_a_pile_falls_in_the_same_way_after_another_pile():
    """Many blocks near one another: the engine groups them by a past that must not show."""

    def fall(world, count, edge, seed):
        rng, state = np.random.default_rng(seed), arena(world.robot.default_masses, RAISED)
        for i in range(count):
            state[str(i)] = block(rng.uniform([-0.1, -0.1, 0.05], [0.1, 0.1, 0.25]), edge, 0.07)
        world.load(state)
        world.follow(RAISED, 150)
        return np.array([world.read()[str(i)]["cartesian_position"] for i in range(count)])

    world = World(collision="primitive")
    alone = [fall(world, 9, 0.049, seed) for seed in range(3)]
    fall(world, 6, 0.06, 9)
    assert all(np.array_equal(fall(world, 9, 0.049, seed), alone[seed]) for seed in range(3))
    world.close()


def test_a_saved_state_goes_on_in_the_same_way_here_and_in_another_world():
    worlds = [World(), World()]
    worlds[0].load(scene(worlds[0]))
    what_follows(worlds[0], 0, 15)  # in the middle of contacts
    saved = worlds[0].save()
    then = what_follows(worlds[0], 1)
    for world in worlds:
        world.load(saved)
        assert np.array_equal(what_follows(world, 1), then)
        world.close()


def test_reading_is_loading_backwards(world):
    start = scene(world)
    world.load(start)
    assert same(world.read(), start)


def test_rest_pose_touches_nothing_and_blocks_stand_on_the_floor(world):
    world.load(scene(world))
    assert not [pair for pair in world.contacts() if "robot" in pair[:2]]
    world.follow(REST, 250)
    assert world.read()["tool_block"]["cartesian_position"][2] == pytest.approx(0.0325, abs=2e-4)


def test_the_wall_holds_a_block(world):
    start = scene(world)
    start["tool_block"]["linear_velocity"] = np.array([0.0, -2.0, 0.0])
    start["floor_friction"] = np.array(0.0)
    world.load(start)
    world.follow(REST, 250)
    assert np.hypot(*world.read()["tool_block"]["cartesian_position"][:2]) < 0.242


def test_gravity_is_a_variable(world):
    start = scene(world)
    start["tool_block"]["cartesian_position"][2], start["gravity"] = 0.2, np.array([0, 0, -4.0])
    world.load(start)
    world.follow(REST, 25)  # a tenth of a second
    assert 0.2 - world.read()["tool_block"]["cartesian_position"][2] == pytest.approx(0.5 * 4 * 0.1**2, rel=0.1)


def test_torques_stay_within_the_safety_limit(world):
    world.load(scene(world))
    assert np.abs(world.follow(RAISED, 3)).max() <= 0.36
    assert np.abs(world.push(np.full(9, 5.0), 3)).max() <= 0.36


def test_tips_in_rest_pose_are_the_references(world):
    world.load(scene(world))
    assert world.robot.tips() == pytest.approx(np.array(REST_TIPS), abs=2e-4)
    assert Kinematics().tips(REST) == pytest.approx(np.array(REST_TIPS), abs=2e-4)


def test_inverse_kinematics_reaches_what_can_be_reached():
    kinematics, rng = Kinematics(), np.random.default_rng(0)
    for _ in range(60):
        tips = kinematics.tips(rng.uniform([-1.2, -1.2, -2.8] * 3, [1.0, 1.5, -0.1] * 3))
        joints = kinematics.joints(tips)
        assert np.linalg.norm(kinematics.tips(joints) - tips, axis=1).max() < 1e-3
        assert (joints >= kinematics.low).all() and (joints <= kinematics.high).all()


def test_inverse_kinematics_of_a_place_out_of_reach_comes_near_and_ends():
    joints = Kinematics().joints(np.full((3, 3), 0.5))
    assert np.isfinite(joints).all()


def test_the_pro_is_another_robot():
    world = World("pro")
    world.load(scene(world))
    assert np.linalg.norm(world.robot.tips() - REST_TIPS) > 0.05
    assert np.abs(world.robot.tips() - Kinematics("pro").tips(REST)).max() < 1e-6
    assert FLOOR == 0.011
    world.close()


def test_an_engine_started_anew_is_the_same_world(world, monkeypatch):
    """After many sizes the engine is started anew, to give memory back: nothing else changes."""
    world.load(scene(world))
    first = what_follows(world, 0)
    build, built = World._build, []
    monkeypatch.setattr(World, "_build", lambda self: built.append(1) or build(self))
    monkeypatch.setattr("envs.trifinger.scene.simulation._SHAPES", 3)
    for i in range(9):
        state = scene(world)
        state["tool_block"]["size"] = np.full(3, 0.05 + 0.001 * i)
        world.load(state)
        assert len(world._shapes) <= 5
    assert len(built) > 1
    world.load(scene(world))
    assert np.array_equal(what_follows(world, 0), first)
