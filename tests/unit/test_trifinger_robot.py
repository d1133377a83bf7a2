"""What the fingers are made of: friction and inertias are CausalWorld's, and friction is a variable."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.trifinger import make  # noqa: E402
from envs.trifinger.robot.robot import REST  # noqa: E402
from envs.trifinger.scene.simulation import DYNAMICS, World  # noqa: E402
from envs.trifinger.scene.state import arena, block  # noqa: E402


def dynamics_of(world, links):
    return [world._bullet.getDynamicsInfo(world.robot.body, link) for link in links]


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_fingers_have_the_friction_that_causal_world_really_has(dynamics):
    """Its code asks for .1 and does not get it; with .1 in earnest no block was ever lifted."""
    world = World(dynamics=dynamics)
    world.load(arena(world.robot.default_masses))
    moving = [*world.robot.joints, *world.robot.tip_links]
    assert {info[1] for info in dynamics_of(world, moving)} == {0.5}
    world.load({**arena(world.robot.default_masses), "finger_friction": np.array(0.2)})
    assert {info[1] for info in dynamics_of(world, moving)} == {0.2}
    world.close()


def test_friction_of_the_fingers_is_a_variable_that_the_block_feels():
    """In no space, as in CausalWorld, so an active one refuses it."""
    env = make("pushing", skip_frame=3, space=None)
    env.reset(seed=0)
    assert env.variables()["finger_friction"].space("ab") is None and env.value("finger_friction") == 0.5
    env.intervene({"tool_block/cylindrical_position": [0.1, 1.9, 0.0325]})
    actions = np.random.default_rng(0).uniform(-1, 1, (40, 9))
    saved, ends = env.save(), []
    for friction in (0.5, 0.05, 0.5):
        env.restore(saved)
        assert env.intervene({"finger_friction": friction}).accepted
        for action in actions:
            env.step(action)
        ends.append(env.value("tool_block/cartesian_position"))
    assert np.array_equal(ends[0], ends[2]) and np.abs(ends[0] - ends[1]).max() > 1e-4
    assert not env.intervene({"finger_friction": -0.1}).accepted
    env.close()
    bound = make("pushing", space="a")
    bound.reset(seed=0)
    assert "finger_friction is in no space" in bound.intervene({"finger_friction": 0.5}).reasons[0]
    bound.close()


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_a_block_between_two_fingers_is_held(dynamics):
    """Two tips press a light block from both sides while gravity draws at it; with friction .1 it fell at once."""
    world, heights = World(dynamics=dynamics), {}
    for friction in (0.1, 0.5):
        state = {**arena(world.robot.default_masses), "finger_friction": np.array(friction)}
        world.load(state)
        tips = world.robot.tips()
        middle, apart = (tips[0] + tips[1]) / 2, tips[1] - tips[0]
        width = np.linalg.norm(apart) - 0.018  # a board that just fits between two tips
        turn = [0, 0, np.sin(np.arctan2(apart[1], apart[0]) / 2), np.cos(np.arctan2(apart[1], apart[0]) / 2)]
        state["board"] = block(middle, (width, 0.03, 0.03), 0.02, orientation=turn)
        world.load(state)
        world.follow(REST, 60)
        heights[friction] = world.read()["board"]["cartesian_position"][2] - middle[2]
    world.close()
    assert heights[0.5] > heights[0.1]


@pytest.mark.parametrize("link, diagonal", [
    (1, (9.430e-5, 5.744e-4, 6.044e-4)), (2, (5.935e-4, 5.636e-4, 9.279e-5)), (3, (9.385e-5, 9.482e-5, 4.941e-6)),
])  # fmt: skip
@pytest.mark.parametrize("collision", ["mesh", "primitive"])
def test_legacy_inertias_are_those_that_causal_world_really_has(link, diagonal, collision):
    """Bullet puts a margin around a hull and one around the group it is in; ours was in one group more, its box 2 mm longer."""
    world = World(dynamics="legacy", collision=collision)
    for finger in range(3):
        assert dynamics_of(world, [world.robot.links[4 * finger + link]])[0][2] == pytest.approx(diagonal, rel=5e-4)
    masses = world.robot.default_masses * 2
    world.robot.set_masses(masses)
    assert dynamics_of(world, [world.robot.links[link]])[0][2] == pytest.approx(2 * np.array(diagonal), rel=5e-4)
    world.close()
