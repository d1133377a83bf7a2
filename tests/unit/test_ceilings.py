"""Ceilings: against exact sums over small worlds, worlds whose ceiling is known, and floors that must lie below."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import eval.planning.ceilings
from envs.chemistry import ChemistryWorld
from envs.collect import collect
from envs.frames import frame_ids
from envs.physics import PhysicsWorld
from eval.planning.ceilings import ceilings, measure
from eval.planning.oracles import greedy
from eval.probes.bayes import enumerable
from eval.probes.data import Data
from eval.probes.same_board import has_chance
from eval.ranking import hits_at_k, ranks

HORIZONS = [1, 3]


@pytest.fixture(scope="module", autouse=True)
def few_samples():
    """Fewer rollouts than for scores that are reported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eval.planning.ceilings, "SAMPLES", 16)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """data(world, episodes) -> episode file, collected once."""
    folder, files = tmp_path_factory.mktemp("data"), {}

    def build(world, episodes=160):
        key = repr(world), episodes
        if key not in files:
            plan = {"test": {"episodes": episodes, "length": max(HORIZONS), "seed": 2, "mode": "train"}}
            files[key] = collect({"name": "world", "splits": plan, "drop_invalid": False}, world, "test", folder, quiet=True)
        return files[key]

    return build


@pytest.fixture(scope="module")
def measured(data):
    """measured(world) -> its ceilings, without the prefix, computed once."""
    found = {}

    def build(world):
        key = repr(world)
        if key not in found:
            every = measure(world, data(world), HORIZONS, 160, 30)
            kind = "bayes" if enumerable(world) else "one_hot"
            assert all(name.startswith((f"{kind}/", "ceiling/success/")) for name in every)
            found[key] = {bare(name): value for name, value in every.items()}
        return found[key]

    return build


def bare(name):
    """hits@1/h1 of bayes/hits@1/h1, success/noop/h1 of ceiling/success/noop/h1."""
    return name.partition("/")[2]


def columns(file):
    """state (E, T+1, N, F), action (E, T+1), pixels (E, T+1, 50, 50, 3)."""
    rows = int(file.ep_len[0])
    return [c.reshape(len(file), rows, *c.shape[1:]) for c in file.read("state", "action", "pixels").values()]


CHAIN = ChemistryWorld(numbering="causal")
WORLDS = {
    "chain": CHAIN,
    "dynamic": ChemistryWorld(movement="dynamic"),
    "delayed": ChemistryWorld(delay=1),
    "changed": ChemistryWorld(redraw="changed"),
    "certain": ChemistryWorld(skewness=1000.0),
}


def test_chance_makes_a_ceiling():
    """Chemistry has a ceiling below 100, physics has none."""
    assert has_chance(CHAIN) and not has_chance(PhysicsWorld(3))


@pytest.mark.parametrize("name", WORLDS)
def test_every_score_is_a_share(name, measured):
    """All horizons have all scores, each from 0 to 100, and MRR is at least H@1;
    of the likeliest outcome where the belief is held."""
    found = measured(WORLDS[name])
    plans = [f"success/{policy}" for policy in ("noop", "random", "painter", "replay", "greedy")]
    likeliest = [f"cf_hits@1/{kind}" for kind in ("nothing", "one", "several", "mean")] * enumerable(WORLDS[name])
    scores = ["hits@1", "mrr", "board_hits@1", "accuracy", *likeliest, *plans]
    assert set(found) == {f"{score}/h{h}" for score in scores for h in HORIZONS}
    assert all(0 <= value <= 100 for value in found.values())
    assert all(found[f"mrr/h{h}"] >= found[f"hits@1/h{h}"] for h in HORIZONS)


@pytest.mark.parametrize("name", WORLDS)
def test_plans_are_in_order(name, measured):
    """Random actions reach fewer outcomes than a replay or greedy planning; for one step greedy is no worse than a replay."""
    found = measured(WORLDS[name])
    for h in HORIZONS:
        noop, random, replay, greedy = (found[f"success/{p}/h{h}"] for p in ("noop", "random", "replay", "greedy"))
        assert random < 15 and random + 20 < replay and random + 20 < greedy
        assert noop < 30
    assert found["success/greedy/h1"] - found["success/replay/h1"] > -8  # about two standard errors of 160 episodes


