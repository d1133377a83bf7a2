"""The structural causal model: do() and delays, by hand."""

import itertools

import numpy as np
import pytest

from envs.graphs import from_adjacency, parse, preset
from envs.graphs.scm import Layers, StructuralCausalModel, reached
from envs.problem import Problem

RNG = np.random.default_rng
OLD, NEW = 0, 1  # colours of the tests by hand


def drawn(graph, colors=4, seed=0, **rules):
    """A model of a preset, a text or a matrix."""
    if isinstance(graph, str):
        graph = preset(graph) if graph[0].isalpha() else parse(graph)
    return StructuralCausalModel(graph, colors, RNG(seed), **rules)


def copying(graph, colors=4, **rules):
    """A model in which every child takes the colour of its parent for certain; orphans always take colour 0."""
    model = drawn(graph, colors, **rules)
    n, units = len(model), 4 * len(model)
    inner, outer = np.zeros((units, n, colors)), np.zeros((colors, units))
    for color in range(colors):
        inner[color, :, color], outer[color, color] = 1, 1000
    first = np.array([500.0, *np.zeros(colors - 1)])  # wins only where no parent speaks
    model.layers = [Layers(inner, np.zeros(units), outer, first)] * n
    return model


def all_colors(model):
    """Every combination of colours, (C ** N, N)."""
    return np.array(list(itertools.product(range(model.num_colors), repeat=len(model))), np.int8)


def act(model, colors, waiting, target, color, seed=0):
    """One delayed step of every board with the same action."""
    count, noise = len(colors), RNG(seed).random(np.shape(colors))
    return model.respond_later(colors, waiting, np.full(count, target), np.full(count, color), noise)


def play(model, actions, colors=None, seed=0):
    """The colours after each of the (object, colour) actions on one board that starts all OLD, as strings."""
    colors = np.full((1, len(model)), OLD, np.int8) if colors is None else colors
    waiting, seen = np.zeros((1, len(model), model.longest_delay), bool), []
    for number, (target, color) in enumerate(actions):
        colors, waiting = act(model, colors, waiting, target, color, seed + number)
        seen.append("".join(map(str, colors[0])))
    return seen


def delays(model_graph, **edges):
    """delays('0->1->2', e01=1, e12=3): the matrix of a text."""
    parents = parse(model_graph)
    matrix = np.zeros(parents.shape, int)
    for name, steps in edges.items():
        matrix[int(name[2]), int(name[1])] = steps
    return matrix


# -- do() -------------------------------------------------------------------------------------------------------------


def test_reached_by_hand():
    """In 0->1->2, 0->3 node 1 reaches itself and 2 alone; the last nodes reach themselves."""
    parents = parse("0->1->2, 0->3")
    assert [np.flatnonzero(reached(parents, i)).tolist() for i in range(4)] == [[0, 1, 2, 3], [1, 2], [2], [3]]


def test_a_collider_by_hand():
    """Acting on the child redraws nothing; acting on a parent redraws the child alone, in about all of its colours."""
    model, count = drawn("collider4", skewness=0), 400
    start = np.tile([0, 1, 2, 3], (count, 1)).astype(np.int8)
    child = model.intervene(start, np.full(count, 3), np.full(count, 1), RNG(0))
    assert (child == [0, 1, 2, 1]).all()
    parent = model.intervene(start, np.full(count, 1), np.full(count, 3), RNG(0))
    assert (parent[:, :3] == [0, 3, 2]).all() and len(set(parent[:, 3])) == 4


def test_descendants_are_redrawn_even_by_the_same_colour():
    """Published semantics: do() with the colour an object has already redraws all its descendants, and not the object."""
    model, count = drawn("chain4", skewness=0), 400
    start = np.zeros((count, 4), np.int8)
    after = model.intervene(start, np.full(count, 1), np.zeros(count, int), RNG(0))
    assert (after[:, :2] == 0).all() and len(set(after[:, 2])) == len(set(after[:, 3])) == 4


