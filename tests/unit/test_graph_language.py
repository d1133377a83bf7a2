"""The graph language: texts, their refusals and descriptions, worked out by hand."""

import numpy as np
import pytest
from graph_text import FAMILIES, edges, matrix

from envs.graphs import describe, parse, preset, random_dag, resolve
from envs.problem import Problem

# text: nodes, edges
TEXTS = {
    "": (1, ""),
    "   ": (1, ""),
    "0": (1, ""),
    "3": (4, ""),
    "{0-2}": (3, ""),
    "0->1": (2, "01"),
    " 0 ->\t1\n": (2, "01"),
    "0->1->2": (3, "01 12"),
    "0->1,1->2": (3, "01 12"),
    "0->1, 4": (5, "01"),
    "0->2": (3, "02"),
    "0->1, 0->1": (2, "01"),
    "0->{1-3}": (4, "01 02 03"),
    "0->{3-1}": (4, "01 02 03"),
    "0->{1,3}": (4, "01 03"),
    "0->{ 1 - 2 , 4 }": (5, "01 02 04"),
    "0->{1,1-2}": (3, "01 02"),
    "{0-2}->3": (4, "03 13 23"),
    "{0-2}->1": (3, "01"),
    "{1}->0": (2, ""),
    "{0-2}->{0-2}": (3, "01 02 12"),
    "{0-1}->{1-2}->{2-3}": (4, "01 02 12 13 23"),
    "{1-2}->{0}": (3, ""),
    "{0-1}->1->2": (3, "01 12"),
    "0->{1-2}->3": (4, "01 02 13 23"),
    "0->10": (11, None),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text(text):
    """Each text gives the size and the edges written above."""
    num_nodes, expected = TEXTS[text]
    parents = parse(text)
    assert len(parents) == num_nodes
    if expected is None:
        assert np.argwhere(parents).tolist() == [[10, 0]]
    else:
        assert edges(parents) == expected


def test_rows_are_children():
    """0->1 sets row 1, column 0: parents[child, parent]."""
    assert parse("0->1").tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize("text", ["", "0", "0->1", "{0-2}"])
def test_a_larger_size_adds_nodes_without_edges(text):
    """num_nodes above the largest number enlarges the graph and changes no edge."""
    parents = parse(text, 6)
    assert parents.shape == (6, 6) and edges(parents) == edges(parse(text))


# text: the character that is pointed at (from 1), what was expected, what was got
MALFORMED = {
    "0->>1": (4, "a node", "'>'"),
    "->1": (1, "a node", "'->'"),
    "0->": (4, "a node", "the end of the text"),
    "0->  ": (4, "a node", "the end of the text"),
    "0->,1": (4, "a node", "','"),
    "0->->1": (4, "a node", "'->'"),
    ",0": (1, "a node", "','"),
    "0,": (3, "a node", "the end of the text"),
    "0->1,,2": (6, "a node", "','"),
    "0->x": (4, "a node", "'x'"),
    "0->\u0661": (4, "a node", "'\u0661'"),
    "0->-1": (4, "a node", "'-'"),
    "0 1": (3, "'->' or ','", "'1'"),
    "0-1": (2, "'->' or ','", "'-'"),
    "0>1": (2, "'->' or ','", "'>'"),
    "0- >1": (2, "'->' or ','", "'-'"),
    "0.5": (2, "'->' or ','", "'.'"),
    "{0}}": (4, "'->' or ','", "'}'"),
    "0->{}": (5, "a number", "'}'"),
    "0->{1,}": (7, "a number", "'}'"),
    "0->{1-}": (7, "a number", "'}'"),
    "0->{{1}}": (5, "a number", "'{'"),
    "0->{1": (6, "',', '-' or '}'", "the end of the text"),
    "0->{1-2-3}": (8, "expected ',' or '}'", "'-'"),
    "{0->1}": (3, "',', '-' or '}'", "'->'"),
    "0->{1 2}": (7, "',', '-' or '}'", "'2'"),
    "1->0": (4, "a number greater than 1", "'0': an arrow leads from a smaller to a larger number"),
    "0->0": (4, "a number greater than 0", "'0': an arrow leads"),
    "0->2,\n2->1": (10, "a number greater than 2", "'1': an arrow leads"),
    "0->2 -> 1 ->3": (9, "a number greater than 2", "'1': an arrow leads"),
    "0->{0-2}": (4, "numbers greater than 0", "'{0-2}': an arrow leads"),
    "2->{ 3,1 },4": (4, "numbers greater than 2", "'{ 3,1 }': an arrow leads"),
    "0->1000": (4, "a number from 0 to 999", "'1000'"),
    "0->" + "9" * 5000: (4, "a number from 0 to 999", "'999"),
}


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: text[:12])
def test_malformed_text_points_at_the_character(text):
    """The sentence names the position, the expected and the got; the caret stands below that character."""
    position, expected, got = MALFORMED[text]
    with pytest.raises(Problem) as caught:
        parse(text)
    sentence, caret = str(caught.value).split("\n")
    assert f"{expected} " in sentence and f"at character {position}, got {got}" in sentence
    assert caret.strip() == "^"
    assert sentence[len(caret) - 1] == (text + "'")[position - 1]


@pytest.mark.parametrize(("text", "position"), [("0->3", 4), ("{0-3}", 4), ("3", 1), ("0, 1->{2,3}", 10)])
def test_size_smaller_than_the_largest_node(text, position):
    """A number that does not fit num_nodes is pointed at, with the remedy."""
    with pytest.raises(Problem, match=f"a number from 0 to 2 at character {position}, got '3'; .* raise num_nodes from 3"):
        parse(text, 3)


@pytest.mark.parametrize("num_nodes", [0, -1, 1001, 2.0, "3"])
def test_size_must_be_sensible(num_nodes):
    """num_nodes is a whole number from 1 to 1000, wherever it is asked for."""
    for call in (lambda: parse("0", num_nodes), lambda: resolve("0", num_nodes), lambda: random_dag(num_nodes, 0.5, None)):
        with pytest.raises(Problem, match="num_nodes: expected a whole number from 1 to 1000, got"):
            call()


# nodes, edges: the text
DESCRIBED = {
    (1, ""): "0",
    (5, ""): "{0-4}",
    (2, "01"): "0->1",
    (5, "01 12 23 34"): "0->1->2->3->4",
    (5, "01 02 03 04"): "0->{1-4}",
    (5, "04 14 24 34"): "{0-3}->4",
    (4, "01 02 13 23"): "0->{1-2}->3",
    (6, "01 03 04"): "0->{1,3-4}, {2,5}",
    (3, "10"): "1->0",
    (3, "10 20"): "1->0, 2->0",
}


@pytest.mark.parametrize(("num_nodes", "text"), DESCRIBED)
def test_describe(num_nodes, text):
    """Parents with the same children, and arrows that follow one another, share a clause."""
    assert describe(matrix(text, num_nodes)) == DESCRIBED[num_nodes, text]


@pytest.mark.parametrize("n", range(3, 16))
@pytest.mark.parametrize("family", FAMILIES)
def test_described_presets_parse_back(family, n):
    """Every preset of every size survives describe and parse."""
    parents = preset(f"{family}{n}")
    assert np.array_equal(parse(describe(parents)), parents)