def test_a_world_without_chance_has_a_ceiling_of_a_hundred(measured):
    """Where every table is certain the true model is right about everything, and a replay always succeeds."""
    found = measured(WORLDS["certain"])
    for h in HORIZONS:
        for score in ("hits@1", "mrr", "board_hits@1", "accuracy", "cf_hits@1/mean", "success/replay"):
            assert found[f"{score}/h{h}"] > 98.5, (score, h)


def test_a_world_without_arrows_has_a_ceiling_of_a_hundred(measured):
    """Five objects that cause nothing: all is known, and greedy planning mends one object with each action."""
    found = measured(ChemistryWorld(graph="empty5"))
    assert all(v == 100 for name, v in found.items() if not name.startswith(("success/noop", "success/random")))


def test_the_first_step_of_a_delayed_world_is_certain(measured):
    """With delay 1 nothing but the action shows after one step: ceiling 100 there, and below it later."""
    found = measured(WORLDS["delayed"])
    for score in ("hits@1", "board_hits@1", "success/greedy"):
        assert found[f"{score}/h1"] == 100 > found[f"{score}/h3"] + 1


def test_cells_tell_dynamic_boards_apart_but_not_colours(measured):
    """Where cells are drawn anew, H@1 over episodes is 100 and says nothing; among boards in the same cells it is below."""
    found = measured(WORLDS["dynamic"])
    assert all(found[f"hits@1/h{h}"] == 100 > found[f"board_hits@1/h{h}"] + 5 for h in HORIZONS)


def floor(world, file, kind):
    """H@1 after one step of a predictor without causes: the start as it is, or with the acted object painted."""
    state, action, pixels = columns(file)
    start = world.unpack(state[:, 0])
    guess = world.paint(start, action[:, 0]) if kind == "paint" else start
    codes, target = (world.factors(b).reshape(len(file), -1).astype(float) for b in (guess, world.unpack(state[:, 1])))
    return hits_at_k(ranks(codes, target, groups=frame_ids(pixels[:, 1])))


@pytest.mark.parametrize("name", ["chain", "changed"])
def test_the_ceiling_lies_above_the_floors(name, measured, data):
    """At the published skewness: copy the start < copy and paint the acted object < the true model < 100."""
    world = WORLDS[name]
    copied, painted = (floor(world, data(world), kind) for kind in ("copy", "paint"))
    assert copied + 10 < painted and painted + 5 < measured(world)["hits@1/h1"] < 95


def exact(world, start, target, color):
    """The distribution of what follows do(target := color) on one board: {colours: probability}, by enumeration."""
    follows = [v for v in world.model.order if _above(world.parents, v, target)]
    values = np.array(list(itertools.product(range(world.num_colors), repeat=len(follows))), int)
    ends = np.tile(start, (len(values), 1))
    ends[:, target] = color
    ends[:, follows] = values
    p = np.prod([world.model.probabilities(v, ends)[np.arange(len(ends)), ends[:, v]] for v in follows] or np.ones((1, 1)), 0)
    return dict(zip(map(tuple, ends.tolist()), p.tolist()))


def _above(parents, node, other):
    """Whether a path leads from `other` to `node`, one arrow at a time."""
    return any(p == other or _above(parents, p, other) for p in np.flatnonzero(parents[node]))


def test_the_ceiling_is_the_chance_of_the_likeliest_outcome(measured, data):
    """In worlds of 27 boards, H@1 after one step is the mean probability of the likeliest outcome, to three standard errors."""
    for graph in ("chain3", "full3"):
        world = ChemistryWorld(3, 3, graph, skewness=2.0)
        state, action, _ = columns(data(world))
        chances = []
        for colors, a in zip(state[:, 0, :, 2].astype(int), action[:, 0]):
            ends = exact(world, colors, *divmod(int(a), 3))
            assert np.isclose(sum(ends.values()), 1)
            chances.append(max(ends.values()))
        error = 100 * np.sqrt(np.mean(np.array(chances) * (1 - np.array(chances))) / len(chances))
        assert abs(measured(world)["hits@1/h1"] - 100 * np.mean(chances)) < 3 * error
        assert 40 < 100 * np.mean(chances) < 95


