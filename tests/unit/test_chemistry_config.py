"""What a chemistry world is made from: parameters, refusals, saved models; and what collecting it leaves on the disk."""

import copy
import pickle

import numpy as np
import pytest
from omegaconf import ListConfig, OmegaConf
from walked_boards import RNG, same, walked

from envs.chemistry import ChemistryWorld
from envs.collect import collect
from envs.graphs.scm import StructuralCausalModel, reached
from envs.problem import Problem

SAVED = {"static": {}, "poisson": {"delay": "poisson", "graph": "full5"}, "changed": {"redraw": "changed", "graph": "jungle5"}}




# -- parameters -------------------------------------------------------------------------------------------------------


def test_the_seed_names_the_model():
    """One scm_seed gives one causal model whatever the cells; ten seeds give ten."""
    assert ChemistryWorld(scm_seed=4).identity == ChemistryWorld(scm_seed=4, movement="dynamic").identity
    assert len({ChemistryWorld(scm_seed=seed).model.digest for seed in range(10)}) == 10


def test_a_graph_may_be_given_in_four_ways():
    """A preset, a text, nested lists and a Hydra list of one graph are one causal model."""
    rows = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    digests = {ChemistryWorld(3, graph=g).model.digest for g in ("chain3", "0->1->2", rows, ListConfig(rows), np.array(rows))}
    assert len(digests) == 1


def test_a_graph_against_the_index_order():
    """An adjacency with the arrow 2->0 makes a world in which acting on 2 reaches 0."""
    world = ChemistryWorld(3, graph=[[0, 0, 1], [0, 0, 0], [0, 0, 0]], skewness=0, numbering="causal")
    boards = world.reset(200, RNG(0))
    after, _ = world.step(boards, np.full(200, 2 * 5), world.noise(200, RNG(1)))
    changed = (after.colors != boards.colors).mean(0)
    assert changed[0] > 0.4 and changed[1] == 0 and (after.colors[:, 2] == 0).all()


