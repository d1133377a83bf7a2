"""What probes and planners ask of TriFinger: causes set anew, the task's own goal, how far a block is from it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger.source import TriFingerSource  # noqa: E402
from envs.trifinger.source.saved import COLUMNS  # noqa: E402
from eval.planning.blocks_distance import BlocksDistance  # noqa: E402
from eval.planning.tasks import draw_own_tasks  # noqa: E402
from eval.probes.sensitivity import pairs  # noqa: E402

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def world():
    return TriFingerSource("pushing", skip_frame=4, speed=0.1, workers=1)


@pytest.fixture(scope="module")
def recorded(world):
    return world.record({"mode": "train", "length": 12}, RNG(0), 6)


def test_causes_are_set_from_their_space_and_nothing_else_changes(world, recorded):
    """Space A and space B of masses and of frictions do not meet; a state whose draws are refused is given back as it was."""
    states, layout = world.unpack(recorded[0]["state"][:30:6]), world._layout
    assert {"block mass", "friction of floor and stage", "masses of the links", "goal", "colours"} <= set(world.causes())
    for cause, path, border in (
        ("block mass", "tool_block/mass", 0.045),
        ("friction of floor and stage", "floor_friction", 0.6),
    ):
        low, done = world.set_cause(states, cause, "a", RNG(0))
        high, _ = world.set_cause(states, cause, "b", RNG(0))
        assert done.all() and layout.of(low.rows, path).max() <= border <= layout.of(high.rows, path).min()
        changed = (low.rows != states.rows).any(0)
        others = [
            name for name, where in layout.slices.items() if changed[where].any() and not name.endswith(path.rpartition("/")[2])
        ]
        assert others in ([], ["stage_friction"])
    turned, done = world.set_cause(states, "block size", "b", RNG(0))
    assert np.array_equal(turned.rows[~done], states.rows[~done])
    assert np.array_equal(
        world.set_cause(states, "goal", "b", RNG(3))[0].rows, world.set_cause(states, "goal", "b", RNG(3))[0].rows
    )


@pytest.mark.parametrize("cause, space, told", [
    ("block mas", "a", "no cause 'block mas': did you mean 'block mass'"), ("goal", "c", "from space a or b, got 'c'"),
])  # fmt: skip
def test_other_causes_and_spaces_are_refused(world, recorded, cause, space, told):
    with pytest.raises(Problem, match=told):
        world.set_cause(world.unpack(recorded[0]["state"][:1]), cause, space, RNG(0))


def test_the_tasks_own_goal_is_a_state_with_the_block_there(world):
    """Its grade is the task's fractional success; planning for own goals begins at fresh starts and ends at these."""
    tasks = draw_own_tasks(world, 4, 7, seed=0)
    assert tasks.horizon == 7 and np.array_equal(tasks.start.rows, draw_own_tasks(world, 4, 7, seed=0).start.rows)
    assert world.grade(tasks.goal, tasks.goal) == pytest.approx(1) and world.solved(tasks.goal, tasks.goal).all()
    for row, grade in zip(tasks.start.rows, world.grade(tasks.start, tasks.goal)):
        world._crew.arena.restore(row)
        assert world._crew.arena.env.success()["fractional_success"] == pytest.approx(grade)
    assert (world.grade(tasks.start, tasks.goal) < 0.9).all()
    with pytest.raises(Problem, match="creative_stacked_blocks has no goal for each block.*set tasks=walk"):
        creative = TriFingerSource("creative_stacked_blocks", workers=1)
        creative.own_goals(creative.reset(1, RNG(0), "still"))
    with pytest.raises(Problem, match="reaching moves no block.*set tasks=walk"):
        reaching = TriFingerSource("reaching", workers=1)
        reaching.own_goals(reaching.reset(1, RNG(0), "still"))


@pytest.mark.parametrize("task, differs", [("reaching", False), ("pushing", True), ("picking", True)])
def test_every_variable_of_a_world_can_be_set(task, differs):
    """Reaching lets obstacles come and go, and a row holds so many objects: their number is no variable of the world. Its
    starts all look alike, so that no distance of two random ones is there to compare with."""
    world = TriFingerSource(task, workers=1)
    state = world.reset(2, RNG(0), "train")
    for name in world.variables(state):
        assert world.intervene(state, name, RNG(0)).rows.shape == state.rows.shape, name
    assert ("joint_positions" in pairs(world, 4).altered) == bool(pairs(world, 4).altered) == differs


def test_a_finger_behind_the_block_is_nearer_to_the_goal(world):
    """The distance that planners ask: metres of the block, and a share of the way of the nearest tip; at the goal nothing."""
    identity = SimpleNamespace(decoder=True, decode=lambda latent: latent)
    far = BlocksDistance(identity, world)
    table = torch.from_numpy(world.observe(world.reset(1, RNG(0), "train"), "objects")).repeat(4, 1, 1)
    table[:, 3, COLUMNS["position"]], goal = torch.tensor([0.0, 0.0, 0.03]), table.clone()
    goal[:, 3, COLUMNS["position"]] = torch.tensor([0.1, 0.0, 0.03])
    table[0, 0, COLUMNS["position"]] = torch.tensor([-0.05, 0.0, 0.03])  # behind
    table[1, 0, COLUMNS["position"]] = torch.tensor([0.05, 0.0, 0.03])  # before
    table[2, 3] = goal[2, 3]
    found = far(table, goal)
    assert found[0] == pytest.approx(0.1) and found[0] < found[1] <= found[0] + 0.2 * 0.1 + 1e-6 and found[2] == 0
    with pytest.raises(Problem, match="asks a decoder"):
        BlocksDistance(SimpleNamespace(decoder=None), world)
    with pytest.raises(Problem, match="reads blocks off a table, .*shown pixels"):
        BlocksDistance(identity, TriFingerSource("pushing", observation="pixels", workers=1))
