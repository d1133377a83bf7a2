"""Movements of three fingers in space: to a place along a line, and with a block between them along a path.

A movement is a generator: it yields what the next action asks of the fingers, (tips (3, 3) metres, forces (3, 3) newtons), and
reads the scene, which is new after every action.
"""

from collections.abc import Callable, Iterator

import numpy as np

from envs.trifinger.experts.grasps import Hold, upright, yaw_matrix
from envs.trifinger.experts.senses import Box, Scene
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.robot.robot import DAMPING, GAIN, JOINTS_HIGH, JOINTS_LOW, SAFETY

Wish = tuple[np.ndarray, np.ndarray]
_DRAG = np.add(DAMPING, SAFETY)  # newton metre seconds per radian
_NO_FORCE = np.zeros((3, 3))


class Hands:
    """The fingers of one episode.  dt: seconds of a step."""

    def __init__(self, kinematics: Kinematics, dt: float, scene: Scene) -> None:
        self.kinematics, self.dt, self.scene = kinematics, dt, scene
        self.tips = scene.tips.copy()  # as last wished
        self._joints = scene.joints.copy()  # that have them

    def joints(self, wish: Wish) -> np.ndarray:
        """Joint positions (9,) whose controller puts the tips there and presses so, links of the URDF weighed."""
        tips, forces = wish
        before, self._joints = self._joints, self.kinematics.joints(tips, self._joints)
        torques = self.kinematics.gravity(self._joints) + _DRAG * (self._joints - before) / self.dt
        pressed = np.einsum("fxj,fx->fj", self.kinematics.jacobians(self._joints), forces).ravel()
        return np.clip(self._joints + (torques + pressed) / GAIN, JOINTS_LOW, JOINTS_HIGH)

    def steps(self, seconds: float) -> int:
        return max(1, round(seconds / self.dt))

    def go(self, tips: np.ndarray, seconds: float, forces: np.ndarray = _NO_FORCE) -> Iterator[Wish]:
        """All tips along lines, slowly at both ends."""
        start, n = self.tips.copy(), self.steps(seconds)
        for i in range(1, n + 1):
            self.tips = start + smooth(i / n) * (tips - start)
            yield self.tips, forces

    def wait(self, seconds: float) -> Iterator[Wish]:
        yield from self.go(self.tips, seconds)


def smooth(share: float) -> float:
    """From 0 to 1 with no speed and no acceleration at the ends."""
    share = min(max(share, 0.0), 1.0)
    return share**3 * (10 - 15 * share + 6 * share**2)


class Carried:
    """A block between the fingers: where it should be, where it is, and what the difference asks for."""

    def __init__(self, hands: Hands, block: Callable[[], Box], hold: Hold, force: float) -> None:
        self._hands, self._block, self._hold = hands, block, hold
        self.force, self.lifted = force, False  # in the air its height is corrected, too
        self._shift, self._turned = np.zeros(3), 0.0  # what the fingers add for the block to be right
        self.position, self.yaw = block().position.copy(), block().yaw  # wanted

    def _wish(self, gain: float) -> Wish:
        block, dt = self._block(), self._hands.dt
        self._shift = np.clip(self._shift + gain * dt * np.array([1.0, 1.0, self.lifted]) * (self.position - block.position), -0.03, 0.03)
        off = (self.yaw - block.yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4
        self._turned = float(np.clip(self._turned + (not self.lifted) * gain * dt * off, -0.4, 0.4))
        matrix = yaw_matrix(self.yaw + self._turned)
        tips = self.position + self._shift + self._hold.contacts @ matrix.T
        idle = self._hold.shares == 0
        tips[idle] = self._hands.tips[idle]
        self._hands.tips = tips
        return tips, self.force * self._hold.shares[:, None] * (self._hold.inward @ matrix.T)

    def to(self, position: np.ndarray, yaw: float, seconds: float, gain: float = 2.0) -> Iterator[Wish]:
        """The wanted pose moves along a line."""
        start, first, n = self.position.copy(), self.yaw, self._hands.steps(seconds)
        for i in range(1, n + 1):
            share = smooth(i / n)
            self.position, self.yaw = start + share * (position - start), first + share * (yaw - first)
            yield self._wish(gain)

    def stay(self, seconds: float, gain: float = 2.0) -> Iterator[Wish]:
        yield from self.to(self.position, self.yaw, seconds, gain)
