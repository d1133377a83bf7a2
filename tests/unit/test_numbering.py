"""Numbers that tell nothing: objects are not numbered in causal order unless that is asked for."""

import numpy as np
import pytest
from hydra.utils import instantiate

from envs.chemistry import STATIC_CELLS, ChemistryWorld
from envs.collect import header
from envs.graphs import ancestors, parse, permute, preset
from envs.problem import Problem

PLAN = {"mode": "train", "episodes": 1, "length": 1, "seed": 1}


@pytest.mark.parametrize("graph", ["chain5", "full5", "collider5", "jungle5"])
def test_numbers_are_no_causal_order(graph):
    """Objects were numbered in causal order in every chemistry env: painting them by number reached every goal."""
    for seed in range(20):
        parents = ChemistryWorld(graph=graph, scm_seed=seed).parents
        assert np.triu(parents).any(), "some arrow must lead from a larger to a smaller number"
        assert sorted(parents.sum(1)) == sorted(preset(graph).sum(1)) and sorted(parents.sum(0)) == sorted(preset(graph).sum(0))
        assert ancestors(parents).sum() == ancestors(preset(graph)).sum()


def test_numbers_follow_from_the_seed():
    """One seed, one numbering, whatever the cells; many seeds, many numberings; another numbering, another data file."""
    one, other = ChemistryWorld(scm_seed=3), ChemistryWorld(scm_seed=3, movement="dynamic")
    assert np.array_equal(one.parents, other.parents) and one.identity == other.identity
    assert len({ChemistryWorld(scm_seed=seed).parents.tobytes() for seed in range(20)}) > 10
    about = [header(ChemistryWorld(numbering=how), {**PLAN, "drop_invalid": False}, "train") for how in ("permuted", "causal")]
    assert about[0]["numbering"] == "permuted" and about[0]["scm"] != about[1]["scm"]


def test_the_published_numbers_can_be_had():
    world = ChemistryWorld(graph="full5", numbering="causal")
    assert np.array_equal(world.parents, preset("full5"))
    with pytest.raises(Problem, match="no numbering 'index'"):
        ChemistryWorld(numbering="index")


def test_shapes_and_cells_keep_their_numbers():
    """Object i has shape i and cell i: only what causes what is renumbered."""
    world = ChemistryWorld()
    boards = world.reset(3, np.random.default_rng(0))
    assert (boards.positions == np.array(STATIC_CELLS[:5])).all()


def test_graphs_that_have_no_other_order():
    """No edges, one object: any numbering is a causal order, and none is waited for."""
    for text, n in (("", 1), ("{0-2}", 3)):
        assert not permute(parse(text, n), np.random.default_rng(0)).any()
    assert permute(parse("0->1"), np.random.default_rng(0)).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("model", ["causal", "categorical"])
def test_a_given_graph_is_the_permuted_one(model, compose):
    """graph=given hands over the world's own matrix; graph=full is no longer the causal order."""
    from train.checks import check_graph

    for overrides in ([], ["env.world.scm_seed=7"], ["env.world.numbering=causal"]):
        cfg = compose("fit", f"model={model}", "env=chemistry_full5", "model.graph=given", *overrides)
        world, transition = instantiate(cfg.env.world), instantiate(cfg.model.module.transition)
        check_graph(world, transition)
        assert np.array_equal(transition.fixed.numpy() > 0, world.parents)


def test_a_given_graph_of_a_saved_world(compose, tmp_path):
    """The refusal said to set env.world.graph=, and whoever did so was refused with the same words: it was permuted again."""
    from train.checks import check_graph

    world, path = ChemistryWorld(graph="full5", numbering="permuted", scm_seed=3), tmp_path / "five.npz"
    world.model.save(path)
    asked = f"model.graph=given env=chemistry_chain5 env.world.scm={path}".split()
    adjacency = f"env.world.graph={world.parents.astype(int).tolist()}".replace(" ", "")
    for overrides in ([], [adjacency]):
        cfg = compose("fit", "model=causal", *asked, *overrides)
        with pytest.raises(Problem, match=r"set env.world.graph= to that of env.world.scm=, and env.world.numbering=causal"):
            check_graph(instantiate(cfg.env.world), instantiate(cfg.model.module.transition))
    cfg = compose("fit", "model=causal", *asked, adjacency, "env.world.numbering=causal")
    check_graph(instantiate(cfg.env.world), instantiate(cfg.model.module.transition))
