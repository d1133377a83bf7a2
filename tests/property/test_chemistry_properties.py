"""What must hold for all causal models: any graph, any number of colours, any noise."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from envs.chemistry import ChemistryWorld
from envs.graphs import random_dag
from envs.graphs.scm import REDRAW, StructuralCausalModel, reached

COUNT = 12  # boards at once
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def models(draw, delayed=False, redraw=None):
    """A model of 1 to 6 variables in any order of the index, 2 to 4 colours; with delays of 1 to 3 if `delayed`."""
    rng, n = np.random.default_rng(draw(SEEDS)), draw(st.integers(1, 6))
    names = np.array(draw(st.permutations(range(n))))
    parents = random_dag(n, draw(st.floats(0, 1)), rng)[np.ix_(names, names)]
    delays = rng.integers(1, 4, (n, n)) if delayed else None
    skewness, semantics = draw(st.sampled_from([0.0, 1.0, 3.5, 50.0])), redraw or draw(st.sampled_from(REDRAW))
    return StructuralCausalModel(parents, draw(st.integers(2, 4)), rng, skewness, semantics, delays)


def situation(model, seed):
    """Boards, one action for each, one noise for each, and what else the test needs by chance."""
    rng = np.random.default_rng(seed)
    target, color = rng.integers(0, len(model), COUNT), rng.integers(0, model.num_colors, COUNT)
    return model.sample(COUNT, rng), target, color, rng.random((COUNT, len(model))), rng


def untouched(model, target):
    """(COUNT, N): what no do() on `target` may change."""
    return ~np.stack([reached(model.parents, i) for i in target])


@given(models(), SEEDS)
def test_do_sets_its_object_and_changes_descendants_alone(model, seed):
    """The acted object has its colour, no variable that is not its descendant changes, every colour exists."""
    colors, target, color, noise, _ = situation(model, seed)
    after = model.respond(colors, target, color, noise)
    assert (after[np.arange(COUNT), target] == color).all()
    kept = untouched(model, target)
    assert np.array_equal(after[kept], colors[kept])
    assert after.dtype == np.int8 and after.min() >= 0 and after.max() < model.num_colors


@given(models(redraw="descendants"), SEEDS)
def test_every_descendant_is_drawn_from_its_noise(model, seed):
    """Published semantics: each descendant is its table's answer to its own noise and its parents' new colours."""
    colors, target, color, noise, _ = situation(model, seed)
    after = model.respond(colors, target, color, noise)
    drawn = ~untouched(model, target)
    drawn[np.arange(COUNT), target] = False
    for v in range(len(model)):
        rows = drawn[:, v]
        assert np.array_equal(after[rows, v], model.draw(v, after[rows], noise[rows, v]))


@given(models(redraw="changed"), SEEDS)
def test_changed_redraws_exactly_where_a_parent_changed(model, seed):
    """The paper's semantics: with a changed parent the answer to the noise, without one the old colour."""
    colors, target, color, noise, _ = situation(model, seed)
    after = model.respond(colors, target, color, noise)
    changed = after != colors
    for v in range(len(model)):
        free = target != v
        asked = changed[:, model.parents[v]].any(1) & free
        assert np.array_equal(after[asked, v], model.draw(v, after[asked], noise[asked, v]))
        assert np.array_equal(after[free & ~asked, v], colors[free & ~asked, v])


@given(models(), SEEDS)
def test_the_noise_of_others_does_not_matter(model, seed):
    """New noise for the acted object and for all that its do() does not reach changes nothing."""
    colors, target, color, noise, rng = situation(model, seed)
    other = np.where(untouched(model, target), rng.random(noise.shape), noise)
    other[np.arange(COUNT), target] = rng.random(COUNT)
    assert np.array_equal(model.respond(colors, target, color, noise), model.respond(colors, target, color, other))


@given(models(), SEEDS)
def test_counterfactuals_are_consistent(model, seed):
    """In one noise: the recorded action gives the recorded outcome, another one agrees on all that neither action reaches."""
    colors, target, color, noise, rng = situation(model, seed)
    recorded = model.respond(colors, target, color, noise)
    instead, shade = rng.integers(0, len(model), COUNT), rng.integers(0, model.num_colors, COUNT)
    imagined = model.respond(colors, instead, shade, noise)
    same = (instead == target) & (shade == color)
    assert np.array_equal(imagined[same], recorded[same])
    neither = untouched(model, target) & untouched(model, instead)
    assert np.array_equal(imagined[neither], recorded[neither])
    assert np.array_equal(model.respond(colors, target, color, noise), recorded)


