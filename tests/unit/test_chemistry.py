"""The chemistry world: boards, actions, delays, goals."""

import copy

import numpy as np
import pytest
from walked_boards import RNG, same, walked

from envs.chemistry import PALETTE, SHAPES, STATIC_CELLS, ChemistryWorld
from envs.graphs.scm import reached
from envs.grid import sprite
from envs.problem import Problem
from eval.rollouts import counterfactual_outcomes

KINDS = {
    "static": {},
    "dynamic": {"movement": "dynamic"},
    "delayed": {"delay": 2},
    "poisson": {"delay": "poisson", "graph": "full5"},
    "changed": {"redraw": "changed", "graph": "jungle5"},
    "one object": {"num_objects": 1, "graph": ""},
    "two colours": {"num_objects": 2, "num_colors": 2, "graph": "0->1", "movement": "dynamic"},
    "ten": {"num_objects": 10, "num_colors": 10, "graph": "tree10"},
}




# -- boards -----------------------------------------------------------------------------------------------------------


def test_static_cells_are_the_published_ones():
    """Object i lies in its published cell on every board, before and after actions."""
    world = ChemistryWorld(10, 5, "chain10")
    published = [(0, 0), (0, 4), (4, 0), (4, 4), (2, 2), (1, 1), (1, 3), (3, 1), (3, 3), (0, 2)]
    assert (walked(world).positions == published).all() and published == STATIC_CELLS
    assert walked(ChemistryWorld(3, graph="chain3")).positions[0].tolist() == [[0, 0], [0, 4], [4, 0]]


def test_dynamic_cells_are_distinct_and_drawn_anew():
    """Objects lie in distinct cells, every object in all 25 over many boards, and nothing moves within an episode."""
    world = ChemistryWorld(movement="dynamic")
    rng = RNG(0)
    boards = world.reset(1000, rng)
    cells = boards.positions[..., 0].astype(int) * 5 + boards.positions[..., 1]
    assert all(len(set(row)) == 5 for row in cells.tolist())
    assert all(set(cells[:, i]) == set(range(25)) for i in range(5))
    assert len(np.unique(cells, axis=0)) > 990
    after, _ = world.step(boards, rng.integers(0, 25, 1000), world.noise(1000, rng))
    assert np.array_equal(after.positions, boards.positions)


def test_ten_dynamic_objects_of_ten_colours_are_seen():
    """All objects of the largest world show: a pixel of the colour of every object lies within its own cell."""
    world = ChemistryWorld(10, 10, "chain10", movement="dynamic")
    boards = walked(world, 50)
    frames = world.render(boards)
    for i in range(10):
        row, column = 10 * boards.positions[:, i].T.astype(int)
        cells = np.stack([f[r : r + 10, c : c + 10] for f, r, c in zip(frames, row, column)])
        found = (cells == PALETTE[boards.colors[:, i]][:, None, None]).all(-1)
        assert found.any((1, 2)).all()


def test_colours_of_the_palette_are_far_apart():
    """Any two of the ten colours, and any colour and the black board, are at least 85 of 442 apart."""
    shades = np.concatenate([PALETTE.astype(float), np.zeros((1, 3))])
    distance = np.linalg.norm(shades[:, None] - shades, axis=-1)
    assert len(PALETTE) == 10 and distance[~np.eye(11, dtype=bool)].min() >= 85


def test_frames_show_the_colours():
    """Two boards have equal frames exactly where all colours are equal: all 243 boards of five objects look different."""
    world = ChemistryWorld(num_colors=3)
    boards = world.reset(243, RNG(0))
    boards.colors = np.stack(np.unravel_index(np.arange(243), (3,) * 5), 1).astype(np.int8)
    frames = world.render(boards)
    assert frames.shape == (243, 50, 50, 3) and frames.dtype == np.uint8
    assert len({frame.tobytes() for frame in frames}) == 243
    shape = sprite(SHAPES[4])[:10, :10]
    assert np.array_equal((frames[5, 20:30, 20:30] == PALETTE[boards.colors[5, 4]]).all(-1), shape)


def test_shapes_follow_the_published_order():
    """Pentagon and cross are objects 4 and 5, and all ten shapes are distinct."""
    assert len({sprite(shape).tobytes() for shape in SHAPES}) == len(SHAPES) == 10
    assert sprite(SHAPES[4]).sum() == 72 and sprite(SHAPES[5]).sum() == 57  # reference section 1


@pytest.mark.parametrize("kind", KINDS)
def test_pack_and_unpack(kind):
    """A packed board, effects on their way included, comes back equal in every field, and goes on alike."""
    world = ChemistryWorld(**KINDS[kind])
    boards = walked(world)
    state = world.pack(boards)
    again = world.unpack(state)
    assert state.shape == (20, world.num_objects, 3 + world.model.longest_delay) and state.dtype == np.float32
    assert same(boards, again) and np.array_equal(world.pack(again), state)
    action, noise = RNG(1).integers(0, world.spec.action.size, 20), world.noise(20, RNG(2))
    assert same(world.step(boards, action, noise)[0], world.step(again, action, noise)[0])
    assert boards.waiting.any() == (world.delay is not None)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_batch(kind):
    """No boards at all go through every verb."""
    world = ChemistryWorld(**KINDS[kind])
    boards = world.reset(0, RNG(0))
    after, fault = world.step(boards, np.zeros(0, int), world.noise(0, RNG(0)))
    assert len(after) == len(fault) == len(world.render(after)) == len(world.unpack(world.pack(after))) == 0
    assert (
        len(world.factors(after)) == len(world.distance(after, boards)) == len(world.intervene(after, "object_0", RNG(0))) == 0
    )


