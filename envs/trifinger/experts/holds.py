"""Where fingers take hold of a block: contacts that every finger reaches from its own side, wherever the block is to go.

Two fingers press on one face, side by side, the third on the face beyond: their forces cancel, and no axis is left about which
the block could turn. Or two hold the middles of opposite faces, alone or with the third at a side, against which they lean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from envs.trifinger.experts.reach import TIP, Reach
from envs.trifinger.experts.senses import Box, turned
from envs.trifinger.robot.kinematics import Kinematics

FORCE = 1.2  # newtons of a finger that presses alone
_HEIGHTS = (0.0, 0.01, 0.018)  # metres above the block's middle
_MARGIN = 0.009  # metres between a contact and the edge of its face
_ASIDE = 0.0235  # metres, at most, from the middle of the face to each of two fingers
_SIDE = 0.4  # share of the force of a third finger at a side
_TWO, _TURN, _HIGH = 0.02, 0.02, 0.02  # costs: of two fingers alone; per radian, per metre
_TWIST, _LEAN = np.array([0, 0, 0.1]), np.full(3, 0.15)  # costs per radian that the tips turn, along the floor and in the air


@dataclass(frozen=True)
class Hold:
    """Contacts in the block's upright frame, metres from its middle (3, 3); directions into the block (3, 3); share of the
    force of each finger (3,), 0 for one that takes no part.  yaw: at which the block arrives, radians."""

    contacts: np.ndarray
    inward: np.ndarray
    shares: np.ndarray
    yaw: float

    @property
    def used(self) -> np.ndarray:
        return np.flatnonzero(self.shares)

    def tips(self, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """Of a block at a place, (3, 3); nothing for a finger that takes no part."""
        return position + self.contacts @ rotation.T


def _hold(fingers: tuple[int, ...], contacts: tuple, inward: tuple, shares: tuple) -> Hold:
    whole = Hold(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3), 0.0)
    for finger, contact, normal, share in zip(fingers, contacts, inward, shares):
        whole.contacts[finger], whole.inward[finger], whole.shares[finger] = contact, normal, share
    return whole


def _holds(size: np.ndarray, sides: bool) -> Iterator[Hold]:
    """Every one that is tried.  sides: those of a third finger at a side, too, which turn a block least in the air and push it
    aside on the floor."""
    for axis in (0, 1):
        along, half = np.eye(3)[1 - axis], size[axis] / 2 + TIP
        aside = along * min(_ASIDE, size[1 - axis] / 2 - _MARGIN)
        for normal in (np.eye(3)[axis], -np.eye(3)[axis]):
            for height in _HEIGHTS:
                up = np.array([0, 0, min(height, size[2] / 2 - _MARGIN)])
                one, other = normal * half + up, -normal * half + up
                for fingers in permutations(range(3)):
                    yield _hold(fingers, (one, other + aside, other - aside), (-normal, normal, normal), (1.0, 0.5, 0.5))
                side = np.cross(normal, [0, 0, 1.0])  # of either hand, as the normal is of either sign
                third = side * (size[1 - axis] / 2 + TIP) + up
                inward = (-normal + side * _SIDE / 2, normal + side * _SIDE / 2, -side)
                for fingers in permutations(range(3)) if sides else ():
                    yield _hold(fingers, (one, other, third), inward, (1.0, 1.0, _SIDE))
                for fingers in permutations(range(3), 2):
                    yield _hold(fingers, (one, other), (-normal, normal), (1.0, 1.0))


def choose(
    block: Box, places: list[np.ndarray], yaws: list[float], kinematics: Kinematics, obstacles: list[Box],
    lifted_from: np.ndarray | None = None,
) -> tuple[float, Hold] | None:  # fmt: skip
    """The cheapest hold of an upright block, with its cost; None where no fingers reach.

    places: the block's middle on the way, the last one where it arrives; yaws: it may arrive with.
    lifted_from: where it leaves the floor for good. Fingers that turn as they go turn the block, too, and cost: about the
    vertical along the floor, where it falls flat again, about all axes in the air.
    """
    reach, best, cheapest = Reach(kinematics, obstacles), None, np.inf

    def touches(hold: Hold, place: np.ndarray, rotation: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray]]:
        tips, forces = hold.tips(place, rotation), FORCE * hold.shares[:, None] * (hold.inward @ rotation.T)
        return [(int(f), tips[f], forces[f]) for f in hold.used]

    for hold in _holds(block.size, sides=lifted_from is not None):
        first = (
            _HIGH * np.abs(hold.contacts[hold.used, 2]).sum() + reach.cost(touches(hold, block.position, block.rotation), block)
        )
        if lifted_from is None and len(hold.used) < 3:
            first += _TWO
        for yaw in yaws if first < cheapest else ():
            cost = first + _TURN * abs(yaw - block.yaw)
            for i, place in enumerate(places):
                if cost >= cheapest:
                    break
                rotation = turned(block.yaw + (i + 1) / len(places) * (yaw - block.yaw))
                cost += reach.cost(touches(hold, place, rotation), Box(block.size, place, rotation))
            if cost < cheapest:
                whence, weight = (block.position, _TWIST) if lifted_from is None else (lifted_from, _LEAN)
                starts, ends = (hold.tips(place, turned(yaw)) for place in (whence, places[-1]))
                leans = [reach.turn(int(f), starts[f], ends[f]) for f in hold.used]
                cost += float(weight @ np.abs(np.average(leans, axis=0, weights=hold.shares[hold.used])))
            if cost < cheapest:
                cheapest, best = cost, Hold(hold.contacts, hold.inward, hold.shares, yaw)
    return None if best is None else (float(cheapest), best)


def lifting(block: Box) -> Hold:
    """The hold whose fingers, as they go up over the middle, turn a block least:
    the best of 312 that were tried in simulation."""
    half, up = block.size / 2 + TIP, 0.004
    aside = min(_ASIDE, block.size[1] / 2 - _MARGIN)
    contacts = (-half[0], 0, up), (half[0], aside, up), (half[0], -aside, up)
    hold = _hold((0, 1, 2), contacts, ((1, 0, 0), (-1, 0, 0), (-1, 0, 0)), (1.0, 0.5, 0.5))
    return Hold(hold.contacts, hold.inward, hold.shares, block.yaw)