@given(models(), SEEDS)
def test_tables_are_distributions_of_the_parents(model, seed):
    """Rows are distributions, and new colours for all but the parents, the variable itself included, change no row."""
    colors, *_, rng = situation(model, seed)
    for v in range(len(model)):
        table = model.probabilities(v, colors)
        assert table.shape == (COUNT, model.num_colors) and (table >= 0).all() and np.allclose(table.sum(1), 1)
        other = np.where(model.parents[v], colors, rng.integers(0, model.num_colors, colors.shape))
        assert np.allclose(model.probabilities(v, other), table, rtol=0, atol=1e-12)
        assert np.array_equal(model.likeliest(v, colors), table.argmax(1))


@given(models(), SEEDS)
def test_more_noise_is_a_later_colour(model, seed):
    """A draw is the inverse of its cumulative table: it rises with the noise and passes each colour at its cumulative share."""
    colors = np.repeat(situation(model, seed)[0][:1], 200, 0)
    noise = np.linspace(0, 1, 200, endpoint=False)
    for v in range(len(model)):
        drawn = model.draw(v, colors, noise)
        expected = (noise[:, None] >= model.probabilities(v, colors).cumsum(1)[:, :-1]).sum(1)
        assert (np.diff(drawn) >= 0).all() and (drawn != expected).sum() <= model.num_colors  # float32 at a boundary


@given(models(delayed=True), SEEDS)
def test_delayed_effects_stay_below_their_causes(model, seed):
    """Over eight steps only what was acted on, and descendants of it, ever change; the acted object always has its colour."""
    colors, *_, rng = situation(model, seed)
    waiting = np.zeros((*colors.shape, model.longest_delay), bool)
    start, free = colors, np.ones(colors.shape, bool)
    for _ in range(8):
        target, color = rng.integers(0, len(model), COUNT), rng.integers(0, model.num_colors, COUNT)
        colors, waiting = model.respond_later(colors, waiting, target, color, rng.random(colors.shape))
        free &= untouched(model, target)
        assert (colors[np.arange(COUNT), target] == color).all()
        assert np.array_equal(colors[free], start[free]) and not waiting[free].any()
        assert not waiting[:, ~model.parents.any(1)].any()  # nothing can be on its way to a root


@given(models(delayed=True), SEEDS)
def test_nothing_happens_before_its_time(model, seed):
    """One delayed step changes the acted object and what was due alone, and the queues after it are those worked out."""
    colors, target, color, noise, rng = situation(model, seed)
    waiting = rng.random((*colors.shape, model.longest_delay)) < 0.3
    due = waiting[..., 0].copy()
    due[np.arange(COUNT), target] = True
    after, later = model.respond_later(colors, waiting, target, color, noise)
    assert np.array_equal(after[~due], colors[~due])
    moved = due if model.redraw == "descendants" else after != colors
    queued = np.zeros_like(later)
    queued[..., :-1] = waiting[..., 1:]
    queued[np.arange(COUNT), target] = False
    for child, parent in np.argwhere(model.parents):
        queued[:, child, model.delays[child, parent] - 1] |= moved[:, parent]
    assert np.array_equal(later, queued)


MOVEMENTS, DELAYS = st.sampled_from(["static", "dynamic"]), st.sampled_from([None, 1, 3, "poisson"])


@given(SEEDS, st.integers(1, 5), st.integers(2, 10), MOVEMENTS, DELAYS)
def test_any_world_packs_and_unpacks(seed, num_objects, num_colors, movement, delay):
    """Boards of any world come back from their packed rows in every field, and pictures know nothing of queues."""
    rng = np.random.default_rng(seed)
    graph = random_dag(num_objects, 0.5, rng).astype(int).tolist()
    world = ChemistryWorld(num_objects, num_colors, graph, movement, delay, scm_seed=seed)
    boards = world.reset(4, rng)
    for _ in range(3):
        boards, _ = world.step(boards, rng.integers(0, world.spec.action.size, 4), world.noise(4, rng))
    again = world.unpack(world.pack(boards))
    for name in ("positions", "colors", "waiting"):
        assert np.array_equal(getattr(again, name), getattr(boards, name)), name
        assert getattr(again, name).dtype == getattr(boards, name).dtype
    again.waiting[:] = ~again.waiting
    assert np.array_equal(world.render(again), world.render(boards))