@pytest.mark.parametrize("graph", ["chain4", "full4", "collider4"])
def test_changed_repeating_a_colour_changes_nothing(graph):
    """The paper's semantics: do() with the colour an object has already leaves every board as it was."""
    model = drawn(graph, redraw="changed")
    states = all_colors(model)
    for target in range(4):
        after = model.intervene(states, np.full(256, target), states[:, target], RNG(target))
        assert np.array_equal(after, states)


def test_changed_stops_where_a_parent_kept_its_colour():
    """In a copying chain an effect dies out at the first object that has the new colour already; 'descendants' goes on."""
    start = np.array([[0, 2, 1, 0]], np.int8)  # do(0 := 2): 1 is 2 already, so 2 and 3 hear of nothing
    for redraw, expected in {"changed": [2, 2, 1, 0], "descendants": [2, 2, 2, 2]}.items():
        after = copying("chain4", redraw=redraw).intervene(start, np.array([0]), np.array([2]), RNG(0))
        assert after.tolist() == [expected]


def test_do_is_not_persistent():
    """An object that was acted on is redrawn when an ancestor is acted on later."""
    model, colors = copying("chain3"), np.zeros((1, 3), np.int8)
    colors = model.intervene(colors, np.array([2]), np.array([3]), RNG(0))
    assert colors.tolist() == [[0, 0, 3]]
    assert model.intervene(colors, np.array([0]), np.array([1]), RNG(0)).tolist() == [[1, 1, 1]]


def test_arrows_against_the_index_order():
    """2->0->1 given as a matrix: acting on 2 reaches 0 and then 1, and 0 is drawn before 1."""
    graph = from_adjacency([[0, 0, 1], [1, 0, 0], [0, 0, 0]])
    model = copying(graph)
    assert model.order.tolist() == [2, 0, 1]
    assert model.intervene(np.zeros((1, 3), np.int8), np.array([2]), np.array([3]), RNG(0)).tolist() == [[3, 3, 3]]
    assert model.intervene(np.zeros((1, 3), np.int8), np.array([1]), np.array([3]), RNG(0)).tolist() == [[0, 3, 0]]
    fresh = model.sample(2000, RNG(0))
    assert (fresh == fresh[:, :1]).all() and set(fresh[:, 0]) == {0, 1, 2, 3}  # the root is uniform, and it is 2


def test_boards_of_a_batch_are_independent():
    """Each board of a batch, with its own action and noise, ends as it would alone; the input is left alone."""
    model, rng = drawn("full4"), RNG(0)
    colors, target, color, noise = model.sample(50, rng), rng.integers(0, 4, 50), rng.integers(0, 4, 50), rng.random((50, 4))
    before = colors.copy()
    together = model.respond(colors, target, color, noise)
    alone = [model.respond(colors[i : i + 1], target[i : i + 1], color[i : i + 1], noise[i : i + 1])[0] for i in range(50)]
    assert np.array_equal(together, alone) and np.array_equal(colors, before)


# -- delays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("redraw", ["descendants", "changed"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_effect_shows_d_steps_after_its_cause(d, redraw):
    """In a copying chain with delay d the child changes exactly d steps after do(), the grandchild exactly 2 d steps."""
    model = copying("0->1->2, 3", delays=np.full((4, 4), d), redraw=redraw)
    seen = play(model, [(0, NEW)] + [(3, OLD)] * (2 * d + 2))
    expected = ["1000"] * d + ["1100"] * d + ["1110"] * 3
    assert seen == expected


def test_every_edge_has_its_own_delay():
    """0->1 after 1 step, 1->2 three steps later, 0->3 after 2: four moments worked out by hand."""
    text = "0->1->2, 0->3, 4"
    model = copying(text, delays=delays(text, e01=1, e12=3, e03=2))
    assert model.longest_delay == 3
    assert play(model, [(0, NEW)] + [(4, OLD)] * 5) == ["10000", "11000", "11010", "11010", "11110", "11110"]


