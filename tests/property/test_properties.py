"""What must hold for all inputs."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from envs.frames import frame_ids
from envs.physics import PhysicsWorld, push
from eval.ranking import hits_at_k, ranks
from losses.contrastive import contrastive

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(2, 9), st.integers(1, 40))
def test_push_keeps_the_board_a_board(seed, n, batch):
    """No overlap, nobody leaves, at most two blocks move by one cell, and invalid means unchanged."""
    rng = np.random.default_rng(seed)
    cells = rng.random((batch, 25)).argsort(1)[:, :n]
    positions = np.stack(np.divmod(cells, 5), -1)
    weights, action = rng.integers(0, 4, (batch, n)), rng.integers(0, 5 * n, batch)
    after, invalid = push(positions, weights, action)
    assert (after >= 0).all() and (after < 5).all()
    assert all(len(set(row)) == n for row in (after[..., 0] * 5 + after[..., 1]).tolist())
    gap = np.abs(after - positions).sum(-1)
    assert gap.max() <= 1 and ((gap > 0).sum(1) <= 2).all()
    assert (gap[invalid] == 0).all()
    two = (gap > 0).sum(1) == 2
    mover = action[two] // 5
    pushed = ((gap[two] > 0) & (np.arange(n) != mover[:, None])).argmax(1)
    rows = np.arange(two.sum())
    assert (weights[two][rows, mover] > weights[two][rows, pushed]).all()


@given(SEEDS, st.integers(2, 60), st.integers(1, 6), st.booleans())
def test_constant_predictor_cannot_beat_chance(seed, pool, width, flat):
    """A constant prediction hits at most one distinct outcome; a constant encoder hits none."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=(pool, width))
    if flat:
        target[:] = target[0]
    predicted = np.tile(rng.normal(size=width), (pool, 1))
    assert hits_at_k(ranks(predicted, target)) <= 100 / pool + 1e-9
    if flat:
        assert (ranks(predicted, target) == pool - 1).all()


@given(SEEDS, st.integers(1, 60), st.integers(1, 8))
def test_constant_predictor_hits_one_group(seed, pool, names):
    """With groups a constant prediction hits the members of one group at most."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, names, pool)
    target = rng.normal(size=(names, 3))[groups]
    result = ranks(np.zeros((pool, 3)), target, groups=groups)
    assert len(set(groups[result == 0])) <= 1


@given(SEEDS, st.integers(1, 30))
def test_grouped_never_beats_strict_order(seed, pool):
    """Ranks lie in [0, pool) and a perfect prediction of distinct outcomes is 0 everywhere."""
    target = np.random.default_rng(seed).normal(size=(pool, 2))
    assert (ranks(target, target) == 0).all()
    other = ranks(target[::-1], target)
    assert (other >= 0).all() and (other < pool).all()


@given(SEEDS, st.integers(1, 12), st.floats(0, 5), st.floats(0.1, 3))
def test_contrastive_is_never_negative(seed, batch, hinge, sigma):
    """Energies and hinges are >= 0."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(3, batch, 2, 4, generator=generator) * 3
    assert contrastive(*z, torch.randperm(batch, generator=generator), hinge, sigma) >= 0


WORLDS = [
    PhysicsWorld(5), PhysicsWorld(3, object_order="shuffled", hidden_weights=True), PhysicsWorld(4, "unobserved", "pastels"),
    PhysicsWorld(5, "fixed_unobserved", "sets"),
]  # fmt: skip


@given(SEEDS, st.sampled_from(WORLDS), st.integers(1, 20))
def test_pack_unpack_restores_the_world(seed, world, batch):
    """A packed state draws the same frame and steps to the same boards."""
    rng = np.random.default_rng(seed)
    boards = world.reset(batch, rng)
    back = world.unpack(world.pack(boards))
    assert np.array_equal(world.render(back), world.render(boards))
    action = rng.integers(0, world.spec.action.size, batch)
    (one, flag), (two, other) = world.step(boards, action), world.step(back, action)
    assert np.array_equal(world.pack(one), world.pack(two)) and np.array_equal(flag, other)


@pytest.mark.parametrize("setting, colormap", [("observed", "blues"), ("unobserved", "sets")])
def test_shuffled_index_tells_nothing(setting, colormap):
    """Object index and weight are uncorrelated when shuffled, and fully tied when not."""
    def correlation(order):
        weights = PhysicsWorld(5, setting, colormap, order).reset(8000, np.random.default_rng(0)).weights
        return abs(np.corrcoef(np.tile(np.arange(5), 8000), weights.ravel())[0, 1])

    assert correlation("shuffled") < 0.02
    assert correlation("by_weight") > 0.8


@given(SEEDS, st.integers(2, 30), st.integers(1, 4))
def test_frame_ids_name_pictures(seed, count, kinds):
    """Ids are equal exactly where frames are, also for frames that differ in one bit."""
    rng = np.random.default_rng(seed)
    pictures = np.repeat(rng.integers(0, 256, (1, 10, 10, 3), dtype=np.uint8), kinds, 0)
    for k in range(kinds):
        pictures[k, k, k, 0] ^= 1 << k
    frames = pictures[rng.integers(0, kinds, count)]
    ids = frame_ids(frames)
    same = (frames[:, None] == frames[None]).all((2, 3, 4))
    assert np.array_equal(ids[:, None] == ids[None], same)


def test_frame_ids_separate_all_boards():
    """Twenty thousand boards: as many ids as pictures."""
    world = PhysicsWorld(5, object_order="shuffled")
    frames = world.render(world.reset(20_000, np.random.default_rng(0)))
    assert len(np.unique(frame_ids(frames))) == len({f.tobytes() for f in frames})


@given(SEEDS, st.integers(1, 5))
def test_goals_are_reachable_and_elsewhere(seed, steps):
    """A goal differs from the start, by at most two cells a step."""
    world = PhysicsWorld(3)
    rng = np.random.default_rng(seed)
    boards = world.reset(5, rng)
    goal = world.draw_goals(boards, rng, steps)[0]
    gap = np.abs(goal.positions.astype(int) - boards.positions).sum((1, 2))
    assert (gap >= 1).all() and (gap <= 2 * steps).all()


@given(SEEDS, st.integers(1, 5))
def test_the_walk_to_a_goal_ends_there(seed, steps):
    world, rng = PhysicsWorld(3), np.random.default_rng(seed)
    boards = world.reset(5, rng)
    goal, actions = world.draw_goals(boards, rng, steps)
    for action in actions.T:
        boards, _ = world.step(boards, action)
    assert actions.shape == (5, steps) and world.solved(boards, goal).all()
