"""Presets, matrices and every way to ask for a graph, worked out by hand."""

import numpy as np
import pytest
from graph_text import FAMILIES, edges, matrix

from envs.graphs import ancestors, from_adjacency, order, preset, random_dag, resolve
from envs.problem import Problem

# name: edges
PRESETS = {
    "empty5": "",
    "chain3": "01 12",
    "chain5": "01 12 23 34",
    "fork3": "01 02",
    "fork5": "01 02 03 04",
    "collider3": "02 12",
    "collider5": "04 14 24 34",
    "confounder3": "01 02 12",
    "confounder5": "01 02 03 04 12 23 34",
    "bidiag3": "01 02 12",
    "bidiag5": "01 02 12 13 23 24 34",
    "full3": "01 02 12",
    "full5": "01 02 03 04 12 13 14 23 24 34",
    "tree3": "01 02",
    "tree5": "01 02 13 14",
    "tree9": "01 02 13 14 25 26 37 38",
    "jungle3": "01 02",
    "jungle5": "01 02 03 04 13 14",
    "jungle9": "01 02 03 04 05 06 13 14 17 18 25 26 37 38",
}


@pytest.mark.parametrize("name", PRESETS)
def test_preset(name):
    """Each preset has the edges written above."""
    parents = preset(name)
    assert len(parents) == int(name[-1]) and edges(parents) == PRESETS[name]


def test_presets_that_coincide_at_three():
    """bidiag3 and confounder3 are full3."""
    assert (preset("bidiag3") == preset("full3")).all() and (preset("confounder3") == preset("full3")).all()


