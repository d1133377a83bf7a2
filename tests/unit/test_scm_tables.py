"""The tables of a structural causal model, and draws from them."""

import itertools

import numpy as np
import pytest

import envs.graphs.scm
from envs.graphs import parse, preset
from envs.graphs.scm import Layers, StructuralCausalModel

RNG = np.random.default_rng


def drawn(graph, colors=4, seed=0, **rules):
    """A model of a preset, a text or a matrix."""
    if isinstance(graph, str):
        graph = preset(graph) if graph[0].isalpha() else parse(graph)
    return StructuralCausalModel(graph, colors, RNG(seed), **rules)


def all_colors(model):
    """Every combination of colours, (C ** N, N)."""
    return np.array(list(itertools.product(range(model.num_colors), repeat=len(model))), np.int8)


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