# -- acting -----------------------------------------------------------------------------------------------------------


def test_actions_name_object_and_colour():
    """Action object * colours + colour: every one of the 25 actions sets that colour on that object, and is never invalid."""
    world = ChemistryWorld()
    boards = world.reset(25, RNG(0))
    after, fault = world.step(boards, np.arange(25), world.noise(25, RNG(1)))
    assert after.colors[np.arange(25), np.arange(25) // 5].tolist() == [0, 1, 2, 3, 4] * 5
    assert not fault.any() and world.spec.action.size == 25 and world.spec.action.choices == 5
    assert world.choice_names == ("red", "blue", "green", "yellow", "purple")


@pytest.mark.parametrize("kind", KINDS)
def test_same_noise_same_outcome(kind):
    """An action repeated in the same noise ends in the same boards; the boards acted on are left as they were."""
    world = ChemistryWorld(**KINDS[kind])
    boards = walked(world)
    kept = copy.deepcopy(boards)
    action, noise = RNG(1).integers(0, world.spec.action.size, 20), world.noise(20, RNG(2))
    assert same(world.step(boards, action, noise)[0], world.step(boards, action, noise)[0])
    assert same(boards, kept)


def test_other_noise_other_outcome():
    """Chance decides: of 500 boards many end otherwise in other noise, and those without descendants acted on never."""
    world = ChemistryWorld(skewness=1.0, numbering="causal")
    boards, action = world.reset(500, RNG(0)), RNG(1).integers(0, 25, 500)
    one, other = (world.step(boards, action, world.noise(500, RNG(seed)))[0].colors for seed in (2, 3))
    differs = (one != other).any(1)
    assert not differs[action // 5 == 4].any() and differs[action // 5 == 0].mean() > 0.5


@pytest.mark.parametrize("graph", ["chain5", "collider5", "jungle5"])
def test_counterfactuals_by_simulation(graph):
    """What if: the recorded action gives its recorded outcome, and every other one changes only what it reaches."""
    world = ChemistryWorld(graph=graph)
    start, action = world.reset(40, RNG(0)), RNG(1).integers(0, 25, (40, 1))
    _, boards, outcome, _ = counterfactual_outcomes(world, world.pack(start), action, 1, RNG(2))
    rng = RNG(2)
    rng.integers(0, 1, 40)  # counterfactual_outcomes draws its steps first
    recorded, _ = world.step(start, action[:, 0], world.noise(40, rng))
    assert np.array_equal(boards.colors[outcome[np.arange(40), action[:, 0]]], recorded.colors)
    for number in range(25):
        untouched = ~reached(world.parents, number // 5)
        assert np.array_equal(boards.colors[outcome[:, number]][:, untouched], start.colors[:, untouched])


def test_counterfactuals_share_their_chance():
    """Two causes set to what they are: a collider's child then ends in one colour whichever of them was acted on."""
    world = ChemistryWorld(graph="collider5", skewness=1.0, numbering="causal")
    boards, noise = world.reset(300, RNG(0)), world.noise(300, RNG(1))
    ends = [world.step(boards, i * 5 + boards.colors[:, i], noise)[0].colors for i in range(4)]
    assert all(np.array_equal(ends[0], end) for end in ends[1:])
    fresh = world.step(boards, boards.colors[:, 0], world.noise(300, RNG(2)))[0].colors
    assert not np.array_equal(fresh, ends[0])


def test_reward_by_hand():
    """Reward is the share of objects in the goal's colour, distance what is missing, and 1 exactly is solved."""
    world = ChemistryWorld()
    boards = world.reset(4, RNG(0))
    goal = boards.take(np.arange(4))
    boards.colors[:] = [[0, 1, 2, 3, 4]] * 4
    goal.colors[:] = [[0, 1, 2, 3, 4], [0, 1, 2, 3, 0], [1, 1, 3, 3, 0], [1, 0, 0, 0, 0]]
    assert np.allclose(world.reward(boards, goal), [1, 0.8, 0.4, 0]) and world.reward(boards, goal)[0] == 1
    assert np.allclose(world.distance(boards, goal), [0, 0.2, 0.6, 1]) and world.distance(boards, goal)[0] == 0
    assert np.array_equal(world.target(goal), goal.colors)


def test_paint_is_the_action_without_its_effects():
    """Painting sets the acted object's colour and nothing else; it is the whole of a step where there are no arrows."""
    world, still = ChemistryWorld(), ChemistryWorld(graph="empty5")
    boards, action = world.reset(200, RNG(0)), RNG(1).integers(0, 25, 200)
    painted = world.paint(boards, action)
    assert ((painted.colors != boards.colors).sum(1) <= 1).all()
    assert (painted.colors[np.arange(200), action // 5] == action % 5).all()
    assert same(painted, still.step(boards, action, still.noise(200, RNG(2)))[0])


def test_effects_are_expected_where_there_are_arrows():
    """The event 'effect' names the actions on objects that cause another."""
    found = {}
    for graph in ("chain5", "collider5", "empty5", "0->{3-4}"):
        world = ChemistryWorld(graph=graph, numbering="causal")
        found[graph] = world.events(world.reset(5, RNG(0)), np.arange(5) * 5)["effect"].tolist()
    assert found == {
        "chain5": [True] * 4 + [False], "collider5": [True] * 4 + [False], "empty5": [False] * 5,
        "0->{3-4}": [True] + [False] * 4,
    }  # fmt: skip


def test_alter_changes_one_object():
    """The altered object has another colour on every board, all others keep theirs, and the boards are copies."""
    world = ChemistryWorld(num_colors=3)
    boards = world.reset(300, RNG(0))
    kept = boards.colors.copy()
    differs = world.intervene(boards, "object_2", RNG(1)).colors != boards.colors
    assert differs[:, 2].all() and not differs[:, [0, 1, 3, 4]].any() and np.array_equal(boards.colors, kept)


def test_factors_are_one_hot():
    """Static boards: one colour of five for every object; dynamic ones: a colour, then a cell of 25."""
    boards = ChemistryWorld().reset(50, RNG(0))
    factors = ChemistryWorld().factors(boards)
    assert factors.shape == (50, 5, 5) and np.array_equal(factors.argmax(-1), boards.colors) and (factors.sum(-1) == 1).all()
    world = ChemistryWorld(movement="dynamic")
    boards = world.reset(50, RNG(0))
    factors = world.factors(boards)
    assert factors.shape == (50, 5, 30) and (factors[..., :5].sum(-1) == 1).all() and (factors[..., 5:].sum(-1) == 1).all()
    assert np.array_equal(factors[..., 5:].argmax(-1), boards.positions @ [5, 1])


# -- delays, goals ------------------------------------------------------------------------------------------------------


def test_goal_making_leaves_the_live_boards_alone():
    """Drawing goals of boards that have effects on their way changes neither their colours nor their queues."""
    world = ChemistryWorld(graph="full5", delay=2)
    boards = walked(world)
    kept = copy.deepcopy(boards)
    goal = world.draw_goals(boards, RNG(3), 10)[0]
    assert kept.waiting.any() and same(boards, kept)
    assert (world.distance(boards, goal) > 0).all() and np.array_equal(goal.positions, boards.positions)
    goal.waiting[:], goal.colors[:], goal.positions[:] = True, 0, 0
    assert same(boards, kept)


def test_fresh_boards_have_nothing_on_its_way():
    """A reset empties every queue, also after an episode that filled them."""
    world = ChemistryWorld(delay="poisson")
    assert walked(world).waiting.any() and not world.reset(20, RNG(0)).waiting.any()


def test_a_delayed_effect_in_the_world():
    """With delay 3 and no second action nearby, only the acted object differs for two steps, and effects begin on the third."""
    world = ChemistryWorld(num_objects=3, graph="0->1", delay=3, skewness=0, numbering="causal")
    boards = world.reset(400, RNG(0))
    start, rng = boards.colors.copy(), RNG(1)
    actions = [np.zeros(400, int), *[10 + boards.colors[:, 2]] * 4]  # then object 2, which causes nothing, keeps its colour
    changed = []
    for action in actions:
        boards, _ = world.step(boards, action, world.noise(400, rng))
        changed.append((boards.colors[:, 1] != start[:, 1]).mean())
    assert changed[:3] == [0, 0, 0] and changed[3] > 0.5 and changed[4] == changed[3]


def test_poisson_delays():
    """1 + Poisson(3) on every edge: whole numbers from 1, mean near 4, of the seed alone, and the tables stay the same."""
    worlds = [ChemistryWorld(graph="full5", delay="poisson", scm_seed=seed) for seed in range(40)]
    drawn = np.stack([world.model.delays[world.parents] for world in worlds])
    assert drawn.min() >= 1 and abs(drawn.mean() - 4) < 5 * np.sqrt(3 / drawn.size) and len(np.unique(drawn)) > 5
    assert np.array_equal(ChemistryWorld(graph="full5", delay="poisson", scm_seed=7).model.delays, worlds[7].model.delays)
    plain = ChemistryWorld(graph="full5", scm_seed=7)
    assert all(np.array_equal(a, b) for a, b in zip(plain.model.layers[4], worlds[7].model.layers[4]))


@pytest.mark.parametrize("delay", [0, -1, 1.5, 2.0, "2", "fish", False, [1]])
def test_delays_that_are_none(delay):
    """Zero, negative, broken and unknown delays are refused with what a delay may be."""
    with pytest.raises(Problem, match=r"delay is null, a whole number of steps >= 1, or poisson; got "):
        ChemistryWorld(delay=delay)
