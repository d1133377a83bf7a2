"""What if, as every table reports it: shares by how many objects an action changes, their mean, floors,
and the answers that are kept."""

import numpy as np
import pytest
import torch
from test_rollouts import Still, situation

from envs.chemistry import ChemistryWorld
from envs.collect import collect
from envs.physics import PhysicsWorld
from eval.probes.counterfactual import by_change, counterfactual
from eval.probes.data import Data
from eval.rollouts import counterfactual_outcomes, rank_outcomes, values
from eval.runs import Run
from eval.runs.answers import weighted

WORLD = PhysicsWorld(3, object_order="shuffled")


def test_classes_weigh_the_same_however_many_actions_they_hold():
    """Two of four that change nothing are right, one of one that changes one, none of three that change more."""
    ranks = np.array([[0, 0, 1, 1], [0, 2, 1, 3]])
    changed = np.array([[0, 0, 0, 0], [1, 2, 3, 2]])
    found = by_change("test/cf_hits@1", 5, ranks, changed)
    assert found == {"test/cf_hits@1/nothing/h5": 50.0, "test/cf_hits@1/one/h5": 100.0, "test/cf_hits@1/several/h5": 0.0,
                     "test/cf_hits@1/mean/h5": 50.0}  # fmt: skip
    assert by_change("a", 1, ranks[:1], changed[:1]) == {"a/nothing/h1": 50.0, "a/mean/h1": 50.0}, (
        "a class that is not there is no share"
    )
    assert by_change("a", 1, ranks, None) == {}


def test_an_action_changes_as_many_objects_as_have_other_factors():
    """A push that moves a second block changes two."""
    _, state, action = situation(200)
    changed = counterfactual_outcomes(WORLD, state, action, 1, np.random.default_rng(1)).changed
    assert set(np.unique(changed)) >= {0, 1, 2}
    boards = WORLD.unpack(state)
    for a in range(15):
        after, _ = WORLD.step(boards, np.full(200, a))
        assert np.array_equal(changed[:, a], (values(WORLD, boards) != values(WORLD, after)).any(2).sum(1))


@pytest.fixture
def scored(tmp_path):
    """(metrics, data) of a model that says that nothing ever happens."""
    env = {
        "name": "physics3",
        "splits": {"test": {"episodes": 60, "length": 5, "seed": 1, "mode": "train", "drop_invalid": False}},
    }
    run = Run(Still(), world=WORLD)
    data = Data(run, collect(env, WORLD, "test", tmp_path, quiet=True), [5, 1], 60, 40)
    return counterfactual(run, data), data


def test_who_says_that_nothing_happens_knows_a_third(scored):
    """All of what changes nothing, and nothing else; so does the floor, which is the same prediction."""
    metrics, data = scored
    assert list(data.protocol["distinct"]) == ["h1", "h5"], "pages take the first for the nearest, and the last for the longest"
    for name in ("test", "floor/copy"):
        shares = [metrics[f"{name}/cf_hits@1/{kind}/h1"] for kind in ("nothing", "one", "several")]
        assert shares == [100.0, 0.0, 0.0] and metrics[f"{name}/cf_hits@1/mean/h1"] == pytest.approx(100 / 3)
    assert 0 < metrics["test/cf_hits@1/h1"] < 100 and data.protocol["counterfactual_states"] == 40


def test_a_state_is_asked_where_its_own_actions_led_to_an_event(scored):
    """The share is of the states that were drawn, not of as many from the beginning of the file."""
    metrics, data = scored
    result = data.answers["test/cf_hits@1/h5"].right[:, 0] / 15
    seen = data.events(5)["push"][data.chosen]
    assert 0 < seen.sum() < len(seen)
    assert metrics["test/cf_hits@1/push/h5"] == pytest.approx(100 * result[seen].mean())


def test_answers_that_are_kept_are_those_of_the_metric(scored):
    metrics, data = scored
    kept = {key: one for key, one in data.answers.items() if "cf_hits@1" in key}
    assert {key for key in kept if key.startswith("test")} == {
        f"test/cf_hits@1{part}/h{h}" for part in ("", "/mean", "/several") for h in (1, 5)
    }
    for key, one in kept.items():
        assert weighted([one], np.ones((1, 40)))[0, 0] == pytest.approx(metrics[key], abs=1e-4)


def test_questions_with_one_outcome_are_told(tmp_path):
    """In a chain an action on the first node draws all others anew, with the chance that all share: whatever was done before,
    one outcome is left, which copying and a model that knows nothing are right about, too."""
    split = {"episodes": 300, "length": 10, "seed": 1, "mode": "train", "drop_invalid": False}
    env = {"name": "chain", "splits": {"test": split}}
    world = ChemistryWorld(graph="chain5")
    data = Data(Run(Still(), world=world), collect(env, world, "test", tmp_path, quiet=True), [1, 5, 10], 300, 300)
    metrics = counterfactual(Run(Still(), world=world), data)
    assert "floor/alone/cf_hits@1/mean/h1" not in metrics
    for h, expected in ((5, 32.8), (10, 55.4)):  # the mean over r = 0 .. h-1 later actions of 1 - .8 ** r
        assert metrics[f"floor/alone/cf_hits@1/mean/h{h}"] == pytest.approx(expected, abs=9)
        assert metrics[f"floor/alone/cf_hits@1/mean/h{h}"] <= metrics[f"floor/copy/cf_hits@1/mean/h{h}"]


def test_what_all_outcomes_share_hides_none_of_them():
    """Latents with a large common part had all outcomes tied, which counts against a model that is right."""
    rng = np.random.default_rng(0)
    codes = torch.from_numpy(rng.normal(size=(40, 1, 6)))
    outcome, ids = np.arange(40).reshape(8, 5), np.arange(40)
    query = codes[torch.from_numpy(outcome)] + 0.2 * torch.from_numpy(rng.normal(size=(8, 5, 1, 6)))
    expected = rank_outcomes(query, codes, outcome, ids)
    assert np.array_equal(rank_outcomes(query + 1e5, codes + 1e5, outcome, ids), expected) and (expected == 0).any()
    assert (rank_outcomes(query, 0 * codes + 1, outcome, ids) == 4).all(), "what is one and the same is tied"