@pytest.mark.parametrize("when", [1, 2])
def test_do_clears_the_queue_of_its_object(when):
    """An effect on its way to an object never overwrites a do() on it, in the step it is due or before."""
    model = copying("0->1, 2", delays=np.full((3, 3), 2))
    actions = [(0, NEW)] + [(2, OLD)] * (when - 1) + [(1, 3)] + [(2, OLD)] * 3
    assert play(model, actions)[when:] == ["130"] * 4


def test_do_leaves_other_queues_alone():
    """do() on one child of a fork clears its queue and not that of its sibling."""
    model = copying("0->{1-2}, 3", delays=np.full((4, 4), 2))
    assert play(model, [(0, NEW), (1, 3), (3, OLD), (3, OLD)]) == ["1000", "1300", "1310", "1310"]


def test_two_effects_on_their_way_both_arrive():
    """Two actions on a cause, one step apart, reach the effect one step apart, each with the cause's colour of that moment."""
    model = copying("0->1, 2", delays=np.full((3, 3), 2))
    seen = play(model, [(0, 1), (0, 2), (2, OLD), (0, 3), (2, OLD), (2, OLD)])
    # arrivals at steps 2, 3 (0 is 2, then 3 already) and at 5
    assert seen == ["100", "200", "220", "330", "330", "330"]


def test_changed_with_delays_queues_only_real_changes():
    """Under 'changed' the colour an object has already puts nothing on its way; under 'descendants' it does."""
    for redraw, queued in {"changed": False, "descendants": True}.items():
        model = drawn("chain3", delays=np.full((3, 3), 2), redraw=redraw)
        start = np.full((1, 3), 2, np.int8)
        colors, waiting = act(model, start, np.zeros((1, 3, 2), bool), 0, 2)
        assert np.array_equal(colors, start) and waiting.any() == queued
        assert waiting[:, 1, 1].all() == queued and not waiting[:, [0, 2]].any()


def test_queues_of_boards_are_separate():
    """Boards of one batch, in different phases, move as each would alone, and the arrays handed in stay as they were."""
    model, rng = drawn("full4", delays=1 + RNG(4).integers(0, 3, (4, 4))), RNG(0)
    colors = model.sample(30, rng)
    waiting = np.zeros((30, 4, model.longest_delay), bool)
    alone = [(colors[i : i + 1], waiting[i : i + 1]) for i in range(30)]
    for _ in range(8):
        target, color, noise = rng.integers(0, 4, 30), rng.integers(0, 4, 30), rng.random((30, 4))
        kept = colors.copy(), waiting.copy()
        after = model.respond_later(colors, waiting, target, color, noise)
        assert np.array_equal(colors, kept[0]) and np.array_equal(waiting, kept[1])
        alone = [model.respond_later(c, w, target[i : i + 1], color[i : i + 1], noise[i : i + 1])
                 for i, (c, w) in enumerate(alone)]  # fmt: skip
        colors, waiting = after
    assert waiting.any() and not waiting.all()
    assert np.array_equal(colors, np.concatenate([c for c, _ in alone]))
    assert np.array_equal(waiting, np.concatenate([w for _, w in alone]))


def test_delays_where_there_is_no_edge_do_not_count():
    """A delay of 0 or of 9 off the edges is neither refused nor kept."""
    matrix = np.full((3, 3), 9)
    matrix[1, 0], matrix[2, 1], matrix[0, 0] = 1, 2, 0
    model = drawn("chain3", delays=matrix)
    assert model.longest_delay == 2 and model.delays.tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]


@pytest.mark.parametrize("delay", [0, -2])
def test_delays_below_one_are_refused(delay):
    """The sentence names the edge, its delay and what a delay is."""
    matrix = np.ones((3, 3), int)
    matrix[2, 1] = delay
    with pytest.raises(Problem, match=rf"delay of edge 1->2 is {delay}; a delay is a whole number of steps from 1"):
        drawn("chain3", delays=matrix)