@pytest.mark.parametrize("n", range(3, 16))
def test_rules_of_the_families(n):
    """At every size each family is its rule, written here as a matrix of child i and parent j."""
    i, j = np.indices((n, n))
    tree = (j == (i - 1) // 2) & (i > 0)
    rules = {
        "empty": i < 0,
        "chain": j == i - 1,
        "fork": (j == 0) & (i > 0),
        "collider": (i == n - 1) & (j < n - 1),
        "confounder": ((j == 0) & (i > 0)) | (j == i - 1),
        "bidiag": (j == i - 1) | (j == i - 2),
        "full": j < i,
        "tree": tree,
        "jungle": tree | (tree.astype(int) @ tree > 0),
    }
    assert set(rules) == set(FAMILIES)
    for family, rule in rules.items():
        assert (preset(f"{family}{n}") == rule).all(), family


@pytest.mark.parametrize("name", ["chian5", "Chain5", "chain 5", "chain-5"])
def test_unknown_preset_near_a_known_family(name):
    """A slip in the family names the nearest one and lists all."""
    with pytest.raises(Problem, match=f"no graph preset '{name}': did you mean 'chain'. known: bidiag, chain, collider"):
        preset(name)


@pytest.mark.parametrize("name", ["", "5", "0->1", "xyz5"])
def test_unknown_preset_near_nothing(name):
    """What resembles no family gets the list alone."""
    with pytest.raises(Problem, match=f"no graph preset '{name}': known: bidiag, chain, .*; a size follows, as in chain5"):
        preset(name)


@pytest.mark.parametrize("size", ["", "0", "2", "16", "05", "5x", "9" * 5000])
def test_preset_of_no_such_size(size):
    """Sizes are 3 to 15, spelled one way."""
    with pytest.raises(Problem, match=f"graph preset 'chain{size}': expected a size from 3 to 15, as in chain5, got '{size}'"):
        preset("chain" + size)


def test_adjacency():
    """0/1 in lists, bools and arrays are one graph; the caller's array is left alone."""
    rows = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    for given in (rows, np.array(rows), np.array(rows, float), np.array(rows, bool), tuple(map(tuple, rows))):
        parents = from_adjacency(given)
        assert edges(parents) == "01 12" and parents is not given


def test_adjacency_against_the_index_order():
    """Any acyclic matrix is a graph, also 2->1->0."""
    parents = from_adjacency([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert edges(parents) == "10 21" and order(parents).tolist() == [2, 1, 0]


NO_ADJACENCY = {
    "a number": (3, "a list of rows"),
    "a row that is a number": ([1, 2], "a list of rows"),
    "nothing": ([], "at least one row, got rows of \\[\\]"),
    "ragged": ([[0, 0], [0]], "expected 2 rows of 2, got rows of \\[2, 1\\]"),
    "not square": ([[0, 0, 0], [0, 0, 0]], "expected 2 rows of 2, got rows of \\[3, 3\\]"),
    "a weight": ([[0, 0], [0.5, 0]], r"row 1 \(child\), column 0 \(parent\): expected 0 or 1, got 0.5"),
    "minus one": ([[0, 0], [-1, 0]], "expected 0 or 1, got -1"),
    "no number": ([[0, 0], [float("nan"), 0]], "expected 0 or 1, got nan"),
    "text": ([["0", "0"], ["1", "0"]], "row 0 .* got '0'"),
    "lines of text": (["00", "10"], "row 0 .* got '0'"),
    "too deep": ([[[0], [0]], [[1], [0]]], "row 0 .*: expected 0 or 1, got \\[0\\]"),
    "too deep an array": (np.zeros((2, 2, 2)), "expected 0 or 1, got array"),
    "missing": ([[0, None], [0, 0]], "row 0 .*, column 1 .* got None"),
    "itself": ([[0, 0], [0, 1]], "cycle 1 -> 1;"),
    "two": ([[0, 0, 1], [0, 0, 0], [1, 0, 0]], "cycle 0 -> 2 -> 0;"),
    "three, in the arrows' direction": ([[0, 0, 1], [1, 0, 0], [0, 1, 0]], "cycle 0 -> 1 -> 2 -> 0;"),
    "below a cycle": ([[0, 1, 0], [0, 0, 1], [0, 1, 0]], "cycle 1 -> 2 -> 1;"),
}


@pytest.mark.parametrize("name", NO_ADJACENCY)
def test_no_adjacency(name):
    """Each matrix is refused in a sentence that names the fault, and a cycle by its nodes."""
    rows, sentence = NO_ADJACENCY[name]
    with pytest.raises(Problem, match=sentence):
        from_adjacency(rows)


def test_order_takes_the_smallest_index_first():
    """With 3->0 alone the free nodes go by index, and 0 as soon as it may."""
    assert order(matrix("30", 4)).tolist() == [1, 2, 3, 0]
    assert order(matrix("", 4)).tolist() == [0, 1, 2, 3]
    assert order(matrix("20 31", 4)).tolist() == [2, 0, 3, 1]


def test_ancestors_by_hand():
    """Along 0->1->3 and 2->3, node 3 comes from all others, node 1 from 0, and none from itself."""
    assert edges(ancestors(matrix("01 13 23", 4))) == "01 03 13 23"
    assert edges(ancestors(matrix("32 21 10", 4))) == "10 20 21 30 31 32"
    assert edges(ancestors(preset("chain5"))) == PRESETS["full5"]


def test_random_dag_at_the_ends():
    """Density 0 is empty, density 1 is full, one node has no edge, and the generator decides the rest."""
    assert not random_dag(6, 0, np.random.default_rng(0)).any()
    assert (random_dag(6, 1, np.random.default_rng(0)) == preset("full6")).all()
    assert random_dag(1, 1, np.random.default_rng(0)).tolist() == [[False]]
    first, second = (random_dag(9, 0.5, np.random.default_rng(seed)) for seed in (1, 1))
    assert (first == second).all() and (first != random_dag(9, 0.5, np.random.default_rng(2))).any()


@pytest.mark.parametrize("density", [-0.1, 1.1, float("nan")])
def test_density_is_a_probability(density):
    """Any other density is refused."""
    with pytest.raises(Problem, match=f"probability from 0 to 1, got {density}"):
        random_dag(3, density, np.random.default_rng(0))


@pytest.mark.parametrize("graph", ["chain3", " chain3 ", "0->1->2", "0->1, 1->2", [[0, 0, 0], [1, 0, 0], [0, 1, 0]]])
def test_resolve_takes_every_way_to_say_a_graph(graph):
    """A preset, a text and a matrix are the same graph, and so is the matrix as an array."""
    assert edges(resolve(graph, 3)) == "01 12"
    if not isinstance(graph, str):
        assert edges(resolve(np.array(graph), 3)) == "01 12"


def test_resolve_takes_a_matrix_from_a_config():
    """A list as Hydra hands it over counts as a list."""
    from omegaconf import OmegaConf

    assert edges(resolve(OmegaConf.create({"graph": [[0, 0], [1, 0]]}).graph, 2)) == "01"


def test_resolve_enlarges_a_text():
    """A text may name fewer nodes than the world has; the rest stand alone."""
    assert resolve("0->1", 4).shape == (4, 4) and resolve("", 4).shape == (4, 4)


UNRESOLVED = {
    "preset of another size": ("chain5", 4, "graph 'chain5' has 5 nodes where 4 are needed; take chain4"),
    "no preset of that size": ("chain5", 2, "graph 'chain5' has 5 nodes where 2 are needed; write the graph out"),
    "matrix of another size": ([[0]], 2, "the graph's adjacency has 1 nodes where 2 are needed; give 2 rows of 2"),
    "text of another size": ("0->1->2", 2, "from 0 to 1 at character 7, got '2'"),
    "unknown name": ("chian5", 5, "no graph preset 'chian5': did you mean 'chain'"),
    "cycle": ([[0, 1], [1, 0]], 2, "cycle 0 -> 1 -> 0"),
    "nothing": (None, 2, "text in quotes .* got None"),
    "YAML without quotes": ({"0-1": None}, 2, "text in quotes .* got {'0-1': None}"),
}


@pytest.mark.parametrize("name", UNRESOLVED)
def test_resolve_refuses(name):
    """Each refusal says what does not fit and what to write."""
    graph, num_nodes, sentence = UNRESOLVED[name]
    with pytest.raises(Problem, match=sentence):
        resolve(graph, num_nodes)
