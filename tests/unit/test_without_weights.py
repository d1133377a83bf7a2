"""How far one comes without the weights: by hand on two blocks, and on boards of a file."""

import numpy as np
import pytest
from omegaconf import OmegaConf

from envs.collect import collect
from envs.physics import PhysicsBoards, PhysicsWorld
from envs.streams import Stream
from eval.probes.data import Data
from eval.probes.readout import by_end
from eval.probes.without_weights import ORDERS, Endings, endings, likeliest_boards, likeliest_ranks, orders_of, without_weights
from eval.rollouts import counterfactual_outcomes
from eval.runs import Run

EAST = 2


def asked(weights):
    """Of two blocks beside one another the first may push the second to the east; every action of one step."""
    world = PhysicsWorld(2)
    positions = np.array([[[2, 1], [2, 2]]], np.int8)
    boards = PhysicsBoards(positions, np.array([weights], np.float32), np.zeros((1, 2), np.int8), np.zeros((1, 2, 3), np.uint8))
    state = world.pack(boards)
    found = counterfactual_outcomes(world, state, np.array([[EAST]]), 1, np.random.default_rng(0))
    return found, endings(world, state, found)


@pytest.mark.parametrize("weights", [(2, 1), (1, 2)])
def test_a_push_is_meant_whoever_is_heavier_and_ranked_rightly(weights):
    """That it is pushed is a candidate only where it yields: what if after one step asks no weight, the whole board does."""
    found, ends = asked(weights)
    changed = (ends.true != ends.start[:, None]).any(-1)
    chances = likeliest_boards(ends)[0]
    assert chances[[EAST, 5 + 4]].tolist() == ([1, 0] if weights == (2, 1) else [0, 1]), (
        "one of ten actions is a push, so it is meant"
    )
    assert (np.delete(chances, [EAST, 5 + 4]) == 1).all() and changed[0, EAST] == (weights == (2, 1))
    assert (likeliest_ranks(ends) == 0).all()


def test_who_leans_to_nothing_is_wrong_of_every_push():
    """Where two outcomes are as likely, the one is meant where the block yields."""
    found, ends = asked((2, 1))
    leaning = ends._replace(yielding=np.broadcast_to(ends.start[:, None], ends.yielding.shape))
    assert likeliest_ranks(leaning)[0, EAST] == 1 and likeliest_ranks(ends._replace(orders=ends.orders[:1]))[0, EAST] == 1


def board_of(*orders, true, yielding=9):
    """Endings of two actions of one block: the first leads to the cells `orders`, the second to cell 1 always."""
    led = np.array([[[[cell], [1]]] for cell in orders])
    return Endings(np.array([[5]]), np.array([[[true], [1]]]), led, np.array([[[yielding], [9]]]), led[0])


@pytest.mark.parametrize(
    "orders, true, chance",
    [((0, 0, 1, 1), 0, 0.5), ((0, 0, 0, 1), 0, 1), ((0, 0, 0, 1), 1, 0), ((0, 1, 2, 3), 2, 0.25)],
)
def test_the_likeliest_board_is_drawn_among_equals(orders, true, chance):
    assert likeliest_boards(board_of(*orders, true=true)).tolist() == [[chance, 1]]


@pytest.mark.parametrize(
    "orders, yielding, rank",
    [((0, 0, 1), 9, 0), ((0, 1), 9, 1), ((0, 1), 0, 0), ((0, 1), 1, 1), ((0, 0, 1), 1, 0), ((0, 1, 1), 0, 1)],
)
def test_ties_are_broken_by_what_yields_and_else_against_it(orders, yielding, rank):
    """Of cell 0, the truth, and cell 1, to which the other action leads; one order more outweighs what yields."""
    assert likeliest_ranks(board_of(*orders, true=0, yielding=yielding)).tolist() == [[rank, 0]]


def test_all_orders_of_five_and_as_many_of_more():
    assert (
        len(set(orders_of(3))) == 6 and len(set(orders_of(5))) == ORDERS == len(orders_of(7)) and orders_of(7) == orders_of(7)
    )


def test_boards_of_a_file(tmp_path):
    """Never wrong after a step; afterwards wrong of some, and always of more boards than of outcomes."""
    world = PhysicsWorld(3, object_order="shuffled", observation="state")
    splits = {"test": {"episodes": 60, "length": 8, "seed": 0, "mode": "train"}}
    env = {"name": "toy", "splits": splits, "drop_invalid": True}
    run = Run(None, OmegaConf.create({"env": env, "data_dir": str(tmp_path)}), world=world)
    m = without_weights.measure(run, Data(run, collect(env, world, "test", tmp_path, quiet=True), [1, 6], 1000, 60))
    assert m["blind/cf_hits@1/mean/h1"] == 100 and 60 < m["blind/cf_hits@1/mean/h6"] < 100
    assert (
        m["blind/what_if/place/several/h1"] == pytest.approx(100) == m["blind/what_if/place/one/h1"]
        and 80 < m["blind/what_if/place/nothing/h1"] < 100
    )
    still = {kind: m[f"blind/never_pushed/place/{kind}/h1"] for kind in ("nothing", "one", "several")}
    assert still == {"nothing": 100, "one": 100, "several": 0}, "one step moves several by a push alone"
    data = Data(run, collect(env, world, "test", tmp_path, quiet=True), [6], 1000, 60)
    state = data.state[data.chosen, 0]
    ends = endings(
        world, state, counterfactual_outcomes(world, state, data.action[data.chosen], 6, Stream.COUNTERFACTUAL.rng(6))
    )
    changed = (ends.true != ends.start[:, None]).sum(-1).ravel()
    best = by_end("x", 6, likeliest_boards(ends).ravel(), changed)["x/h6"]
    assert best == pytest.approx(m["blind/what_if/place/h6"])
    # guesses that know no weight, which passed the likeliest board of all
    for led in (ends.yielding, ends.still, *ends.orders):
        assert by_end("x", 6, (led == ends.true).all(-1).ravel(), changed)["x/h6"] <= best + 1