REFUSALS = {
    "shapes": (
        {"num_objects": 11, "graph": "chain11"},
        "has 10 shapes, got 11 objects; choose a graph of fewer nodes, or set env.world.num_objects=",
    ),
    "no object": ({"num_objects": 0}, "has 10 shapes, got 0 objects"),
    "colours": ({"num_colors": 11}, "tells 2 to 10 colours apart, got 11; set env.world.num_colors="),
    "one colour": ({"num_colors": 1}, "tells 2 to 10 colours apart, got 1; set env.world.num_colors="),
    "movement": ({"movement": "dynamik"}, "no movement 'dynamik': did you mean 'dynamic'"),
    "numbering": ({"numbering": "casual"}, "no numbering 'casual': did you mean 'causal'"),
    "redraw": ({"redraw": "chnged"}, "no redraw 'chnged': did you mean 'changed'"),
    "skewness": ({"skewness": -1}, "a finite number >= 0, got -1"),
    "preset": ({"graph": "chian5"}, "no graph preset 'chian5': did you mean 'chain'"),
    "size": ({"graph": "chain4"}, "graph 'chain4' has 4 nodes where 5 are needed; take chain5"),
    "size 2": ({"num_objects": 2}, "graph 'chain5' has 5 nodes where 2 are needed; write the graph out"),
    "text": ({"graph": "0->x"}, r"expected a node .* at character 4, got 'x'\n {10}\^$"),
    "large node": ({"graph": "0->7"}, "expected a number from 0 to 4 at character 4, got '7'"),
    "rows": ({"graph": [[0]]}, "the graph's adjacency has 1 nodes where 5 are needed; give 5 rows of 5"),
    "cycle": ({"num_objects": 2, "graph": [[0, 1], [1, 0]]}, "the graph has a cycle 0 -> 1 -> 0"),
    "nothing": ({"graph": None}, "a graph is a preset"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    """Each impossible world is refused with a sentence that names what was wrong and what would be right."""
    rules, sentence = REFUSALS[case]
    with pytest.raises(Problem, match=sentence):
        ChemistryWorld(**rules)


def test_unknown_modes_are_refused():
    """Chemistry draws its boards in one way; a mode of physics is refused."""
    with pytest.raises(Problem, match="chemistry has no mode 'test-v1': known: train"):
        ChemistryWorld().reset(1, RNG(0), "test-v1")


@pytest.mark.parametrize("action", [25, 1000, -1])
def test_actions_that_do_not_exist(action):
    """An action past the last, or before the first, is an error and not another action."""
    world = ChemistryWorld()
    with pytest.raises(Problem, match=f"actions go from 0 to 24, got {action}"):
        world.step(world.reset(1, RNG(0)), np.array([action]), world.noise(1, RNG(0)))


@pytest.mark.parametrize("fork", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_are_the_same_world(fork):
    """A deep copy and a pickled copy are equal, draw the same boards and act alike."""
    world = ChemistryWorld(graph="full5", delay="poisson")
    again = fork(world)
    assert again == world and again.identity == world.identity and again.spec == world.spec
    assert same(walked(again), walked(world))


def test_the_largest_world_is_affordable():
    """Ten objects of ten colours, the last with nine causes: of its 10**9 rows none is kept, and boards step all the same."""
    world = ChemistryWorld(10, 10, "{0-9}->{7-9}")
    boards = walked(world, 200, 3)
    assert boards.colors.min() == 0 and boards.colors.max() == 9
    assert sum(table.nbytes for table in world.model._cumulative.values()) < 1e6


# -- a saved model in place of a drawn one ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SAVED)
def test_a_world_of_a_saved_model(kind, tmp_path):
    """A world given a saved model is the world that saved it: same digest, boards and outcomes, delays included."""
    world = ChemistryWorld(scm_seed=5, **SAVED[kind])
    path = world.save_beside(tmp_path / "data.h5")
    assert path == tmp_path / f"scm-{world.model.digest}.npz"
    again = ChemistryWorld(scm=str(path))
    assert again.identity == world.identity and same(walked(again), walked(world))
    assert np.array_equal(again.parents, world.parents)


def test_a_saved_model_must_fit(tmp_path):
    """A model of other objects, of other colours, that is junk, or that is not there is refused with the number to set."""
    world = ChemistryWorld()
    path = str(world.save_beside(tmp_path / "data.h5"))
    with pytest.raises(Problem, match=r"of 5 objects, this env has 4; choose another scm= or set env.world.num_objects=5"):
        ChemistryWorld(4, graph="chain4", scm=path)
    with pytest.raises(Problem, match=r"model of 5 colours, this env has 6; choose another scm= or set env.world.num_colors=5"):
        ChemistryWorld(num_colors=6, scm=path)
    (tmp_path / "junk.npz").write_text("no")
    with pytest.raises(Problem, match=r"junk\.npz is not a saved causal model"):
        ChemistryWorld(scm=str(tmp_path / "junk.npz"))
    with pytest.raises(Problem, match=r"none\.npz does not exist"):
        ChemistryWorld(scm=str(tmp_path / "none.npz"))


# -- collecting ---------------------------------------------------------------------------------------------------------

TINY = [f"env.splits.{split}.{what}" for split in ("train", "valid", "test") for what in ("episodes=6", "length=5")]


@pytest.fixture
def gather(compose, tmp_path):
    """gather(env, overrides, splits=...) -> (file of each split, world), as the command would collect them."""
    from hydra.utils import instantiate

    def build(env, *overrides, splits=("train",)):
        cfg = compose("collect", f"env={env}", *TINY, *overrides)
        world, plan = instantiate(cfg.env.world), OmegaConf.to_container(cfg.env, resolve=True)
        return *(collect(plan, world, split, tmp_path, quiet=True) for split in splits), world

    return build


@pytest.mark.parametrize("env", ["chemistry_jungle5_dynamic", "chemistry_collider5_delayed"])
def test_splits_share_one_model(env, gather, tmp_path):
    """Train, valid and test carry one digest, hold different episodes, and the model beside them makes an identical world."""
    *files, world = gather(env, splits=("train", "valid", "test"))
    assert {file.header["scm"] for file in files} == {world.model.digest}
    assert len({file.read("action")["action"].tobytes() for file in files}) == 3
    saved = list(tmp_path.glob("scm-*.npz"))
    assert [p.name for p in saved] == [f"scm-{world.model.digest}.npz"]
    assert StructuralCausalModel.load(saved[0]).digest == world.model.digest
    assert same(walked(ChemistryWorld(movement=world.movement, scm=str(saved[0]))), walked(world))


@pytest.mark.parametrize("env", ["chemistry_chain5", "chemistry_full5_delayed"])
def test_recorded_steps_are_steps_of_the_model(env, gather):
    """In every step the acted object has its colour, what no action reached kept its own, frames and rewards are true."""
    file, world = gather(env)
    columns = {name: c.reshape(6, 6, *c.shape[1:]) for name, c in file.read().items()}
    state, action = columns["state"], columns["action"]
    done = np.zeros((6, 5), bool)
    for t in range(5):
        before, after = world.unpack(state[:, t]), world.unpack(state[:, t + 1])
        target, color = np.divmod(action[:, t], 5)
        assert (after.colors[np.arange(6), target] == color).all()
        touched = np.stack([reached(world.parents, i) for i in target])
        done |= touched
        untouched = ~(touched if world.delay is None else done)
        assert np.array_equal(after.colors[untouched], before.colors[untouched])
        assert np.allclose(columns["reward"][:, t], (after.colors == columns["goal"][:, t]).mean(1))
    flat = state.reshape(36, *state.shape[2:])
    assert np.array_equal(world.render(world.unpack(flat)), columns["pixels"].reshape(36, 50, 50, 3))


def test_another_seed_is_another_file(gather, tmp_path):
    """Another scm_seed gives another file name, digest and saved model; the first file is kept, and found again."""
    one, _ = gather("chemistry_chain5")
    kept = one.path.read_bytes()
    other, world = gather("chemistry_chain5", "env.world.scm_seed=1")
    again, _ = gather("chemistry_chain5")
    assert one.path != other.path and again.path == one.path and one.path.read_bytes() == kept
    assert one.header["scm"] != other.header["scm"] == world.model.digest
    assert len(list(tmp_path.glob("scm-*.npz"))) == 2


def test_a_saved_model_is_known_by_its_tables(gather, tmp_path):
    """Data of a world read from a file carry the digest of the file, not its path: a moved file changes no name."""
    _, world = gather("chemistry_chain5", "env.world.scm_seed=3")
    saved = tmp_path / f"scm-{world.model.digest}.npz"
    moved = saved.rename(tmp_path / "moved.npz")
    first, _ = gather("chemistry_chain5", f"env.world.scm={moved}")
    assert first.header["scm"] == world.model.digest and "moved" not in str(first.header)
    again, _ = gather("chemistry_chain5", f"env.world.scm={moved.rename(tmp_path / 'again.npz')}")
    assert again.path == first.path
