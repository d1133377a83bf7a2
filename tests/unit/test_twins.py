"""True counterfactuals: beliefs against sampled chance, certainty where nothing was left open, and two couplings of one law."""

import numpy as np
import pytest

from envs.chemistry import ChemistryWorld
from eval.probes.twins import Mechanisms, Queries, beliefs, guesses, respond_gumbel

RNG = np.random.default_rng


@pytest.fixture(params=["chain3", "full3", "collider3"])
def world(request):
    return ChemistryWorld(num_objects=3, num_colors=3, graph=request.param, skewness=1.5, scm_seed=3)


def asked_of(world, count, rng):
    """Queries with the truth: both actions under the same noise."""
    model, size = world.model, world.spec.action.size
    before, first, other = model.sample(count, rng), rng.integers(0, size, count), rng.integers(0, size, count)
    noise = rng.random(before.shape)
    after, truth = (model.respond(before, a // 3, a % 3, noise) for a in (first, other))
    return Queries(before, first, other, after), truth


def test_tables_are_those_of_the_model(world):
    told, colors = Mechanisms.of(world.model), RNG(0).integers(0, 3, (20, 3))
    for v in range(3):
        parents = np.flatnonzero(world.model.parents[v])
        assert np.allclose(told.tables[v][tuple(colors[:, p] for p in parents)], world.model.probabilities(v, colors))


def test_beliefs_are_what_sampled_chance_says(world):
    """Of one query many chances are drawn, those kept that explain what the first action did."""
    rng, model, told = RNG(1), world.model, Mechanisms.of(world.model)
    asked, _ = asked_of(world, 12, rng)
    found = {int(row): belief for rows, part in beliefs(told, asked) for row, belief in zip(rows, part)}
    assert sorted(found) == list(range(12))
    for q in range(12):
        noise = rng.random((40_000, 3))
        one = [np.repeat(part[q : q + 1], len(noise), 0) for part in asked]
        fits = (model.respond(one[0], one[1] // 3, one[1] % 3, noise) == one[3]).all(1)
        there = model.respond(one[0], one[2] // 3, one[2] % 3, noise)[fits]
        share = np.bincount(np.ravel_multi_index(tuple(there.T.astype(int)), (3, 3, 3)), minlength=27) / max(1, fits.sum())
        assert found[q].sum() == pytest.approx(1) and np.abs(found[q] - share).max() < 0.06 + 1.5 / np.sqrt(fits.sum())


def test_the_same_action_does_the_same(world):
    asked, _ = asked_of(world, 200, RNG(2))
    guess, chance = guesses(Mechanisms.of(world.model), asked._replace(other=asked.first))
    assert np.array_equal(guess, asked.after) and np.allclose(chance, 1)


def test_what_was_seen_helps(world):
    """The chance of the guess is the share of hits; without the first outcome there are fewer, and copying it is worse."""
    asked, truth = asked_of(world, 6000, RNG(3))
    told = Mechanisms.of(world.model)
    guess, chance = guesses(told, asked)
    hits = (guess == truth).all(1).mean()
    assert hits == pytest.approx(chance.mean(), abs=0.02)
    blind = (guesses(told, asked._replace(after=None))[0] == truth).all(1).mean()
    copied = (asked.after == truth).all(1).mean()
    assert hits > blind + 0.02 and hits > copied


def test_counted_tables_come_near_the_true_ones(world):
    rng, model = RNG(4), world.model
    before, action = model.sample(40_000, rng), rng.integers(0, 9, 40_000)
    after = model.intervene(before, action // 3, action % 3, rng).astype(int)
    told, true = Mechanisms.counted(model.parents, after, action // 3, 3), Mechanisms.of(model)
    for v in range(3):
        if model.parents[v].any():
            assert np.abs(told.tables[v] - true.tables[v]).max() < 0.06


def test_couplings_share_their_law(world):
    """Each action alone leads to the same colours as often."""
    rng, model = RNG(5), world.model
    before, action = np.repeat(model.sample(1, rng), 60_000, 0), np.full(60_000, int(model.order[0]) * 3 + 1)
    gumbel = respond_gumbel(model, before, action, rng.gumbel(size=(60_000, 3, 3)))
    usual = model.intervene(before, action // 3, action % 3, rng)
    for v in range(3):
        assert np.allclose(np.bincount(gumbel[:, v], minlength=3), np.bincount(usual[:, v], minlength=3), atol=900)
    assert np.array_equal(gumbel[:, model.order[0]], np.ones(60_000))


def test_couplings_differ_in_counterfactuals():
    """A colour that is likely under both actions is kept more often by Gumbel-max than by the order of the colours."""
    table = np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]])
    rng = RNG(6)
    gumbel = (np.log(table)[:, None] + rng.gumbel(size=(60_000, 3))).argmax(-1)
    usual = (rng.random(60_000)[:, None] >= table.cumsum(1)[:, None, :-1]).sum(-1)
    for both in (gumbel, usual):
        assert np.allclose([np.bincount(one, minlength=3) / 60_000 for one in both], table, atol=0.01)
    kept = [np.mean(both[0] == both[1]) for both in (gumbel, usual)]
    assert kept[0] > kept[1] + 0.05


def test_impossible_colours_say_nothing():
    told = Mechanisms(np.array([[False, False], [True, False]]), [np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.25, 0.75]])])
    # colour 1 of child cannot follow colour 0
    asked = Queries(np.array([[0, 0]]), np.array([0]), np.array([1]), np.array([[0, 1]]))
    (_, belief), = beliefs(told, asked)
    assert np.allclose(belief, [[0, 0, 0.25, 0.75]])
