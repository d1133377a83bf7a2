"""What a perfect memory knows of hidden weights: the exact posterior over their orders, given all that was watched."""

from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from envs.physics import DIRECTIONS, NUM_DIRECTIONS


def _ahead(positions, action):
    """The mover, the block in the cell it is sent to, and whether there is one.  positions (M, N, 2), action (M,)."""
    rows, mover = np.arange(len(positions)), action // NUM_DIRECTIONS
    delta = DIRECTIONS[action % NUM_DIRECTIONS]
    present = (positions == (positions[rows, mover] + delta)[:, None]).all(-1)
    return mover, present.argmax(-1), present.any(-1) & delta.any(-1)


def if_heavier(world, boards, action):
    """What would happen if the mover were the heaviest:
    (boards after, of the weights that they have, contact (M,), invalid (M,)).
    """
    weights = boards.weights.copy()
    weights[np.arange(len(boards)), action // NUM_DIRECTIONS] = np.inf
    heaviest = replace(boards, weights=weights)
    after, invalid = world.step(heaviest, action)
    return replace(after, weights=boards.weights), world.events(heaviest, action)["contact"], invalid


class Watched(NamedTuple):
    """yields (E, T): the probability that the mover is heavier than the block it meets, given the frames and actions before;
    1/2 where it meets none.  heavier (E, N, N): at the end, that the first block is heavier than the second.
    """

    yields: np.ndarray
    heavier: np.ndarray


def push_posterior(world, state: np.ndarray, action: np.ndarray, drop_invalid: bool) -> Watched:
    """state (E, T+1, N, 7), action (E, T+1).

    A contact tells the order of two blocks. Where impossible pushes are never recorded, a recorded move against a block
    that could not have yielded tells that the mover is lighter; and every action was drawn among those the true weights
    allow, of which there are more under some orders than under others.
    """
    episodes, steps, n = len(state), state.shape[1] - 1, world.spec.objects
    orders = np.array(list(permutations(range(n))))
    heavier = orders[:, :, None] > orders[:, None, :]  # (n!, N, N)
    boards, moves = world.unpack(state[:, :-1].reshape(-1, *state.shape[2:])), action[:, :-1].reshape(-1)
    mover, other, met = _ahead(boards.positions, moves)
    _, contact, stuck = if_heavier(world, boards, moves)
    tells = contact | (stuck & drop_invalid)
    pushed = world.events(boards, moves)["push"]
    forbidden = np.zeros((len(boards), n, n))  # how many actions these two blocks rule out, if the first is heavier
    for choice in range(world.spec.action.size if drop_invalid else 0):
        every = np.full(len(boards), choice)
        first, second, _ = _ahead(boards.positions, every)
        impossible = np.flatnonzero(if_heavier(world, boards, every)[2])
        forbidden[impossible, first[impossible], second[impossible]] += 1

    def at(column, t):
        return column.reshape(episodes, steps, *column.shape[1:])[:, t]

    likelihood, yields = np.zeros((episodes, len(orders))), np.full((episodes, steps), 0.5)  # log, up to a constant
    for t in range(steps):
        posterior = np.exp(likelihood - likelihood.max(1, keepdims=True))
        fits = heavier[:, at(mover, t), at(other, t)].T  # (E, n!): the orders under which the mover is heavier
        share = (posterior * fits).sum(1) / posterior.sum(1)
        yields[:, t] = np.where(at(met, t), share, 0.5)
        contradicts = at(tells, t)[:, None] & (fits != at(pushed, t)[:, None])
        impossible = at(forbidden, t).reshape(episodes, -1) @ heavier.reshape(len(orders), -1).T
        likelihood -= np.log(world.spec.action.size - impossible)
        likelihood[contradicts] = -np.inf
    posterior = np.exp(likelihood - likelihood.max(1, keepdims=True))
    return Watched(yields, np.tensordot(posterior / posterior.sum(1, keepdims=True), heavier, 1))
