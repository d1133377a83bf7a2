"""The structural causal model: its tables, do(), delays by hand, and its file."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import envs.graphs.scm
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


# -- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["chain4", "collider4", "full4", "{0-3}"])
def test_tables_are_distributions_of_the_parents_alone(graph):
    """Every row is a distribution, and rows that agree on the parents are equal."""
    model = drawn(graph)
    states = all_colors(model)
    for v in range(4):
        table = model.probabilities(v, states)
        assert table.shape == (256, 4) and (table > 0).all() and np.allclose(table.sum(1), 1, atol=1e-12)
        keys = states[:, model.parents[v]]
        for key in np.unique(keys, axis=0):
            rows = table[(keys == key).all(1)]
            assert np.allclose(rows, rows[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("graph", ["chain4", "full4"])
def test_every_parent_matters(graph):
    """At the published skewness, changing any one parent changes the row of its child."""
    model = drawn(graph)
    states = all_colors(model)
    for child, parent in np.argwhere(model.parents):
        other = states.copy()
        other[:, parent] = (other[:, parent] + 1) % 4
        assert (model.probabilities(child, states) != model.probabilities(child, other)).any(1).all()


def test_tables_by_hand():
    """Two ReLU units and one parent of two colours give the softmax worked out on paper."""
    model = drawn("0->1", 2)
    inner = np.zeros((8, 2, 2))
    inner[0, 0], inner[1, 0] = [2, -3], [-1, 4]  # unit 0 is 2, 0; unit 1, with its bias of 1, is 0, 5
    outer = np.zeros((2, 8))
    outer[:, :2] = [[1, 0], [0, 2]]
    model.layers[1] = Layers(inner, np.array([0.0, 1, 0, 0, 0, 0, 0, 0]), outer, np.array([0.5, 0]))
    logits = np.array([[2.5, 0], [0.5, 10]])
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert np.allclose(model.probabilities(1, np.array([[0, 0], [1, 0]])), expected, atol=1e-12)


def test_draws_follow_the_tables():
    """Of 20,000 draws of every variable in every situation the share of each colour is within five standard errors."""
    model, count, rng = drawn("0->1, {0-1}->2", 3), 20_000, RNG(5)
    for v, state in itertools.product(range(3), ([0, 0, 0], [2, 1, 0], [1, 2, 2])):
        p = model.probabilities(v, np.array([state]))[0]
        seen = model.draw(v, np.tile(state, (count, 1)), rng.random(count))
        share = np.bincount(seen, minlength=3) / count
        assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / count) + 1 / count).all()


def test_fresh_boards_follow_the_joint_distribution():
    """Fresh boards: the first variable uniform, the rest the product of their tables, each of 27 states within 5 errors."""
    model, count = drawn("0->1, {0-1}->2", 3), 60_000
    states, colors = all_colors(model), model.sample(count, RNG(1))
    p = np.full(27, 1 / 3)
    for v in (1, 2):
        p *= model.probabilities(v, states)[np.arange(27), states[:, v]]
    share = np.bincount(colors @ [9, 3, 1], minlength=27) / count
    assert colors.dtype == np.int8 and np.isclose(p.sum(), 1)
    assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / count) + 1 / count).all()


def test_consequences_follow_the_joint_distribution():
    """After do(1 := 2) in a chain of four, the two descendants are jointly drawn from their tables given the new colours."""
    model, count = drawn("chain4", 3), 60_000
    after = model.intervene(np.tile([1, 0, 0, 0], (count, 1)), np.full(count, 1), np.full(count, 2), RNG(2))
    assert (after[:, :2] == [1, 2]).all()
    states = np.array([(1, 2, a, b) for a in range(3) for b in range(3)])
    p = np.prod([model.probabilities(v, states)[np.arange(9), states[:, v]] for v in (2, 3)], 0)
    share = np.bincount(after[:, 2:] @ [3, 1], minlength=9) / count
    assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / count) + 1 / count).all()


@pytest.mark.parametrize("graph, colors", [("full5", 5), ("collider5", 3), ("jungle10", 4)])
def test_stored_and_computed_tables_draw_alike(graph, colors, monkeypatch):
    """The same noise draws the same colours whether a table is kept or computed, also with four parents of five colours."""
    model, rng = drawn(graph, colors), RNG(3)
    states, noise = rng.integers(0, colors, (3000, len(model))).astype(np.int8), rng.random(3000)
    kept = [model.draw(v, states, noise) for v in range(len(model))]
    assert len(model._cumulative) == len(model)
    monkeypatch.setattr(envs.graphs.scm, "TABLE_ROWS", 0)
    assert all(np.array_equal(model.draw(v, states, noise), kept[v]) for v in range(len(model)))


@pytest.mark.parametrize("rows", [0, 1 << 21])
def test_the_ends_of_the_noise(rows, monkeypatch):
    """Noise 0 draws colour 0 and the largest number below 1, which float32 rounds up, still draws a colour that exists."""
    monkeypatch.setattr(envs.graphs.scm, "TABLE_ROWS", rows)
    model, states = drawn("full4", 3, skewness=0.5), np.zeros((2, 4), np.int8)
    for v in range(4):
        assert model.draw(v, states, np.array([0, np.nextafter(1, 0)])).tolist() == [0, 2]


def test_likeliest_is_the_argmax():
    """The likeliest colour is the argmax of the table, and what `respond` without noise gives."""
    model = drawn("full4")
    states = all_colors(model)
    for v in range(4):
        assert np.array_equal(model.likeliest(v, states), model.probabilities(v, states).argmax(1))
    after, expected = model.respond(states, np.zeros(256, int), np.full(256, 3), None), states.copy()
    expected[:, 0] = 3
    for v in (1, 2, 3):
        expected[:, v] = model.probabilities(v, expected).argmax(1)
    assert np.array_equal(after, expected)


def test_skewness_zero_ignores_the_parents():
    """At gain 0 every table has equal rows, though not uniform ones."""
    model = drawn("full4", skewness=0)
    for v in range(4):
        table = model.probabilities(v, all_colors(model))
        assert (table == table[0]).all() and np.ptp(table[0]) > 0.01


def test_skewness_makes_tables_certain():
    """The mean probability of the likeliest colour grows with the gain; at the published 3.5 it is near the published .81."""

    states = np.repeat(np.arange(5)[:, None], 5, 1)  # the parent of a chain's object in each of its colours

    def certainty(skewness):
        models = [drawn("chain5", 5, seed, skewness=skewness) for seed in range(12)]
        return np.mean([model.probabilities(v, states).max(1) for model in models for v in range(1, 5)])

    found = [certainty(s) for s in (0.5, 1.5, 3.5, 10, 50)]
    assert found == sorted(found) and found[-1] > 0.98
    assert abs(found[2] - 0.81) < 0.05


@pytest.mark.parametrize("graph, colors, skewness", [("chain5", 5, 3.5), ("chain3", 10, 0.7), ("0", 2, 2.0)])
def test_networks_are_drawn_as_published(graph, colors, skewness):
    """Both weights of every variable are orthogonal times the skewness, all biases lie in and fill -2.1..2.1."""
    model = drawn(graph, colors, skewness=skewness)
    biases = []
    for net in model.layers:
        for weights in (net.inner.reshape(4 * len(model), -1), net.outer):
            short = weights if len(weights) <= weights.shape[1] else weights.T
            assert np.allclose(short @ short.T, skewness**2 * np.eye(len(short)))
        biases += [*net.inner_bias, *net.outer_bias]
    assert max(map(abs, biases)) <= 2.1 and min(biases) < -1 and max(biases) > 1


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


# -- identity and file ------------------------------------------------------------------------------------------------

VARIANTS = {
    "seed": {"seed": 1},
    "graph": {"graph": "full4"},
    "skewness": {"skewness": 3.6},
    "redraw": {"redraw": "changed"},
    "colours": {"colors": 5},
    "delay 1": {"delays": np.ones((4, 4), int)},
    "delay 2": {"delays": np.full((4, 4), 2)},
}


def test_digests_tell_models_apart():
    """One seed gives one digest; another seed, graph, skewness, redraw, palette size or delay gives another."""
    digests = {name: drawn(**{"graph": "chain4", **change}).digest for name, change in VARIANTS.items()}
    digests["plain"] = drawn("chain4").digest
    assert digests["plain"] == drawn("chain4").digest
    assert len(set(digests.values())) == len(VARIANTS) + 1


@pytest.mark.parametrize("name", VARIANTS)
def test_save_and_load(name, tmp_path):
    """A saved model comes back with the same digest, semantics and draws, and nothing else is left in the folder."""
    model = drawn(**{"graph": "chain4", **VARIANTS[name]})
    model.save(tmp_path / "m.npz")
    again = StructuralCausalModel.load(tmp_path / "m.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]
    assert again.digest == model.digest and again.skewness == model.skewness and again.redraw == model.redraw
    assert (again.delays is None) == (model.delays is None) and np.array_equal(again.parents, model.parents)
    states = model.sample(200, RNG(0))
    assert np.array_equal(again.sample(200, RNG(0)), states)
    arguments = states, RNG(1).integers(0, 4, 200), RNG(2).integers(0, 4, 200), RNG(3).random((200, 4))
    assert np.array_equal(again.respond(*arguments), model.respond(*arguments))
    if model.delays is not None:
        assert np.array_equal(again.delays, model.delays) and again.longest_delay == model.longest_delay


@pytest.mark.parametrize("fork", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_the_same_model(fork):
    """A deep copy and a pickled copy keep the digest and draw the same boards, also once tables are kept."""
    model = drawn("full4")
    model.sample(10, RNG(0))
    again = fork(model)
    assert again.digest == model.digest and np.array_equal(again.sample(300, RNG(1)), model.sample(300, RNG(1)))


def test_load_refuses_what_is_not_there(tmp_path):
    """A missing file is named, and so is what makes it."""
    with pytest.raises(Problem, match=r"no\.npz does not exist; .* saved beside the data by envs/collect\.py"):
        StructuralCausalModel.load(tmp_path / "no.npz")


@pytest.mark.parametrize("kind", ["text", "array", "other", "pickle", "folder"])
def test_load_refuses_junk(kind, tmp_path):
    """Text, a bare array, other arrays, pickled objects and a folder are each refused in one sentence that names the path."""
    path = tmp_path / "m.npz"
    if kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            if kind == "text":
                file.write(b"not a model")
            elif kind == "array":
                np.save(file, np.zeros(3))
            elif kind == "other":
                np.savez(file, weights=np.zeros(3))
            else:
                np.savez(file, parents=np.array([None], object))
    with pytest.raises(Problem, match=r"m\.npz is not a saved causal model \(.+\); expected a \.npz made by") as caught:
        StructuralCausalModel.load(path)
    assert "\n" not in str(caught.value)


def test_refusals():
    """One colour, a negative skewness, an unknown redraw and a cycle are refused with what would be right."""
    for rules, sentence in (
        ({"colors": 1}, "at least 2 colours, got 1"),
        ({"skewness": -0.1}, "a finite number >= 0, got -0.1"),
        ({"redraw": "change"}, "no redraw 'change': did you mean 'changed'"),
        ({"graph": np.array([[0, 1], [1, 0]], bool)}, "the graph has a cycle 0 -> 1 -> 0"),
    ):
        with pytest.raises(Problem, match=sentence):
            drawn(**{"graph": "chain3", **rules})
