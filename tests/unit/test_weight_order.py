"""The order of weights: boards that ask for a push, and models that know everything, nothing, or only numbers."""

import types
from dataclasses import replace

import numpy as np
import pytest
import torch

from envs.physics import PhysicsWorld
from eval.probes.weight_order import margins, pairs_of, perfect_memory, tournament, weight_order
from eval.probes.weight_posterior import if_heavier, push_posterior

WORLD = PhysicsWorld(num_objects=5, object_order="shuffled")
RNG = np.random.default_rng


class Model:
    """A latent is the frame itself; `knows` says of boards and actions what follows."""

    device = "cpu"

    def __init__(self, knows):
        self.knows, self.asked = knows, {}

    def encode(self, obs):
        return obs.float().flatten(1)[:, None]

    def step(self, latent, action, memory=None):
        boards, moves = self.asked["boards"], self.asked["action"]
        return self.encode(torch.from_numpy(WORLD.observe(self.knows(boards, moves))).permute(0, 3, 1, 2)), None


@pytest.fixture
def asked(monkeypatch):
    """asked(knows) -> metrics of a model on fresh boards."""
    import eval.probes.weight_order as here

    def ask(knows, world=WORLD):
        model = Model(knows)
        remembered = here.margins

        def margins(model, world, boards, action):
            model.asked = {"boards": boards, "action": action}
            return remembered(model, world, boards, action)

        monkeypatch.setattr(here, "margins", margins)
        monkeypatch.setattr(here, "EPISODES", 12)
        state = world.pack(world.reset(12, RNG(0)))[:, None]
        run = types.SimpleNamespace(world=world, model=model)
        return weight_order(run, types.SimpleNamespace(state=state, say=lambda text: None))

    return ask


def test_every_ordered_pair_can_be_pushed():
    """The mover stands before the other, which would yield to a heavier one; no two blocks share a cell."""
    boards = WORLD.reset(30, RNG(1))
    placed, action, pairs = pairs_of(boards, 5, RNG(2))
    assert len(action) == 30 * 20 and len(pairs) == 20
    after, contact, invalid = if_heavier(WORLD, placed, action)
    assert contact.all() and not invalid.any()
    other = np.tile(pairs[:, 1], 30)
    moved = (after.positions != placed.positions).any(-1)
    assert moved[np.arange(len(other)), other].all() and (moved.sum(1) == 2).all()
    cells = placed.positions[..., 0] * 5 + placed.positions[..., 1]
    assert (np.sort(cells, 1)[:, 1:] != np.sort(cells, 1)[:, :-1]).all() and cells.min() >= 0 and cells.max() < 25
    assert np.array_equal(placed.weights, boards.weights.repeat(20, 0))


def test_the_true_world_knows_the_order(asked):
    found = asked(lambda boards, action: WORLD.step(boards, action)[0])
    assert found["order/tau"] == pytest.approx(1) and found["order/shd"] == 0 and found["order/asks"] == 100
    assert abs(found["floor/order/tau"]) < 0.4 and 3 < found["floor/order/shd"] < 7, (
        "numbers tell nothing where they are shuffled"
    )


def test_the_true_world_knows_the_order_from_state_as_well():
    """Boards to compare with once had a mover of infinite weight, and all others of a lower rank:
    the truth told 70 % of pushes."""
    world = PhysicsWorld(num_objects=5, object_order="shuffled", observation="state")

    class OfState(Model):
        def step(self, latent, action, memory=None):
            return self.encode(torch.from_numpy(world.observe(self.knows(self.asked["boards"], self.asked["action"])))), None

    model = OfState(lambda boards, action: world.step(boards, action)[0])
    boards, action, pairs = pairs_of(world.reset(12, RNG(0)), 5, RNG(1))
    model.asked = {"boards": boards, "action": action}
    told = margins(model, world, boards, action).reshape(12, -1)
    heavier = np.take_along_axis(boards.weights, np.tile(pairs, (12, 1)), 1) @ [1, -1] > 0
    assert (
        np.array_equal(told.ravel(), np.where(heavier, 1, -1))
        and tournament(told, pairs, boards.weights[::20])["asks"].mean() == 1
    )


