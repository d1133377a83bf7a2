"""The identity of a structural causal model, and its file."""

import copy
import pickle

import numpy as np
import pytest

from envs.graphs import parse, preset
from envs.graphs.scm import StructuralCausalModel
from envs.problem import Problem

RNG = np.random.default_rng


def drawn(graph, colors=4, seed=0, **rules):
    """A model of a preset, a text or a matrix."""
    if isinstance(graph, str):
        graph = preset(graph) if graph[0].isalpha() else parse(graph)
    return StructuralCausalModel(graph, colors, RNG(seed), **rules)


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
