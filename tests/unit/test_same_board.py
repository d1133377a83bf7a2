"""Same-board ranking, against a loop over candidates and predictors whose worth is known beforehand."""

import numpy as np
import pytest
import torch

from envs.chemistry import ChemistryWorld
from eval.probes.same_board import OTHERS, STATES, alternatives, score_alternatives

RNG = np.random.default_rng
COUNT, LENGTH = 120, 3
KINDS = {"static": {}, "dynamic": {"movement": "dynamic"}, "delayed": {"delay": 1, "graph": "full5"}}
CAUSAL = {"numbering": "causal"}  # effects lead to larger numbers


def episodes(world, count=COUNT, seed=0):
    """state (count, LENGTH + 1, N, F) and action (count, LENGTH + 1) of random episodes."""
    rng = RNG(seed)
    boards, states = world.reset(count, rng), []
    action = rng.integers(0, world.spec.action.size, (count, LENGTH + 1))
    for t in range(LENGTH + 1):
        states.append(world.pack(boards))
        boards, _ = world.step(boards, action[:, t], world.noise(count, rng))
    return np.stack(states, 1), action


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    """A world, its episodes and their candidates after LENGTH actions."""
    world = ChemistryWorld(**KINDS[request.param], **CAUSAL)
    state, action = episodes(world)
    return world, state, action, alternatives(world, state, action, LENGTH)


def codes(world, boards):
    """What a perfect encoder would say of the colours."""
    return torch.from_numpy(world.factors(boards).astype(np.float32))


def mode(world, state, action):
    """The likeliest boards after LENGTH actions."""
    boards = world.unpack(state[:, 0])
    for t in range(LENGTH):
        boards, _ = world.step(boards, action[:, t], None)
    return boards


def by_loop(predicted, pool, encode):
    """Hits and accuracy from sets of colours, one episode after the other."""
    hits, right = [], []
    for e, query in enumerate(predicted):
        colors = pool.boards.colors[pool.members[e]]
        distance = {tuple(c): float(((query - encode(c)) ** 2).sum()) for c in colors}
        true = distance.pop(tuple(colors[0]))
        near = min(distance, key=distance.get)
        hits.append(true < distance[near] - 1e-6)
        right.append(1.0 if hits[-1] else np.mean(np.array(near) == colors[0]))
    return 100 * np.mean(hits), 100 * np.mean(right)


def test_candidates_share_the_cells_of_the_query(case):
    """Every candidate of an episode lies in that episode's cells, and candidate 0 is what happened."""
    world, state, _, pool = case
    truth = world.unpack(state[:, LENGTH])
    assert pool.members.shape == pool.first.shape == (COUNT, 1 + 2 * OTHERS)
    assert (pool.boards.positions[pool.members] == truth.positions[:, None]).all()
    assert np.array_equal(pool.boards.colors[pool.members[:, 0]], truth.colors)


def test_first_marks_every_distinct_board_once(case):
    """The candidates marked first have distinct colours, are all the colours there are, and candidate 0 is one of them."""
    *_, pool = case
    assert pool.first[:, 0].all()
    for members, first in zip(pool.members, pool.first):
        colors = [tuple(c) for c in pool.boards.colors[members].tolist()]
        marked = [c for c, f in zip(colors, first) if f]
        assert len(set(marked)) == len(marked) and set(marked) == set(colors)
    assert len(pool.boards) == pool.first.sum()


def test_half_of_the_candidates_might_have_happened(case):
    """Candidates of other chance keep what no action reached; the others end in colours in which some episode ended."""
    world, state, action, pool = case
    colors = pool.boards.colors[pool.members]
    last = action[:, :LENGTH] // 5  # under do() on the last object alone, everything above keeps its colour
    only_last = np.flatnonzero((last == 4).all(1))
    if len(only_last):
        assert (colors[only_last, 1 : 1 + OTHERS, :4] == state[only_last, 0, None, :4, 2]).all()
    ends = {tuple(c) for c in state[:, LENGTH, :, 2].astype(int).tolist()}
    assert {tuple(c) for c in colors[:, 1 + OTHERS :].reshape(-1, 5).tolist()} <= ends
    assert len({tuple(c) for c in colors[:, 1 : 1 + OTHERS].reshape(-1, 5).tolist()} - ends) > 0


def test_other_chance_is_the_true_model():
    """Where tables are certain, the outcomes under other chance all equal the true one."""
    world = ChemistryWorld(skewness=1000.0, scm_seed=1)
    pool = alternatives(world, *episodes(world), LENGTH)
    again = pool.boards.colors[pool.members[:, 1 : 1 + OTHERS]]
    assert (again == pool.boards.colors[pool.members[:, :1]]).mean() > 0.99


def test_candidates_are_the_same_for_every_run(case):
    """Asked again, the candidates are the same; another horizon asks about other boards."""
    world, state, action, pool = case
    again = alternatives(world, state, action, LENGTH)
    assert np.array_equal(again.members, pool.members) and np.array_equal(again.boards.colors, pool.boards.colors)
    one = alternatives(world, state, action, 1)
    assert np.array_equal(one.boards.colors[one.members[:, 0]], state[:, 1, :, 2])


def test_what_is_asked_is_left_alone(case):
    """Neither states nor actions are written to."""
    world, state, action, _ = case
    kept = state.copy(), action.copy()
    alternatives(world, state, action, LENGTH)
    assert np.array_equal(state, kept[0]) and np.array_equal(action, kept[1])


