"""Interventions on the TriFinger: accepted whole, refused whole with reasons, and a refusal changes not a bit."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.interventions.interventions import applied  # noqa: E402
from envs.trifinger.scene.state import same  # noqa: E402
from envs.trifinger.scene.variables import as_json, scene_variables  # noqa: E402
from envs.trifinger.tasks import TASKS  # noqa: E402


@pytest.fixture
def env():
    env = make()
    env.reset(seed=0)
    yield env
    env.close()


@pytest.fixture
def free():
    """Bound by no space."""
    env = make(space=None)
    env.reset(seed=0)
    yield env
    env.close()


def busy(env, steps=20):
    """Some steps of random actions: blocks and joints move."""
    env.action_space.seed(0)
    for _ in range(steps):
        env.step(env.action_space.sample())


@pytest.mark.parametrize("path, value", [
    ("tool_block/mass", 0.04), ("tool_block/friction", 0.3), ("tool_block/color", [0.6, 0.7, 0.8]),
    ("tool_block/cylindrical_position", [0.05, 1.0, 0.0325]), ("tool_block/euler_orientation", [0, 0, 0.5]),
    ("tool_block/linear_velocity", [0.1, 0, 0]), ("goal_block/cylindrical_position", [0.1, -1.0, 0.0325]),
    ("floor_friction", 0.4), ("stage_friction", 0.4), ("floor_color", [0.2, 0.2, 0.2]), ("stage_color", [0.2, 0.2, 0.2]),
    ("gravity", [0, 0, -5.0]), ("robot_finger_120_link_2/mass", 0.05), ("robot_finger_60_link_0/color", [0.5, 0.5, 0.5]),
])  # fmt: skip
def test_every_kind_of_variable_takes_its_value(free, path, value):
    verdict = free.intervene({path: value})
    assert verdict.accepted and path in verdict.applied and verdict.reasons == ()
    assert free.value(path) == pytest.approx(np.array(value), abs=1e-6)
    free.step(free.action_space.sample())


def test_an_intervention_within_an_episode_leaves_the_rest_alone(env):
    busy(env)
    before = env.state
    assert env.intervene({"tool_block": {"mass": 0.05}}).accepted
    after = env.state
    assert after["tool_block"]["mass"] == 0.05
    for key in ("cartesian_position", "linear_velocity", "angular_velocity"):
        assert np.array_equal(after["tool_block"][key], before["tool_block"][key])
    assert np.array_equal(after["joint_velocities"], before["joint_velocities"]) and env._steps == 20


@pytest.mark.parametrize("changes, said", [
    ({"tool_blok": {"mass": 0.03}}, "did you mean 'tool_block/mass'"),
    ({"tool_block": {"mas": 0.03}}, "did you mean 'tool_block/mass'"),
    ({"tool_block": {"size": [0.06, 0.06]}}, r"must have shape \(3,\), got \(2,\)"),
    ({"tool_block": {"mass": "heavy"}}, "must be numbers"),
    ({"tool_block": {"mass": np.nan}}, "must be finite"),
    ({"tool_block": {"mass": -1}}, "out of its bounds"),
    ({"tool_block": {"mass": 0.2}}, r"out of its space ab: 0.015 to 0.1, got 0.2"),
    ({"tool_block": {"cartesian_position": [0.3, 0, 0.0325]}}, "out of its bounds"),
    ({"tool_block": {"cartesian_position": [0, 0, 0.02]}}, "below the floor"),
    ({"tool_block": {"cartesian_position": [0.15, 0.15, 0.0325]}}, "beyond the round wall"),
    ({"goal_block": {"cartesian_position": [0, 0, 0.01]}}, "below the floor"),
    ({"joint_positions": [0.0] * 9}, "robot would be .* mm inside tool_block"),
    ({"tool_block": {"cartesian_position": [0, 0, 0.05], "cylindrical_position": [0, 0, 0.0325]}}, "two names of one fact"),
    ({"tool_block": {"orientation": [0, 0, 0, 0]}}, "must be a quaternion"),
])  # fmt: skip
def test_refusals_say_why_and_change_not_a_bit(env, free, changes, said):
    env = env if "space" in said else free
    env.intervene({"tool_block": {"cartesian_position": [0.12, -0.1, 0.0325]}})  # where the fingers' zero pose hits it
    busy(env)
    if "joint_positions" in changes:
        env.reset()
    before = env.state
    verdict = env.intervene({**changes, "floor_friction": 0.4})
    assert not verdict.accepted and verdict.applied == {}
    assert len(verdict.reasons) == 1
    assert re.search(said, verdict.reasons[0])
    assert same(env.state, before)


def test_a_refusal_does_not_change_what_follows(env):
    other = make()
    other.reset(seed=0)
    for world in (env, other):
        busy(world)
    assert not env.intervene({"tool_block": {"cartesian_position": [0, 0, 0.0]}}).accepted
    for _ in range(20):
        action = env.action_space.sample()
        assert np.array_equal(env.step(action)[0], other.step(action)[0])
    other.close()


def test_two_blocks_cannot_be_in_one_place():
    env = make("stacking2")
    env.reset()
    verdict = env.intervene({"tool_block_2": {"cartesian_position": [0.01, 0.01, 0.0325]}})
    assert not verdict.accepted and "inside tool_block" in verdict.reasons[0]
    env.close()


def test_branching_one_variable_changed():
    """Two copies go the same way; with one mass changed they part."""
    envs = [make() for _ in range(3)]
    for env in envs:
        env.reset(seed=0)
    busy(envs[0])
    saved = envs[0].save()
    for env in envs:
        env.restore(saved, steps=20)
    assert envs[2].intervene({"tool_block": {"mass": 0.1}, "floor_friction": 0.8}).accepted
    rng, rows = np.random.default_rng(5), [[], [], []]
    for _ in range(60):
        action = np.clip(rng.normal(size=9) * 0.5 + [-0.2, 0.2, -0.5] * 3, -1, 1)
        for env, row in zip(envs, rows):
            row.append(env.step(action)[0])
    assert np.array_equal(rows[0], rows[1]) and not np.array_equal(rows[0], rows[2])
    for env in envs:
        env.close()


def test_a_size_brings_the_goal_and_the_height_with_it(env):
    verdict = env.intervene({"tool_block": {"size": [0.08, 0.09, 0.07]}})
    assert verdict.accepted
    assert np.array_equal(env.state["goal_block"]["size"], [0.08, 0.09, 0.07])
    assert env.state["tool_block"]["cartesian_position"][2] == env.state["goal_block"]["cartesian_position"][2] == 0.035


def test_spaces_do_not_leak_from_one_wish_to_the_next(env):
    """CausalWorld keeps the z of the last size: after P3 it places default blocks inside the floor."""
    path = "tool_block/cylindrical_position"
    fresh = env.variables()[path].a
    env.intervene({"tool_block": {"size": [0.09, 0.09, 0.09]}})
    assert env.variables()[path].a[0][2] == 0.045
    env.reset()
    assert np.array_equal(env.variables()[path].a, fresh)


def test_the_start_can_be_set_and_taken_back(env):
    assert env.set_start({"tool_block": {"mass": 0.07}}).accepted
    env.reset()
    env.reset()
    assert env.state["tool_block"]["mass"] == 0.07
    assert not env.set_start({"tool_block": {"mass": 7}}).accepted
    env.set_start(None)
    env.reset()
    assert env.state["tool_block"]["mass"] == 0.02
    with pytest.raises(Problem, match="the start was refused: tool_block/mass is out of"):
        env.reset(options={"interventions": {"tool_block": {"mass": 7}}})


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if not task.family])
@pytest.mark.parametrize("space", ["a", "b", "ab"])
def test_goals_drawn_from_a_space_are_accepted(task, space):
    """CausalWorld refuses every goal of a fresh pick_and_place. (Families: test_families.)"""
    env = make(task, space=space)
    env.reset(seed=0)
    for _ in range(10):
        env.reset()
        assert env.intervene(env.sample_goal(space)).accepted
    env.close()


@pytest.mark.parametrize("task", TASKS)
def test_table_of_variables(task):
    """Every variable has a value of its shape, within its bounds; A and B lie within them; colours swap with the source."""
    env = make(task)
    env.reset()
    table = env.variables()
    for path, variable in table.items():
        value = env.value(path)
        assert value.shape == variable.shape
        for given in (variable.a, variable.b):
            if given is not None:
                assert (given[0] <= given[1]).all()
                assert (given[0] >= variable.bounds[0]).all() and (given[1] <= variable.bounds[1]).all()
    assert json.loads(as_json(table))["gravity"]["shape"] == [3]
    code, paper = (scene_variables(env.state, source) for source in ("code", "paper"))
    assert code["floor_color"].a[0][0] == 0.5 and paper["floor_color"].a[0][0] == 0.0
    assert code["gravity"].a is None and paper["gravity"].a[0][2] == -10
    env.close()


@pytest.mark.parametrize("changes", [
    {"tool_block/cylindrical_position": [0.05, 1.0, 0.0155]},  # 17 mm inside the floor
    {"tool_block/cylindrical_position": [0.21, 1.0, 0.0325]},  # through the round wall
    {"goal_block/cylindrical_position": [0.13, 1.0, 0.026]},  # 6 mm below the floor
])  # fmt: skip
def test_legacy_feasibility_takes_what_causal_world_takes(changes):
    verdicts = {}
    for rules in ("strict", "legacy"):
        env = make(space=None, feasibility=rules)
        env.reset(seed=0)
        state = env.state
        for path, value in changes.items():  # bounds are another matter
            name, key = path.split("/")
            verdicts[rules] = env.unwrapped._interventions._feasibility.against(
                applied(state, {path: np.array(value)}), {path: np.array(value)}, rebuilt=False
            )
        env.close()
    assert verdicts["strict"] and not verdicts["legacy"]


def test_legacy_feasibility_has_limits_too():
    env = make(feasibility="legacy")
    env.reset(seed=0)
    deep = {"tool_block/cylindrical_position": np.array([0.05, 1.0, -0.0005])}
    out = {"goal_block/cylindrical_position": np.array([0.2, 0.0, 0.0325])}
    judge = env.unwrapped._interventions._feasibility.against
    assert "inside floor; 30 mm at most" in judge(applied(env.state, deep), deep, rebuilt=False)[0]
    assert "50 % at least" in judge(applied(env.state, out), out, rebuilt=False)[0]
    env.close()
    with pytest.raises(Problem, match="there is no feasibility 'lax'"):
        make(feasibility="lax")


def test_a_refused_wish_draws_nothing():
    env = make("stacked_blocks", space=None)
    env.reset(seed=0)
    before = env.np_random.bit_generator.state
    assert not env.intervene({"stack_levels": 8, "blocks_min_size": 0.1}).accepted
    assert env.np_random.bit_generator.state == before
    env.close()


def test_a_fact_given_twice_is_refused(env):
    with pytest.raises(Problem, match="tool_block/mass is given twice"):
        env.intervene({"tool_block": {"mass": 0.03}, "tool_block/mass": 0.04})
