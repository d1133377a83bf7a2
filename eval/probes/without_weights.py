"""What if in a world whose causes are known but for the weights: how far one comes without them.

Every order of the weights, or 120 of them, is tried in the simulator, and the answer is what most of them lead to. What is not
above it need know no weight; what is above it may still know none, as other answers may have more. Ranked among the outcomes of
all actions it asks weights little: that a block is pushed is an outcome only where it yields, and where it does not nothing
moves, which is the outcome of other actions as well. Whole boards ask them of every contact. Of more than five blocks orders
are drawn: an estimate.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import NamedTuple

import numpy as np

from envs.physics import NUM_DIRECTIONS, PhysicsWorld
from envs.streams import Stream
from eval.probes.counterfactual import CF, asked_outcomes, by_change
from eval.probes.probe import bounds, no_forecast, probe
from eval.probes.readout import WHAT_IF, by_end
from eval.rollouts import Outcomes

RANKED, BOARD, STILL = "blind/cf_hits@1", "blind/what_if/place", "blind/never_pushed/place"
ORDERS = 120  # those of five blocks; of more blocks as many are drawn


@probe(needs=(PhysicsWorld,), unless=no_forecast, by_name=True, rows=(
    *bounds(f"{CF}mean/", (f"{RANKED}/mean/", "true world, weights unknown", "comparison")),
    *bounds(f"{WHAT_IF.format('mlp')}/place/", (f"{BOARD}/", "true world, weights unknown", "comparison"),
            (f"{STILL}/", "true world, nothing is ever pushed", "comparison")),
))  # fmt: skip
def without_weights(run, data) -> dict[str, float]:
    """H@1 over all candidate actions of the chosen states, as `counterfactual` has it for the model, and how often the board
    that is meant is the true one, as `readout` has it, and the one where nothing is ever pushed; percent."""
    metrics = {}
    for h in data.horizons if len(data.chosen) else ():
        state = data.state[data.chosen, 0]
        found = asked_outcomes(run.world, data.file, state, data.action[data.chosen], h)
        ends = endings(run.world, state, found)
        metrics |= by_change(RANKED, h, likeliest_ranks(ends), found.changed)
        changed = (ends.true != ends.start[:, None]).sum(-1)
        metrics |= by_end(BOARD, h, likeliest_boards(ends).ravel(), changed.ravel())
        metrics |= by_end(STILL, h, (ends.still == ends.true).all(-1).ravel(), changed.ravel())
        data.say(f"weights unknown, {h} steps")
    return metrics


def orders_of(objects: int) -> list[tuple[int, ...]]:
    """All of few blocks, else ORDERS that are drawn."""
    if factorial(objects) <= ORDERS:
        return list(permutations(range(objects)))
    rng = Stream.ORDERS.rng()
    return [tuple(rng.permutation(objects)) for _ in range(ORDERS)]


class Endings(NamedTuple):
    """Cells of all blocks, where every action of every state leads: start (M, N), true (M, C, N), under each of O orders (O, M,
    C, N), and where every block yields or none does (M, C, N)."""

    start: np.ndarray
    true: np.ndarray
    orders: np.ndarray
    yielding: np.ndarray
    still: np.ndarray


def endings(world: PhysicsWorld, state: np.ndarray, found: Outcomes) -> Endings:
    """state (M, N, 7): where the sequences of `found` begin."""
    count, choices, steps = found.sequences.shape[:3]
    actions, boards = found.sequences.reshape(count * choices, steps), world.unpack(np.repeat(state, choices, 0))
    objects = state.shape[1]

    def cells(positions: np.ndarray) -> np.ndarray:
        return positions[..., 0].astype(np.int16) * world.board + positions[..., 1]

    def led(weights: Callable[[int], np.ndarray]) -> np.ndarray:
        """weights: of step t, (N,) or (M C, N)."""
        here = boards
        for t in range(steps):
            here, _ = world.step(
                replace(here, weights=np.broadcast_to(weights(t), (len(actions), objects)).astype(np.float32)), actions[:, t]
            )
        return cells(here.positions).reshape(count, choices, objects)

    mover = np.eye(objects)[actions // NUM_DIRECTIONS]
    orders = np.stack([led(lambda t, order=order: np.array(order)) for order in orders_of(objects)])
    start, true = cells(world.unpack(state).positions), cells(found.states.positions)[found.outcome]
    return Endings(start, true, orders, led(lambda t: mover[:, t]), led(lambda t: np.ones(objects)))


def likeliest_ranks(ends: Endings) -> np.ndarray:
    """How many other outcomes of its state at least as many orders lead to as to the true one,
    of every action (M, C); 0 = best.

    Of two that as many lead to, the one is meant to which the action leads where every block yields.
    """
    votes = (ends.yielding[:, :, None] == ends.true[:, None]).all(-1).astype(int)
    for led in ends.orders:
        votes += 2 * (led[:, :, None] == ends.true[:, None]).all(-1)
    same = (ends.true[:, :, None] == ends.true[:, None]).all(-1)
    first = ~np.tril(same, -1).any(-1)  # of actions with one outcome
    true = votes.diagonal(axis1=1, axis2=2)[..., None]
    return ((votes >= true) & first[:, None, :] & ~same).sum(-1)


def likeliest_boards(ends: Endings) -> np.ndarray:
    """The chance that the board which is meant is the true one, (M, C).

    Classes of actions, after which nothing, one or several blocks are elsewhere, count alike however few they hold: the board
    is meant to which most orders lead for the size of its class. No guess without weights is better, but by chance.
    """

    def kind(cells: np.ndarray) -> np.ndarray:
        return (cells != ends.start[:, None]).sum(-1).clip(max=2)

    share = 1 / np.bincount(kind(ends.true).ravel(), minlength=3).clip(1)
    most, ties = np.zeros(ends.true.shape[:2]), np.zeros(ends.true.shape[:2])
    for led in ends.orders:
        alike = (ends.orders == led).all(-1).sum(0)
        worth = alike * share[kind(led)]
        level = np.isclose(worth, most)
        ties = np.where(level, ties + 1 / alike, np.where(worth > most, 1 / alike, ties))  # boards that are as likely
        most = np.maximum(most, worth)
    return np.isclose((ends.orders == ends.true).all(-1).sum(0) * share[kind(ends.true)], most) / ties
