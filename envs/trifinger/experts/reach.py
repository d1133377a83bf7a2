"""What three fingers can touch, and at what cost: distance, the torque it takes, links near to blocks and to one another.

The costs are weighed against one another in metres; the weights were tried in the default dynamics.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from envs.trifinger.experts.senses import Box
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.robot.robot import MAX_TORQUE, REST

TIP = 0.0105  # metres: radius of a finger's end
_LINK = 0.016  # metres: half the width of a finger's last link, and a little more
_APART = 0.035  # metres between two last links
_POINTS = np.linspace(0.0, 0.85, 8)  # of the last link, from its joint on: the rest is the end that touches
_UNREACHED = 0.0015  # metres
_TORQUE = 0.8 * MAX_TORQUE  # that holding may need


class Reach:
    """Of one scene, in which obstacles do not move. Remembers what it was asked."""

    def __init__(self, kinematics: Kinematics, obstacles: list[Box]) -> None:
        self._kinematics, self._obstacles = kinematics, obstacles
        self._known: dict[tuple, tuple[np.ndarray, ...]] = {}

    def _at(self, point: np.ndarray) -> tuple[np.ndarray, ...]:
        """-> of the three fingers: errors (3,), points of their last links (3, n, 3), Jacobians (3, 3, 3), torques of rest (3,
        3), turns of their tips (3, 3, 3)"""
        key = tuple(np.round(point, 5))
        if key not in self._known:
            kinematics = self._kinematics
            joints = kinematics.joints(np.tile(point, (3, 1)), REST)
            tips, elbows = kinematics.tips(joints), kinematics.elbows(joints)
            links = elbows[:, None] + _POINTS[:, None] * (tips - elbows)[:, None]
            rest = kinematics.gravity(joints).reshape(3, 3)
            errors = np.linalg.norm(tips - point, axis=1)
            self._known[key] = errors, links, kinematics.jacobians(joints), rest, kinematics.tip_rotations(joints)
        return self._known[key]

    def cost(self, touches: list[tuple[int, np.ndarray, np.ndarray]], block: Box) -> float:
        """Infinite where a finger cannot be there.  touches: (finger, its tip, its force in newtons); block: between them."""
        links, total = [], 0.0
        for finger, tip, force in touches:
            errors, whole, jacobians, rest, _ = self._at(tip)
            if errors[finger] > _UNREACHED:
                return np.inf
            links.append(whole[finger])
            total += 0.2 * max(0.0, float(np.abs(rest[finger] + force @ jacobians[finger]).max()) - _TORQUE)
            total += _shortage(whole[finger], block, _LINK)
            total += 5 * sum(_shortage(whole[finger], other, _LINK + 0.006) for other in self._obstacles)
        for i, link in enumerate(links):
            for other in links[i + 1 :]:
                total += max(0.0, _APART - np.linalg.norm(link[:, None] - other[None], axis=-1).min())
        return total

    def turn(self, finger: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """How a tip turns from one point to another, a rotation vector (3,): a block that it holds turns with it."""
        return Rotation.from_matrix(self._at(end)[4][finger] @ self._at(start)[4][finger].T).as_rotvec()


def _shortage(points: np.ndarray, box: Box, wanted: float) -> float:
    """Metres by which points come nearer to a box than wanted, at their worst."""
    beyond = np.abs((points - box.position) @ box.rotation) - box.size / 2
    distance = np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(1), 0)
    return max(0.0, wanted - float(distance.min()))
