"""The hidden-weights curve: hits, buckets and the exact ceiling, worked out by hand on tiny boards."""

from itertools import permutations

import numpy as np
import pytest
import torch

from envs.physics import PhysicsWorld
from eval.adaptation import table_rows, write_page
from eval.probes.push_accuracy import buckets, push_hits
from eval.probes.weight_posterior import if_heavier, push_posterior

WORLD = PhysicsWorld(2, hidden_weights=True)
STAY, EAST, SOUTH, WEST = 0, 2, 3, 4


def episode(world, positions, weights, actions):
    """(state (1, T+1, N, 7), action (1, T+1)) of one episode played by hand."""
    boards = world.reset(1, np.random.default_rng(0))
    boards.positions[:], boards.weights[:] = positions, weights
    state = [world.pack(boards)[0]]
    for action in actions:
        boards, _ = world.step(boards, np.array([action]))
        state.append(world.pack(boards)[0])
    return np.stack(state)[None], np.array([[*actions, 0]])


def test_one_contact_tells_the_order_of_two():
    """Before the first contact 1/2, after it certainty, and for the other way round its complement."""
    state, action = episode(WORLD, [(2, 1), (2, 2)], [2, 1], [EAST, STAY, EAST, 5 + WEST])
    assert push_posterior(WORLD, state, action, False).yields[0].tolist() == [0.5, 0.5, 1.0, 0.0]
    state, action = episode(WORLD, [(2, 1), (2, 2)], [1, 2], [EAST, EAST, 5 + WEST])
    assert push_posterior(WORLD, state, action, False).yields[0].tolist() == [0.5, 0.0, 1.0]


def test_order_is_deduced_through_a_third():
    """0 pushed 1 and 1 pushed 2, so 0 pushes 2 for certain; before that, 1 > 2 in one of the three orders with 0 > 1."""
    world = PhysicsWorld(3, hidden_weights=True)
    state, action = episode(world, [(0, 0), (0, 1), (1, 2)], [3, 2, 1], [EAST, 5 + SOUTH])  # 0 pushes 1, 1 pushes 2
    beside = state[:, -1:].copy()
    beside[0, 0, 0, :2], beside[0, 0, 2, :2] = (3, 0), (3, 1)  # and then 0 stands beside 2
    state, action = np.concatenate([state[:, :-1], beside, beside], 1), np.array([[*action[0, :2], EAST, 0]])
    assert push_posterior(world, state, action, False).yields[0] == pytest.approx([0.5, 1 / 3, 1])


def test_a_recorded_move_against_a_stuck_block_tells_where_impossible_pushes_are_dropped():
    """0 runs against 1, behind which 2 stands: recorded, it says that 0 is lighter than 1; else it says nothing."""
    world = PhysicsWorld(3, hidden_weights=True)
    state, action = episode(world, [(2, 0), (2, 1), (2, 2)], [1, 2, 3], [EAST, EAST])
    assert push_posterior(world, state, action, False).yields[0].tolist() == [0.5, 0.5]
    told = push_posterior(world, state, action, True).yields[0]
    assert told == pytest.approx([0.5, 0.0])


