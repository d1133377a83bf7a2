"""An active space binds every variable, by each of its names; without a space only bounds count."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.bodies.rotations import to_quaternion  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.interventions.actors import GoalActor, RandomActor  # noqa: E402
from envs.trifinger.interventions.curriculum import intervene  # noqa: E402
from envs.trifinger.tasks import TASKS  # noqa: E402


def verdict_of(task, changes, **options):
    env = make(task, **options)
    env.reset(seed=0)
    try:
        return env.intervene(changes)
    finally:
        env.close()


@pytest.mark.parametrize("changes", [
    {"tool_block/cartesian_position": [0.14, 0.02, 0.0325]},  # its radius belongs to B
    {"goal_block/cartesian_position": [0.14, 0.02, 0.2]},  # a goal of pushing in the air
    {"goal_block/cartesian_position": [0.05, 0.02, 0.2]},
    {"tool_block/orientation": [0.1, 0.0, 0.0, 1.0]},  # tilted: turns of the space are about z
    {"goal_block/orientation": [0.0, 0.2, 0.0, 1.0]},
])  # fmt: skip
def test_no_second_name_leaves_the_space(changes):
    """cartesian_position and orientation had no space of their own, so they passed whatever the space was."""
    verdict = verdict_of("pushing", changes, space="a")
    (path,) = changes
    assert not verdict.accepted and path in verdict.reasons[0] and "space a" in verdict.reasons[0]


@pytest.mark.parametrize("path, value", [
    ("gravity", [0, 0, -9.0]), ("joint_velocities", [0.0] * 9), ("tool_block/friction", 0.5),
    ("tool_block/linear_velocity", [0.1, 0, 0]), ("tool_block/angular_velocity", [0.1, 0, 0]),
])  # fmt: skip
@pytest.mark.parametrize("space", ["a", "b", "ab"])
def test_a_variable_without_a_space_is_refused_while_one_is_active(path, value, space):
    verdict = verdict_of("pushing", {path: value}, space=space)
    assert not verdict.accepted
    assert verdict.reasons == (f"{path} is in no space, so space {space} refuses it; make the env with space=None to set it",)
    assert verdict_of("pushing", {path: value}, space=None).accepted


def test_within_the_space_every_name_is_good():
    """The same place and turn by both names, the same state after it."""
    states = []
    turn = [0, 0, 0.7]
    for changes in (
        {"tool_block": {"cylindrical_position": [0.1, 1.2, 0.0325], "euler_orientation": turn}},
        {"tool_block": {
            "cartesian_position": [0.1 * np.cos(1.2), 0.1 * np.sin(1.2), 0.0325], "orientation": to_quaternion(np.array(turn)),
        }},
    ):  # fmt: skip
        env = make("pushing", space="a")
        env.reset(seed=0)
        verdict = env.intervene(changes)
        assert verdict.accepted, verdict.reasons
        states.append(env.state["tool_block"])
        env.close()
    for key in ("cartesian_position", "orientation"):
        assert states[0][key] == pytest.approx(states[1][key])
    assert verdict_of("pushing", {"tool_block/cartesian_position": [0.0, -0.0, 0.0325]}, space="a").accepted


def test_gravity_is_bound_where_its_source_gives_it_a_space():
    assert verdict_of("pushing", {"gravity": [0, 0, -8.0]}, space="a", source="paper").accepted
    verdict = verdict_of("pushing", {"gravity": [0, 0, -5.0]}, space="a", source="paper")
    assert "gravity is out of its space a" in verdict.reasons[0]


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if not task.family or name == "reaching"])
@pytest.mark.parametrize("space", ["a", "b"])
def test_actors_of_a_space_wish_for_nothing_outside_it(task, space):
    """The block of pick_and_place went to radius .09 also in space B, which begins at .12."""
    env, rng = make(task, space=space), np.random.default_rng(0)
    env.reset(seed=0)
    for actor in (GoalActor(space), GoalActor(space, by_area=True), RandomActor(space)):
        for _ in range(3):
            env.reset()
            report = intervene(env, [actor], rng)
            assert report["accepted"], report["reasons"]
    env.close()


@pytest.mark.parametrize("name, place", [
    ("cylindrical_position", [0.1, np.pi / 2, 0.0325]), ("cartesian_position", [0.02, 0.1, 0.0325]),
])  # fmt: skip
def test_a_block_does_not_go_to_its_goals_side_alone(name, place):
    """Spaces of pick_and_place turn with the block, so that a place on the goal's side passed, which variables() had not."""
    alone = {f"tool_block/{name}": place}
    (reason,) = verdict_of("pick_and_place", alone).reasons
    assert reason == "tool_block would be on its goal's side of the wall; give goal_block a position beyond the wall, too"
    assert not verdict_of("pick_and_place", {**alone, "goal_block/color": [0.6] * 3}).accepted
    assert verdict_of("pick_and_place", {**alone, "goal_block/cylindrical_position": [0.1, -1.5, 0.0325]}).accepted
    assert verdict_of("pick_and_place", alone, space=None).accepted
    assert verdict_of("pick_and_place", {"tool_block/cylindrical_position": [0.1, -1.5, 0.0325]}).accepted


def test_a_block_that_was_carried_over_the_wall_may_be_set_there():
    env = make("pick_and_place", space=None)
    env.reset(seed=0)
    assert env.intervene({"tool_block/cylindrical_position": [0.1, np.pi / 2, 0.0325]}).accepted
    bound = make("pick_and_place")
    bound.reset(seed=0)
    bound.restore(env.save())
    assert bound.intervene({"tool_block/cylindrical_position": [0.08, 1.4, 0.0325], "floor_friction": 0.4}).accepted
    env.close()
    bound.close()


def test_a_number_for_a_whole_object_is_refused_with_its_variables():
    """It said that there is no variable 'tool_block', which there is no need to look for."""
    (reason,) = verdict_of("pushing", {"tool_block": 5}).reasons
    assert reason.startswith("tool_block is no variable but has some: ") and "tool_block/mass" in reason
