"""Where episodes of the TriFinger as a world begin and end: goals that can be reached, starts from the spaces of a mode."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.trifinger.source import TriFingerSource  # noqa: E402

RNG = np.random.default_rng
FAST = {"skip_frame": 4, "speed": 0.1, "workers": 1}


@pytest.fixture(scope="module")
def world():
    return TriFingerSource("pushing", **FAST)


@pytest.mark.parametrize("task", ["pushing", "reaching"])
def test_goals_are_states(task):
    world = TriFingerSource(task, **FAST)
    state = world.reset(3, RNG(0), "train")
    goal, actions = world.draw_goals(state, RNG(1), 4)
    reached = state
    for t in range(4):
        reached, _ = world.step(reached, actions[:, t])
    assert np.array_equal(reached.rows, goal.rows) and actions.shape == (3, 4, 9)
    assert world.solved(goal, goal).all() and (world.distance(goal, goal) == 0).all()
    far = world.reset(3, RNG(7), "poses-b" if task == "pushing" else "train")
    if task == "pushing":
        assert not world.solved(state, far).any() and (world.distance(state, far) > 0.02).all()


def test_a_goal_that_asks_for_nothing_is_drawn_anew(world):
    """Most short walks leave the block where it is; few of the goals do."""
    state = world.reset(8, RNG(0), "train")
    loose, strict = (world.draw_goals(state, RNG(1), 12, may_equal_start=allowed)[0] for allowed in (True, False))
    assert world.solved(state, strict).sum() < world.solved(state, loose).sum()


def test_goals_that_stay_solved_at_the_start_are_counted(world, monkeypatch, capsys):
    """They were kept without a word, after ten draws, under a caption that goals differ from the start."""
    state = world.reset(2, RNG(0), "train")
    monkeypatch.setattr(TriFingerSource, "solved", lambda self, state, goal: np.ones(len(state), bool))
    world.draw_goals(state, RNG(1), 1, may_equal_start=True)
    assert capsys.readouterr().err == ""
    world.draw_goals(state, RNG(1), 1)
    assert capsys.readouterr().err == "warning: 2 of 2 goals of 1 steps are solved at the start, after 10 draws each\n"


def test_modes_draw_starts_from_their_spaces(world):
    block = world._layout.slices["tool_block/cartesian_position"]
    near, far = (np.hypot(*world.reset(8, RNG(0), mode).rows[:, block].T[:2]) for mode in ("train", "poses-b"))
    assert near.max() <= 0.11 <= far.min() and np.ptp(near) > 0
    mass = world._layout.slices["tool_block/mass"]
    heavy = world.reset(4, RNG(0), "physics-b").rows[:, mass]
    assert heavy.min() >= 0.045 and np.ptp(heavy) > 0


def test_blocks_begin_where_they_are_drawn():
    """Goals of pick_and_place say where the block begins, too, and came last: every episode began in one of two places."""
    world = TriFingerSource("pick_and_place", **FAST)
    places = world.observe(world.reset(6, RNG(0), "train"), "objects")
    blocks = world.positions(places)[:, 0, :2]
    assert len(np.unique(blocks.round(3), axis=0)) == 6 and np.allclose(np.linalg.norm(blocks, axis=1), 0.09, atol=0.04)
