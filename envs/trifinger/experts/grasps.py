"""Where three fingers take hold of a block: contacts that every finger reaches, from its own side, wherever the block is to go.

Two fingers press on one face, side by side, the third on the face beyond: their forces cancel, and no axis is left about which
the block could turn. Where no such hold is within reach, two fingers hold the middles of two opposite faces.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.spatial.transform import Rotation

from envs.trifinger.experts.senses import Box
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.robot.robot import MAX_TORQUE, REST

TIP = 0.0105  # metres: radius of a finger's end
LINK = 0.016  # metres: half the width of a finger's last link, and a little more
_HEIGHTS = (0.0, 0.01, 0.018)  # metres above the block's middle
_MARGIN = 0.009  # metres between a contact and the edge of its face
_ASIDE = 0.024  # metres, at most, from the middle of the face to each of the two
_POINTS = np.linspace(0.0, 0.85, 8)  # of the last link, from its joint on: the rest is the end that touches
FORCE = 1.2  # newtons of a finger that presses alone
_TORQUE = 0.8 * MAX_TORQUE  # that holding may need
_UNREACHED = 0.0015  # metres


@dataclass(frozen=True)
class Hold:
    """Contacts in the block's upright frame (metres from its middle), unit normals into the block, share of the force of each.

    All (3, 3), shares (3,); of a finger that does not take part the share is 0 and the rest nothing.  turn: the goal's yaw at
    which the block arrives, radians.  cost: of the plan, lower is better.
    """

    contacts: np.ndarray
    inward: np.ndarray
    shares: np.ndarray
    turn: float
    cost: float


def yaw_matrix(yaw: float) -> np.ndarray:
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def upright(box: Box) -> Box:
    """The same box, its axes renamed so that the third is the one nearest to the vertical."""
    up = int(np.argmax(np.abs(box.rotation[2])))
    order = [(up + 1) % 3, (up + 2) % 3, up]
    axes = box.rotation[:, order]
    if axes[2, 2] < 0:
        axes = axes * (1, -1, -1)
    return Box(box.size[order], box.position, axes)


def turns(block: Box, goal: Box) -> list[float]:
    """Yaws of the block, given upright, at which it fills the goal as well as it can; by 90 degrees apart at most."""
    goal = upright(goal)
    quarter = np.pi / 2
    near = goal.yaw + quarter * np.round((block.yaw - goal.yaw) / quarter) + quarter * np.array([-1, 0, 1])
    cube = np.ptp(block.size[:2]) < 0.003
    swapped = np.ptp(goal.size[:2] - block.size[:2]) > 0.003  # its sides lie the other way round
    whole = np.round((near - goal.yaw) / quarter).astype(int) % 2
    return [float(yaw) for yaw, odd in zip(near, whole) if cube or odd == swapped]


class Reach:
    """What a finger can touch, at one pose of the block. Remembers what it was asked."""

    def __init__(self, kinematics: Kinematics, obstacles: list[Box]) -> None:
        self._kinematics, self._obstacles = kinematics, obstacles
        self._known: dict[tuple, tuple[np.ndarray, ...]] = {}

    def at(self, point: np.ndarray) -> tuple[np.ndarray, ...]:
        """-> of the three fingers: errors (3,), points of their last links (3, n, 3), Jacobians (3, 3, 3), torques of rest (3, 3),
        turns of their tips (3, 3, 3)"""
        key = tuple(np.round(point, 5))
        if key not in self._known:
            joints = self._kinematics.joints(np.tile(point, (3, 1)), REST)
            tips = self._kinematics.tips(joints)
            elbows = self._kinematics.elbows(joints)
            links = elbows[:, None] + _POINTS[:, None] * (tips - elbows)[:, None]
            errors, rest = np.linalg.norm(tips - point, axis=1), self._kinematics.gravity(joints).reshape(3, 3)
            self._known[key] = errors, links, self._kinematics.jacobians(joints), rest, self._kinematics.tip_rotations(joints)
        return self._known[key]

    def cost(self, points: list[tuple[int, np.ndarray, np.ndarray]], block: Box) -> float:
        """Of fingers at points; infinite where one cannot be there.  points: (finger, point, force there in newtons)."""
        links, total = [], 0.0
        for finger, point, force in points:
            errors, whole, jacobians, rest, _ = self.at(point)
            if errors[finger] > _UNREACHED:
                return np.inf
            links.append(whole[finger])
            total += 0.5 * max(0.0, float(np.abs(rest[finger] + force @ jacobians[finger]).max()) - _TORQUE)
            total += _shortage(whole[finger], block, LINK)
            total += 5 * sum(_shortage(whole[finger], other, LINK + 0.006) for other in self._obstacles)
        for i in range(len(links)):
            for other in links[i + 1 :]:
                near = np.linalg.norm(links[i][:, None] - other[None], axis=-1).min()
                total += max(0.0, 2.2 * LINK - near)
        return total


    def lean(self, finger: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """How a tip turns from one point to another, a rotation vector (3,): a block that it holds turns with it."""
        return Rotation.from_matrix(self.at(end)[4][finger] @ self.at(start)[4][finger].T).as_rotvec()


def _shortage(points: np.ndarray, box: Box, wanted: float) -> float:
    """Metres by which points come nearer to a box than wanted, at their worst."""
    local = (points - box.position) @ box.rotation
    outside = np.maximum(np.abs(local) - box.size / 2, 0)
    inside = np.minimum((np.abs(local) - box.size / 2).max(1), 0)
    return max(0.0, wanted - float((np.linalg.norm(outside, axis=1) + inside).min()))


def _templates(size: np.ndarray):
    """(fingers' contacts (3, 3), normals (3, 3), shares (3,)) in the block's frame, in every order of the fingers."""
    for axis in (0, 1):
        half, across = size[axis] / 2, size[1 - axis] / 2
        aside = min(_ASIDE, across - _MARGIN)
        normal, along = np.eye(3)[axis], np.eye(3)[1 - axis]
        for sign in (1, -1):
            for height in _HEIGHTS:
                z = np.array([0, 0, min(height, size[2] / 2 - _MARGIN)])
                single = sign * normal * (half + TIP) + z
                left, right = (-sign * normal * (half + TIP) + along * aside * side + z for side in (1, -1))
                for order in permutations(range(3)):
                    contacts, inward, shares = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
                    for finger, contact, n, share in zip(
                        order, (single, left, right), (-sign * normal, sign * normal, sign * normal), (1.0, 0.5, 0.5)
                    ):
                        contacts[finger], inward[finger], shares[finger] = contact, n, share
                    yield contacts, inward, shares
                opposite = -sign * normal * (half + TIP) + z
                for a, b in permutations(range(3), 2):
                    contacts, inward, shares = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
                    contacts[[a, b]], inward[[a, b]], shares[[a, b]] = (single, opposite), (-sign * normal, sign * normal), 1.0
                    yield contacts, inward, shares


def choose(
    block: Box, places: list[np.ndarray], yaws: list[float], kinematics: Kinematics, obstacles: list[Box],
    lifted_from: np.ndarray | None = None,
) -> Hold | None:  # fmt: skip
    """The best hold of an upright block.  places: its middle on the way, the goal last; yaws: it may arrive with.

    lifted_from: where it leaves the floor for good; fingers that lean as they go from there to the goal cost more.
    """
    reach, best = Reach(kinematics, obstacles), None
    rotations = {yaw: yaw_matrix(yaw) for yaw in (block.yaw, *yaws)}
    for contacts, inward, shares in _templates(block.size):
        used = np.flatnonzero(shares)
        alone = 0.0 if len(used) == 3 else 0.02 if lifted_from is None else 0.0
        forces = FORCE * shares[:, None] * inward
        now = rotations[block.yaw]
        start = [(int(f), block.position + now @ contacts[f], now @ forces[f]) for f in used]
        first = alone + reach.cost(start, block)
        first += 0.02 * sum(abs(contacts[f][2]) for f in used)
        if not first < (best.cost if best else np.inf):
            continue
        for yaw in yaws:
            cost = first + 0.02 * abs(yaw - block.yaw)
            for i, place in enumerate(places):
                share = (i + 1) / len(places)
                turn = block.yaw + share * (yaw - block.yaw)
                if not cost < (best.cost if best else np.inf):
                    break
                matrix = yaw_matrix(turn)
                cost += reach.cost([(int(f), place + matrix @ contacts[f], matrix @ forces[f]) for f in used], Box(block.size, place, matrix))
            if lifted_from is not None and cost < (best.cost if best else np.inf):
                matrix = yaw_matrix(yaw)
                around = [matrix @ contacts[f] for f in used]
                leans = [reach.lean(int(f), lifted_from + c, places[-1] + c) for f, c in zip(used, around)]
                cost += 0.15 * float(np.abs(np.average(leans, axis=0, weights=shares[used])).sum())
            if cost < (best.cost if best else np.inf):
                best = Hold(contacts, inward, shares, yaw, cost)
    return best


def lifting(block: Box) -> Hold:
    """The hold whose fingers, as they go up over the middle, turn the block least: found by trying 312 of them in simulation."""
    half, aside = block.size / 2, min(_ASIDE, block.size[1] / 2 - _MARGIN)
    contacts = np.array([[-half[0] - TIP, 0, 0.004], [half[0] + TIP, aside, 0.004], [half[0] + TIP, -aside, 0.004]])
    inward = np.array([[1.0, 0, 0], [-1.0, 0, 0], [-1.0, 0, 0]])
    return Hold(contacts, inward, np.array([1.0, 0.5, 0.5]), block.yaw, 0.0)
