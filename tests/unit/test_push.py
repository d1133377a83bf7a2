"""The push rule, worked out by hand case by case."""

import numpy as np
import pytest

from envs.physics import PhysicsWorld, push

STAY, NORTH, EAST, SOUTH, WEST = range(5)
# name: positions, weights, mover, direction -> positions after, invalid
CASES = {
    "stay does nothing": ([(2, 2), (0, 0)], [2, 1], 0, STAY, [(2, 2), (0, 0)], False),
    "stay beside a block does nothing": ([(2, 2), (2, 3)], [2, 1], 0, STAY, [(2, 2), (2, 3)], False),
    "north is one row up": ([(2, 2), (4, 4)], [2, 1], 0, NORTH, [(1, 2), (4, 4)], False),
    "east is one column right": ([(2, 2), (4, 4)], [2, 1], 0, EAST, [(2, 3), (4, 4)], False),
    "south is one row down": ([(2, 2), (4, 4)], [2, 1], 0, SOUTH, [(3, 2), (4, 4)], False),
    "west is one column left": ([(2, 2), (4, 4)], [2, 1], 0, WEST, [(2, 1), (4, 4)], False),
    "the action names its object": ([(2, 2), (4, 4)], [2, 1], 1, NORTH, [(2, 2), (3, 4)], False),
    "off the board, north": ([(0, 2), (4, 4)], [2, 1], 0, NORTH, [(0, 2), (4, 4)], False),
    "off the board, east": ([(2, 4), (4, 4)], [2, 1], 0, EAST, [(2, 4), (4, 4)], False),
    "off the board, south": ([(4, 2), (4, 4)], [2, 1], 0, SOUTH, [(4, 2), (4, 4)], False),
    "off the board, west": ([(2, 0), (4, 4)], [2, 1], 0, WEST, [(2, 0), (4, 4)], False),
    "heavier pushes lighter": ([(2, 1), (2, 2)], [2, 1], 0, EAST, [(2, 2), (2, 3)], False),
    "heavier pushes lighter up": ([(3, 1), (2, 1)], [2, 1], 0, NORTH, [(2, 1), (1, 1)], False),
    "weight decides, not index": ([(2, 1), (2, 2)], [1, 2], 1, WEST, [(2, 0), (2, 1)], False),
    "lighter is blocked": ([(2, 1), (2, 2)], [1, 2], 0, EAST, [(2, 1), (2, 2)], False),
    "equal weight is blocked": ([(2, 1), (2, 2)], [2, 2], 0, EAST, [(2, 1), (2, 2)], False),
    "push into the wall": ([(2, 3), (2, 4)], [2, 1], 0, EAST, [(2, 3), (2, 4)], False),
    "push into the upper wall": ([(1, 3), (0, 3)], [2, 1], 0, NORTH, [(1, 3), (0, 3)], False),
    "a chain is invalid": ([(2, 1), (2, 2), (2, 3)], [3, 2, 1], 0, EAST, [(2, 1), (2, 2), (2, 3)], True),
    "a chain is invalid whatever the third weighs": (
        [(2, 1), (2, 2), (2, 3)], [3, 2, 9], 0, EAST, [(2, 1), (2, 2), (2, 3)], True,
    ),
    "a lighter mover before a chain is only blocked": (
        [(2, 1), (2, 2), (2, 3)], [1, 2, 3], 0, EAST, [(2, 1), (2, 2), (2, 3)], False,
    ),
    "an equal mover before a chain is only blocked": (
        [(2, 1), (2, 2), (2, 3)], [2, 2, 1], 0, EAST, [(2, 1), (2, 2), (2, 3)], False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    """Each case of the rule gives the positions and the flag written above."""
    positions, weights, mover, direction, expected, flagged = CASES[name]
    after, invalid = push(np.array([positions]), np.array([weights]), np.array([mover * 5 + direction]))
    assert after.tolist() == [[list(p) for p in expected]]
    assert invalid.tolist() == [flagged]


def test_batch_rows_are_independent():
    """Three boards in one call give what three calls give."""
    names = [
        "a chain is invalid",
        "a chain is invalid whatever the third weighs",
        "an equal mover before a chain is only blocked",
    ]
    rows = [CASES[name] for name in names]
    after, invalid = push(
        np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), np.array([r[2] * 5 + r[3] for r in rows])
    )
    assert after.tolist() == [[list(p) for p in r[4]] for r in rows]
    assert invalid.tolist() == [True, True, False]


def test_input_is_left_alone():
    """push returns new positions and does not write into the ones it was given."""
    positions = np.array([[(2, 1), (2, 2)]])
    push(positions, np.array([[2, 1]]), np.array([EAST]))
    assert positions.tolist() == [[[2, 1], [2, 2]]]


@pytest.mark.parametrize(
    "name, contact, pushed",
    [
        ("heavier pushes lighter", True, True),
        ("lighter is blocked", True, False),
        ("push into the wall", False, False),
        ("a chain is invalid", False, False),
        ("stay beside a block does nothing", False, False),
        ("east is one column right", False, False),
        ("off the board, east", False, False),
    ],
)
def test_events(name, contact, pushed):
    """contact says that the weights alone decide the outcome, push that a second block moved."""
    positions, weights, mover, direction, _, _ = CASES[name]
    world = PhysicsWorld(3)
    boards = world.reset(1, np.random.default_rng(0))
    boards.positions, boards.weights = np.array([positions], np.int8), np.array([weights], np.float32)
    events = world.events(boards, np.array([mover * 5 + direction]))
    assert (bool(events["contact"][0]), bool(events["push"][0])) == (contact, pushed)