def test_the_truth_scores_a_hundred(case):
    """A predictor that knows the outcome is right about every episode and every object."""
    world, state, _, pool = case
    assert score_alternatives(codes(world, world.unpack(state[:, LENGTH])), codes(world, pool.boards), pool) == (100, 100)


@pytest.mark.parametrize("predictor", ["mode", "start", "noise"])
def test_scores_by_loop(case, predictor):
    """Perfect codes score what a loop over the distinct colours of every episode finds, for good and bad predictions."""
    world, state, action, pool = case
    predicted = {
        "mode": codes(world, mode(world, state, action)),
        "start": codes(world, world.unpack(state[:, 0])),
        "noise": torch.from_numpy(RNG(5).random((COUNT, 5, codes(world, pool.boards).shape[-1])).astype(np.float32)),
    }[predictor]
    expected = by_loop(predicted[..., :5].numpy(), pool, lambda c: np.eye(5, dtype=np.float32)[np.array(c)])
    assert np.allclose(score_alternatives(predicted, codes(world, pool.boards), pool), expected, atol=1e-3)


def test_knowing_more_scores_more(case):
    """The mode of the true model beats the start, and the truth beats the mode, in both numbers."""
    world, state, action, pool = case
    start, likely = (score_alternatives(codes(world, b), codes(world, pool.boards), pool)
                     for b in (world.unpack(state[:, 0]), mode(world, state, action)))  # fmt: skip
    assert start.hits + 10 < likely.hits < 100 and start.accuracy + 10 < likely.accuracy < 100


def test_a_constant_prediction_scores_next_to_nothing(case):
    """One prediction for all episodes hits about as often as the board it names is the true one."""
    world, _, _, pool = case
    every = codes(world, pool.boards)
    for predicted in (torch.zeros_like(every[:1]), every.mean(0, keepdim=True)):
        assert score_alternatives(predicted.expand(COUNT, -1, -1), every, pool).hits < 5


def test_ties_count_against_us(case):
    """An encoder that says the same of every board hits nothing, nor one that tells only the first object's colour."""
    world, state, _, pool = case
    one = torch.ones(len(pool.boards), 1, 4)
    collapsed = score_alternatives(one[:COUNT], one, pool)
    assert collapsed.hits == 0 and collapsed.accuracy < 90
    first = codes(world, pool.boards)[:, :1]
    truth = first[torch.from_numpy(pool.members[:, 0])]
    assert score_alternatives(truth, first, pool).hits < 5


def test_equal_candidates_are_one():
    """An outcome that other chance or another episode repeats is not a rival of itself: certain tables still score 100."""
    world = ChemistryWorld(2, 2, "{0-1}")  # four boards, so that every candidate repeats
    state, action = episodes(world)
    pool = alternatives(world, state, action, LENGTH)
    assert pool.first.sum(1).max() <= 4
    found = score_alternatives(codes(world, mode(world, state, action)), codes(world, pool.boards), pool)
    assert found == (100, 100)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_scale_does_not_matter(case, scale):
    """Codes and predictions stretched alike score alike."""
    world, state, action, pool = case
    predicted, every = codes(world, mode(world, state, action)), codes(world, pool.boards)
    assert score_alternatives(predicted * scale, every * scale, pool) == score_alternatives(predicted, every, pool)


def test_no_two_of_ten_colours_are_confused():
    """Among a hundred possible boards of two objects the candidates keep every distinct one, and no index leads to another."""
    world = ChemistryWorld(2, 10, "0->1", skewness=0, numbering="causal")
    state, action = episodes(world)
    pool = alternatives(world, state, action, 1)
    colors = pool.boards.colors[pool.members]
    assert all(len(np.unique(c, axis=0)) == f.sum() for c, f in zip(colors, pool.first))
    kept = action[:, 0] // 10 == 1  # under do() on the effect, the cause keeps its colour under any other chance
    assert (colors[kept, : 1 + OTHERS, 0] == state[kept, 0, 0, 2][:, None]).all()
    assert (colors[kept, : 1 + OTHERS, 1] == (action[kept, 0] % 10)[:, None]).all()


def test_ten_objects_of_ten_colours_do_not_run_over():
    """The key of a board, ten digits beside its episode, is exact for the largest world."""
    world = ChemistryWorld(10, 10, "empty10")
    state, action = episodes(world, STATES + 20)
    pool = alternatives(world, state, action, 1)
    assert len(pool.members) == STATES  # no more are asked about
    assert np.array_equal(pool.boards.colors[pool.members[:, 0]], state[:STATES, 1, :, 2])
    keys = np.concatenate([np.repeat(np.arange(STATES), pool.first.sum(1))[:, None],
                           pool.boards.colors[pool.members[pool.first]]], 1)  # fmt: skip
    assert len({row.tobytes() for row in keys}) == len(keys) == len(pool.boards)
    every = codes(world, pool.boards)
    assert score_alternatives(every[torch.from_numpy(pool.members[:, 0])], every, pool) == (100, 100)


def test_what_all_boards_share_hides_no_difference(case):
    """A large common part had all candidates tied, which counts against a model that is right."""
    world, state, action, pool = case
    shown = codes(world, pool.boards).double()
    predicted = codes(world, mode(world, state, action)).double()
    plain, moved = (score_alternatives(predicted + shift, shown + shift, pool) for shift in (0.0, 1e5))
    assert plain == moved and plain.hits > 0
