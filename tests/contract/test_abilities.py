"""What worlds and parts of models can do is asked by `isinstance`:
grid worlds answer, and what can only half of it does not pretend."""

import re

import numpy as np
import pytest
from hydra.utils import instantiate
from torch import nn

from envs.chemistry import ChemistryWorld
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.protocols import CausalGraph, CausalTables, Goals, Interventions, OlderFiles, Painting, Simulator, Source
from models.abilities import DrawsGraph, KeepsStatistics, Penalised, ReadsWindows, Remembers, Stochastic, TriesAll

WORLDS = (PhysicsWorld(3), ChemistryWorld(3, 3, "chain3"))
RNG = np.random.default_rng


class Recording:
    """Six episodes of a film, and nothing that could be done in it."""

    spec, observation, shown, row_bytes = WORLDS[0].spec, "pixels", WORLDS[0].shown, 10

    def header(self): ...
    def record(self, split, rng, episodes): ...
    def save_beside(self, path): ...


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world).__name__)
@pytest.mark.parametrize("ability", [Source, Simulator, Goals, Interventions])
def test_grid_worlds_can_all_of_it(world, ability):
    assert isinstance(world, ability)


def test_a_graph_and_painting_are_chemistrys_own():
    physics, chemistry = WORLDS
    for ability in (CausalGraph, Painting):
        assert isinstance(chemistry, ability) and not isinstance(physics, ability)


@pytest.mark.parametrize("ability", [Simulator, Goals, Interventions, CausalGraph, Painting])
def test_a_source_that_only_records_can_nothing_else(ability):
    assert isinstance(Recording(), Source) and not isinstance(Recording(), ability)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world).__name__)
def test_candidates_hold_the_action_that_was_done(world):
    done = RNG(0).integers(0, world.spec.action.size, 20)
    found = world.candidates(done, RNG(1), 5)
    assert found.shape == (20, world.spec.action.size) and (found == done[:, None]).any(1).all()


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world).__name__)
def test_an_intervention_changes_its_variable_alone(world):
    boards = world.reset(50, RNG(0), "train")
    before = world.pack(boards)
    for index, variable in enumerate(world.variables(boards)):
        differs = (world.pack(world.intervene(boards, variable, RNG(1))) != before).any(-1)
        assert differs[:, index].all() and not np.delete(differs, index, 1).any()
    assert np.array_equal(world.pack(boards), before)
    with pytest.raises(Problem, match="no variable 'object_7': did you mean"):
        world.intervene(boards, "object_7", RNG(1))


ROOMS = ("envs", "models", "losses", "eval", "train")
BY_NAME = re.compile(r"\b(?:has|get)attr\(\s*(?:\w+\.)*\w*world\b")


def test_no_world_is_asked_by_a_name(root):
    """What a world can do is a protocol: a name that two worlds happen to share says nothing."""
    files = [path for room in ROOMS for path in sorted((root / room).rglob("*.py"))]
    found = {path.relative_to(root).as_posix() for path in files if BY_NAME.search(path.read_text())}
    assert not found


def test_the_search_for_names_sees_one():
    """It can fail: also where the world is a part of something, and not where something else is asked."""
    asked = ('hasattr(world, "paint")', 'getattr(self.world, "model", None)', "hasattr(\n    run.world, 'x')")
    assert all(map(BY_NAME.search, asked))
    assert not any(map(BY_NAME.search, ('getattr(worlds, "x")', "isinstance(world, A)")))


def test_tables_are_chemistrys_own():
    """What can be known of chance is computed from them; files of before are read by both."""
    physics, chemistry = WORLDS
    assert isinstance(chemistry, CausalTables) and not isinstance(physics, CausalTables)
    assert isinstance(physics, OlderFiles) and not isinstance(Recording(), (CausalTables, OlderFiles))


def test_nothing_of_a_model_is_asked_by_a_name(root):
    """A method that two transitions happen to share says nothing: models/abilities.py says what each takes and gives."""
    files = [path for room in ROOMS for path in sorted((root / room).rglob("*.py"))]
    assert not {path.relative_to(root).as_posix() for path in files if "hasattr(" in path.read_text()}


class Half(nn.Module):
    """Begins a memory and cannot go on with it."""

    def start(self, latent): ...


@pytest.mark.parametrize("ability, can, cannot", [
    (Remembers, ("lstm", "rssm", "pairwise_lstm"), ("edge", "causal", "transformer")),
    (ReadsWindows, ("causal", "lstm"), ("edge", "gnn")), (TriesAll, ("gnn",), ("edge", "lstm")),
    (KeepsStatistics, ("causal",), ("edge", "lstm")), (Penalised, ("causal",), ("edge", "lstm")),
    (Stochastic, ("rssm",), ("lstm", "edge")), (DrawsGraph, ("causal",), ("gnn", "modular")),
], ids=lambda one: getattr(one, "__name__", ""))  # fmt: skip
def test_transitions_have_the_abilities_of_their_kind(compose, ability, can, cannot):
    def transition(model):
        return instantiate(compose("fit", f"model={model}", "env=physics3").model.module.transition)

    assert all(isinstance(transition(model), ability) for model in can)
    assert not any(isinstance(transition(model), ability) for model in cannot)


def test_half_of_an_ability_is_none():
    assert not isinstance(Half(), Remembers)