def test_what_was_recorded_is_likelier_where_fewer_actions_were_possible():
    """All six orders, each by how likely it makes what was recorded: one over the actions that it allows, or 0 where it would
    move otherwise."""
    world = PhysicsWorld(3, hidden_weights=True)
    columns, _ = world.record({"mode": "train", "length": 12, "drop_invalid": True}, np.random.default_rng(3), 40)
    state, action = (columns[name].reshape(40, 13, *columns[name].shape[1:]) for name in ("state", "action"))
    orders = np.array(list(permutations(range(3))))
    chance = np.zeros((40, 6))
    for o, order in enumerate(orders):
        for t in range(12):
            boards, after = world.unpack(state[:, t].copy()), world.unpack(state[:, t + 1])
            boards.weights[:] = order + 1
            tried = [world.step(boards, np.full(40, a)) for a in range(world.spec.action.size)]
            allowed = sum(~invalid for _, invalid in tried)
            moved, invalid = world.step(boards, action[:, t])
            fits = (moved.positions == after.positions).all((1, 2)) & ~invalid
            with np.errstate(divide="ignore"):
                chance[:, o] += np.log(fits / allowed)
    share = np.exp(chance - chance.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    heavier = np.einsum("eo,oij->eij", share, orders[:, :, None] > orders[:, None, :])
    assert len(np.unique(heavier.round(6))) > 10, "more than certainty, ignorance and thirds"
    assert np.allclose(push_posterior(world, state, action, True).heavier, heavier)


def test_belief_is_calibrated():
    """Among contacts of which it says p, the mover is heavier in a share p of them."""
    world = PhysicsWorld(3, hidden_weights=True)
    columns, _ = world.record({"mode": "train", "length": 30, "drop_invalid": True}, np.random.default_rng(0), 300)
    state, action = (columns[name].reshape(300, 31, *columns[name].shape[1:]) for name in ("state", "action"))
    events = world.events(world.unpack(state[:, :-1].reshape(-1, 3, 7)), action[:, :-1].reshape(-1))
    belief, pushed = (
        push_posterior(world, state, action, True).yields.reshape(-1)[events["contact"]],
        events["push"][events["contact"]],
    )
    assert pushed[belief == 0].sum() == 0 and pushed[belief == 1].all()
    for low, high in ((0.05, 0.4), (0.4, 0.6), (0.6, 0.95)):
        rows = (belief > low) & (belief < high)
        assert abs(pushed[rows].mean() - belief[rows].mean()) < 0.12


def test_if_heavier_pushes():
    """The other candidate: the lighter mover's contact, had it been heavier."""
    state, action = episode(WORLD, [(2, 1), (2, 2)], [1, 2], [EAST])
    after, contact, invalid = if_heavier(WORLD, WORLD.unpack(state[:, 0]), action[:, 0])
    assert after.weights.tolist() == [[1, 2]], "the boards that are shown to a model are of this world"
    assert after.positions[0].tolist() == [[2, 2], [2, 3]] and contact.all() and not invalid.any()


class Guess:
    """Encodes the picture; predicts that blocks yield (1), stay (0) or nothing that tells the two apart (0.5)."""

    device = "cpu"

    def __init__(self, share, outcomes):
        self.share, self.outcomes, self.t = share, outcomes, 0

    def encode(self, frames):
        return frames.permute(0, 2, 3, 1).flatten(1).float()[:, None]

    def step(self, latent, action, memory):
        self.t += 1
        return latent + self.share * (self.outcomes[:, self.t - 1] - latent), memory


@pytest.mark.parametrize("share, expected", [(1.0, [True, False]), (0.0, [False, True]), (0.5, [False, False])])
def test_hits_are_strictly_nearer(share, expected):
    """Of a contact that pushed and one that did not, each answer hits one; a tie hits none."""
    state, action = (np.concatenate(c) for c in zip(
        episode(WORLD, [(2, 1), (2, 2)], [2, 1], [STAY, EAST]), episode(WORLD, [(2, 1), (2, 2)], [1, 2], [STAY, EAST])
    ))  # fmt: skip
    boards = WORLD.unpack(state.reshape(-1, 2, 7))
    pixels = WORLD.render(boards).reshape(2, 3, 50, 50, 3)
    yielding, _, _ = if_heavier(WORLD, WORLD.unpack(state[:, :-1].reshape(-1, 2, 7)), action[:, :-1].reshape(-1))
    outcomes = torch.from_numpy(WORLD.render(yielding).reshape(2, 2, 1, -1)).float()
    hit, pushed, step = push_hits(Guess(share, outcomes), WORLD, pixels, state, action)
    assert hit.tolist() == expected and pushed.tolist() == [True, False] and step.tolist() == [1, 1]


def test_buckets_and_their_page(tmp_path):
    """Ten steps each; where a perfect memory knows nothing it is right half of the time; the page holds the numbers."""
    found = buckets(
        np.array([True, False, True, True]), np.array([True, True, False, True]), np.array([0, 9, 10, 59]),
        np.array([0.5, 0.9, 0.2, 0.4]),
    )  # fmt: skip
    assert [b["observed"] for b in found] == [[0, 9], [10, 19], [50, 59]]
    assert [b["accuracy"] for b in found] == [50, 100, 100]
    assert [b["ceiling"] for b in found] == [75, 100, 0]
    assert [b["one_answer"] for b in found] == [100, 100, 100]
    protocol = {"split": "long", "episodes": 4, "length": 60, "contacts": 4}
    results = [{"run": name, "env": "physics5_hidden", "buckets": found, "protocol": protocol} for name in ("a", "b")]
    header, rows = table_rows(results)
    assert header[1:] == ["0-9", "10-19", "50-59"] and rows[0] == ["a", "50.0", "100.0", "100.0"]
    page = write_page(results, tmp_path / "adaptation.html").read_text()
    assert "<svg" in page and "chance 50" in page and page == write_page(results, tmp_path / "again.html").read_text()
