"""Branches of one saved moment: what an intervention does not touch goes on bit for bit, wherever the branch is played."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.trifinger import make  # noqa: E402

NOTHING = {
    "nothing": {}, "color": {"tool_block": {"color": [0.9, 0.9, 0.9]}}, "same mass": {"tool_block": {"mass": 0.02}},
    "goal": {"goal_block": {"cylindrical_position": [0.1, 1.0, 0.0325]}},
}  # fmt: skip
SOMETHING = {
    "mass": {"tool_block": {"mass": 0.08}}, "size": {"tool_block": {"size": [0.07, 0.07, 0.07]}},
    "floor friction": {"floor_friction": 0.3}, "link mass": {"robot_finger_60_link_3": {"mass": 0.045}},
    "finger friction": {"finger_friction": 0.1},
}  # fmt: skip
BEFORE, AFTER = 25, 20  # steps of three time steps


@pytest.fixture(scope="module", params=["default", "legacy"])
def branches(request):
    """Two environments, a moment saved while the fingers push the block, and the actions after it."""
    env, other = (make("pushing", skip_frame=3, dynamics=request.param, space=None) for _ in range(2))
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (BEFORE + AFTER, 9))
    env.intervene({"tool_block": {"cylindrical_position": [0.06, 2.0, 0.0325], "euler_orientation": [0, 0, 0.3]}})
    for action in actions[:BEFORE]:
        env.step(action)
    saved = env.save()
    yield env, other, saved, actions[BEFORE:]
    env.close()
    other.close()


def future(env, actions) -> np.ndarray:
    """Joints, their velocities, and all of the block that moves, (steps, 31)."""
    rows = []
    for action in actions:
        env.step(action)
        state = env.state
        keys = ("cartesian_position", "orientation", "linear_velocity", "angular_velocity")
        block = [state["tool_block"][key] for key in keys]
        rows.append(np.concatenate([state["joint_positions"], state["joint_velocities"], *block]))
    return np.array(rows)


def branch(env, saved, actions, changes):
    env.restore(saved)
    if changes is not None:
        verdict = env.intervene(changes)
        assert verdict.accepted, verdict.reasons
    return future(env, actions)


@pytest.mark.parametrize("changes", NOTHING.values(), ids=NOTHING)
def test_an_intervention_that_the_block_does_not_feel_changes_not_a_bit(branches, changes):
    """The engine reads a quaternion back in other last digits; branches began from that and ended centimetres apart."""
    env, other, saved, actions = branches
    factual = branch(env, saved, actions, None)
    assert np.abs(factual[-1] - factual[0]).max() > 0.01
    assert np.array_equal(branch(env, saved, actions, changes), factual)
    assert np.array_equal(branch(other, saved, actions, changes), factual)


@pytest.mark.parametrize("changes", SOMETHING.values(), ids=SOMETHING)
def test_a_branch_is_the_same_in_every_environment(branches, changes):
    env, other, saved, actions = branches
    factual = branch(env, saved, actions, None)
    counterfactual = branch(env, saved, actions, changes)
    assert not np.array_equal(counterfactual, factual)
    assert np.array_equal(branch(other, saved, actions, changes), counterfactual)
    assert np.array_equal(branch(env, saved, actions, None), factual)  # and nothing of it stays


def test_a_restored_state_is_read_as_it_was_saved(branches):
    env, _, saved, _ = branches
    env.restore(saved)
    now = env.state
    assert np.array_equal(now["tool_block"]["orientation"], saved["tool_block"]["orientation"])
    now["tool_block"]["mass"][...] = 9.0  # a copy: writing into it reaches nothing
    assert env.value("tool_block/mass") == 0.02


def test_joints_put_where_they_are_keep_their_target():
    """In delta modes the target goes on; joints set to what they are do not move it."""
    env = make("pushing", skip_frame=3, action_mode="delta_joint_positions")
    env.reset(seed=0)
    actions = np.random.default_rng(1).uniform(-0.2, 0.2, (30, 9))
    for action in actions[:10]:
        env.step(action)
    saved = env.save()
    factual = branch(env, saved, actions[10:], None)
    changes = {"joint_positions": saved["joint_positions"]}
    assert np.array_equal(branch(env, saved, actions[10:], changes), factual)
    env.close()