def test_the_mean_of_rollouts_is_the_exact_marginal(monkeypatch):
    """The expected code of every object after one step is its exact marginal, to the error of the sample."""
    monkeypatch.setattr(eval.planning.ceilings, "SAMPLES", 400)
    world = ChemistryWorld(3, 3, "chain3", skewness=1.5)
    state = world.pack(world.reset(12, np.random.default_rng(0)))
    action = np.arange(12)[:, None] % 9
    found = eval.planning.ceilings._expected(world, state, action, [1], np.random.default_rng(1))[1].reshape(12, 3, 3)
    for colors, a, code in zip(state[..., 2].astype(int), action[:, 0], found):
        marginal = np.zeros((3, 3))
        for end, p in exact(world, colors, *divmod(int(a), 3)).items():
            marginal[np.arange(3), end] += p
        assert np.abs(code - marginal).max() < 5 * 0.5 / np.sqrt(400)


def test_the_better_of_mode_and_mean(monkeypatch, data):
    """Each score of the true model is that of the mode or of the mean, whichever is more: spoil one and the other stands."""
    world = ChemistryWorld(skewness=1.5, redraw="changed")  # no exact belief
    shares = [f"one_hot/{score}/h3" for score in ("hits@1", "mrr", "board_hits@1", "accuracy")]
    monkeypatch.setattr(eval.planning.ceilings, "_plans", lambda *_: {})
    whole, rolled, expected = (
        measure(world, data(world), [3], 160, 30),
        eval.planning.ceilings._rolled,
        eval.planning.ceilings._expected,
    )

    def only(name):
        """The same with the other prediction replaced by zeros."""

        def spoiled_mode(world, state, action, horizons, rng):
            seen = rolled(world, state, action, horizons, rng)
            return {h: 0 * codes for h, codes in seen.items()} if rng is None else seen

        def spoiled_mean(*arguments):
            return {h: 0 * codes for h, codes in expected(*arguments).items()}

        with monkeypatch.context() as patch:
            if name == "mean":
                patch.setattr(eval.planning.ceilings, "_rolled", spoiled_mode)
            else:
                patch.setattr(eval.planning.ceilings, "_expected", spoiled_mean)
            return measure(world, data(world), [3], 160, 30)

    mode, mean = only("mode"), only("mean")
    assert any(mode[share] != mean[share] for share in shares)
    assert all(whole[share] == max(mode[share], mean[share]) for share in shares)


def test_greedy_takes_the_best_action():
    """In a world without arrows greedy planning mends the one wrong object; in a chain it leaves a solved root alone."""
    world = ChemistryWorld(graph="empty5")
    boards = world.reset(60, np.random.default_rng(0))
    goal = world.intervene(boards, "object_3", np.random.default_rng(1))
    choice = greedy(world, boards, goal, np.random.default_rng(2))
    assert np.array_equal(choice, 15 + goal.colors[:, 3])
    # only the last of a chain is wrong: acting on it risks nothing
    goal = CHAIN.intervene(boards, "object_4", np.random.default_rng(1))
    assert np.array_equal(greedy(CHAIN, boards, goal, np.random.default_rng(2)), 20 + goal.colors[:, 4])


def test_ceilings_are_asked_what_models_are(data, monkeypatch):
    """The same states, or a model could stand above its ceiling."""
    file, seen, known = data(CHAIN), [], eval.planning.ceilings.asked_outcomes
    monkeypatch.setattr(
        eval.planning.ceilings,
        "asked_outcomes",
        lambda world, file, start, *more: seen.append(start) or known(world, file, start, *more),
    )
    measure(CHAIN, file, [1], 160, 30)
    asked = Data(SimpleNamespace(world=CHAIN), file, [1], 160, 30)
    assert np.array_equal(seen[0], asked.state[asked.chosen, 0])


def test_no_counterfactuals_no_plans(data):
    """With no states to ask about, what is left are H@1 and MRR."""
    found = measure(CHAIN, data(CHAIN), [1], 160, 0)
    assert set(found) == {"bayes/hits@1/h1", "bayes/mrr/h1"}


def test_measured_twice_is_the_same(measured, data):
    """No hidden chance: measured again, every number is the same, and the data file is not written to."""
    file = data(CHAIN)
    before = file.path.read_bytes()
    again = measure(CHAIN, file, HORIZONS, 160, 30)
    assert {bare(k): v for k, v in again.items()} == measured(CHAIN) and file.path.read_bytes() == before


def test_ceilings_of_a_real_file(data, measured):
    """What is stored are the measured numbers, to four digits."""
    file = data(CHAIN)
    found = ceilings(CHAIN, file, HORIZONS, 160, 30)
    assert {bare(k): v for k, v in found.items()} == pytest.approx(measured(CHAIN), abs=1e-4)
    assert found == ceilings(CHAIN, file, HORIZONS, 160, 30)