@pytest.mark.parametrize("known, shd, tau", [(0.0, 5, 0), (1.0, 0, 1), (0.5, 2.5, 1)])
def test_a_perfect_memory_guesses_what_it_does_not_know(known, shd, tau):
    """Even chances once cost it a whole pair, so that a model that guesses had less."""
    weights = RNG(0).permuted(np.tile(np.arange(5.0), (40, 1)), axis=1)
    heavier = (1 - known) / 2 + known * (weights[:, :, None] > weights[:, None])
    pairs = np.array([(i, j) for i in range(5) for j in range(5) if i != j])
    found = perfect_memory(heavier, pairs, weights)
    assert found["ceiling/order/shd"] == pytest.approx(shd) and found["ceiling/order/tau"] == pytest.approx(tau)


def test_numbers_tell_the_order_where_they_are_not_shuffled(asked):
    world = PhysicsWorld(num_objects=5)
    found = asked(lambda boards, action: boards, world)
    assert found["floor/order/tau"] == pytest.approx(1) and found["floor/order/shd"] == 0


def test_who_says_that_nothing_moves_knows_nothing(asked):
    found = asked(lambda boards, action: boards)
    assert found["order/shd"] == 10 and found["order/asks"] == 50 and found["order/tau"] == 0


def test_a_tournament_counts_wrong_pairs():
    pairs = np.array([(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
    weights = np.array([[3.0, 2.0, 1.0]])
    right = np.array([[1.0, 1.0, -1.0, 1.0, -1.0, -1.0]])
    assert tournament(right, pairs, weights)["shd"] == [0]
    one_wrong = np.array([[-1.0, 1.0, 1.0, 1.0, -1.0, -1.0]])  # 1 beats 0
    found = tournament(one_wrong, pairs, weights)
    assert found["shd"] == [1] and found["tau"][0] == pytest.approx(1 / 3) and found["asks"][0] == pytest.approx(4 / 6)


class Remembering(Model):
    """Its memory holds what `kept` (E, N) says of the weights; a step believes it."""

    def elsewhere(self, memory, seen, latent):
        self.asked |= {"seen": seen, "laid": latent}
        return memory

    def __init__(self, world, kept):
        super().__init__(None)
        self.world, self.kept = world, torch.from_numpy(kept)
        self.transition = types.SimpleNamespace(start=None, step=None, elsewhere=self.elsewhere)

    def filter(self, latents, actions):
        assert latents.shape[1] == actions.shape[1] + 1 == 31
        return self.kept

    def step(self, latent, action, memory):
        believed = replace(self.asked["boards"], weights=memory.numpy())
        after, _ = self.world.step(believed, self.asked["action"])
        return self.encode(torch.from_numpy(self.world.observe(after)).permute(0, 3, 1, 2)), None


def test_hidden_weights_are_asked_of_a_memory(monkeypatch):
    """A memory that holds the weights knows the order;
    one that holds what was watched is as good as the ceiling, which is no more."""
    import eval.probes.weight_order as here

    world = PhysicsWorld(num_objects=4, object_order="shuffled", hidden_weights=True)
    columns, _ = world.record({"length": 30, "mode": "train", "drop_invalid": False}, RNG(0), 40)
    obs, action, state = (columns[name].reshape(40, 31, *columns[name].shape[1:]) for name in ("pixels", "action", "state"))
    file = types.SimpleNamespace(episodes=lambda *names, count=None: (obs, action, state))
    config = types.SimpleNamespace(env=types.SimpleNamespace(drop_invalid=False))
    remembered = here.margins

    def margins(model, world, boards, moves, *known):
        model.asked = {"boards": boards, "action": moves}
        return remembered(model, world, boards, moves, *known)

    monkeypatch.setattr(here, "margins", margins)
    found = {}
    believed = push_posterior(world, state, action, False).heavier.sum(2)
    for name, kept in (("true", state[:, -1, :, 2]), ("watched", believed.astype(np.float32))):
        model = Remembering(world, kept)
        run = types.SimpleNamespace(world=world, model=model, file=lambda split, folder: file, config=config)
        found[name] = weight_order(run, types.SimpleNamespace(state=None, data_dir=None, say=lambda text: None))
    assert found["true"]["order/tau"] == pytest.approx(1) and found["true"]["order/shd"] == 0
    last = here.encode_frames(model, obs[:, -1]).repeat_interleave(12, 0)  # for every ordered pair of four
    assert torch.equal(model.asked["seen"], last) and not torch.equal(model.asked["laid"], last)
    assert 0.1 < found["watched"]["ceiling/order/tau"] < 0.95 and found["watched"]["order/tau"] == pytest.approx(
        found["watched"]["ceiling/order/tau"], abs=0.1)  # fmt: skip
    model.transition = types.SimpleNamespace()
    assert "keeps no memory" in here._why_not(run)
