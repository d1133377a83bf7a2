"""What must hold for all graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.graphs import ancestors, describe, from_adjacency, order, parse, random_dag, resolve
from envs.problem import Problem


@st.composite
def dags(draw):
    """A random graph in index order, 1 to 12 nodes."""
    seed, num_nodes, density = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 12)), draw(st.floats(0, 1))
    return random_dag(num_nodes, density, np.random.default_rng(seed))


@st.composite
def shuffled_dags(draw):
    """A random graph whose order is any permutation of the nodes."""
    parents = draw(dags())
    names = np.array(draw(st.permutations(range(len(parents)))))
    return parents[np.ix_(names, names)]


@given(dags())
def test_describe_and_parse_are_inverse(parents):
    """The description of a graph in index order reads back as the same matrix, with and without its size."""
    text = describe(parents)
    assert np.array_equal(parse(text), parents)
    assert np.array_equal(resolve(text, len(parents)), parents)


@given(shuffled_dags())
def test_no_description_reads_back_as_another_graph(parents):
    """A description reads back as the same matrix or, where an arrow leads downwards, not at all."""
    if np.triu(parents).any():
        with pytest.raises(Problem, match="from a smaller to a larger number"):
            parse(describe(parents))
    else:
        assert np.array_equal(parse(describe(parents)), parents)


@given(shuffled_dags())
def test_order_respects_edges(parents):
    """The order is a permutation in which every parent stands before its child, and so a lower triangle."""
    placed = order(parents)
    assert sorted(placed.tolist()) == list(range(len(parents)))
    assert not np.triu(parents[np.ix_(placed, placed)]).any()
    assert np.array_equal(from_adjacency(parents.astype(int).tolist()), parents)


@given(dags())
def test_order_of_a_graph_in_index_order_is_the_index_order(parents):
    """Smallest index first: where all arrows lead upwards nothing moves."""
    assert order(parents).tolist() == list(range(len(parents)))


@given(shuffled_dags())
def test_ancestors_are_a_strict_order(parents):
    """Ancestry contains the edges, is irreflexive and transitive, and is the sum of the powers of the matrix."""
    above = ancestors(parents)
    assert (above >= parents).all() and not above.diagonal().any()
    assert not (((above.astype(int) @ above) > 0) & ~above).any()
    paths = sum(np.linalg.matrix_power(parents.astype(int), k) for k in range(1, len(parents) + 1))
    assert np.array_equal(above, paths > 0)


@given(shuffled_dags(), st.data())
def test_an_arrow_back_to_an_ancestor_is_a_named_cycle(parents, data):
    """An arrow from a node to one of its ancestors, or to itself, is refused, and the named cycle is one of the graph."""
    closing = np.argwhere(ancestors(parents) | np.eye(len(parents), dtype=bool))
    low, high = data.draw(st.sampled_from(closing.tolist()))
    cyclic = parents.copy()
    cyclic[high, low] = True
    with pytest.raises(Problem, match="the graph has a cycle") as caught:
        from_adjacency(cyclic)
    walk = [int(node) for node in str(caught.value).split("cycle ")[1].split(";")[0].split(" -> ")]
    assert walk[0] == walk[-1] == min(walk) and len(set(walk)) == len(walk) - 1
    assert all(cyclic[child, parent] for parent, child in zip(walk, walk[1:]))


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_random_dag_has_the_density_asked_for(seed, density):
    """Of the 4950 pairs of 100 nodes a share within six standard deviations of `density` are edges, none on the diagonal."""
    parents = random_dag(100, density, np.random.default_rng(seed))
    assert not np.triu(parents).any()
    assert abs(parents.sum() / 4950 - density) <= 6 * np.sqrt(density * (1 - density) / 4950) + 1e-3


@given(st.text("0123456789->{}, x", max_size=12))
def test_any_text_is_a_graph_or_a_sentence(text):
    """The parser gives an acyclic graph in index order or a Problem that points into the text, never another error."""
    try:
        parents = parse(text)
    except Problem as problem:
        sentence, caret = str(problem).split("\n")
        assert sentence.startswith(f"graph '{text}': expected ") and caret.lstrip() == "^"
        assert 0 <= len(caret) - len("graph '^") <= len(text)
    else:
        assert not np.triu(parents).any()
