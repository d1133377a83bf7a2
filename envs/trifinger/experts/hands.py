"""Three fingers in space: to a place along a line, and with a block between them along a path.

A movement is a generator: it yields what the next action asks of the fingers, (tips (3, 3) metres, forces (3, 3) newtons), and
reads the scene, which is new after every action.
"""

from collections.abc import Callable, Iterator

import numpy as np

from envs.trifinger.experts.holds import FORCE, Hold
from envs.trifinger.experts.senses import Box, Scene, turned
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.robot.robot import DAMPING, GAIN, JOINTS_HIGH, JOINTS_LOW, SAFETY

Wish = tuple[np.ndarray, np.ndarray]
_DRAG = np.add(DAMPING, SAFETY)  # newton metre seconds per radian, which the controller spends on speed
_NO_FORCE = np.zeros((3, 3))
_RATE = 2.0  # per second: how fast an error of a carried block is made good


class Hands:
    """The fingers of one episode.  dt: seconds of a step."""

    def __init__(self, kinematics: Kinematics, dt: float, scene: Scene) -> None:
        self.kinematics, self.dt, self.scene = kinematics, dt, scene
        self.tips = scene.tips.copy()  # as last wished
        self._joints = scene.joints.copy()  # that have them

    def joints(self, wish: Wish) -> np.ndarray:
        """Joint positions (9,) for which the PD controller puts the tips there and presses so.

        What it would lack is added: torques against the weight of the links as the URDF has it, against its own damping at the
        speed wished for, and J^T f for the forces.
        """
        tips, forces = wish
        before, self._joints = self._joints, self.kinematics.joints(tips, self._joints)
        torques = self.kinematics.gravity(self._joints) + _DRAG * (self._joints - before) / self.dt
        torques += np.einsum("fxj,fx->fj", self.kinematics.jacobians(self._joints), forces).ravel()
        return np.clip(self._joints + torques / GAIN, JOINTS_LOW, JOINTS_HIGH)

    def steps(self, seconds: float) -> int:
        return max(1, round(seconds / self.dt))

    def go(self, tips: np.ndarray, seconds: float, forces: np.ndarray = _NO_FORCE) -> Iterator[Wish]:
        """All tips along lines, slowly at both ends."""
        start, n = self.tips.copy(), self.steps(seconds)
        for i in range(1, n + 1):
            self.tips = start + _smooth(i / n) * (tips - start)
            yield self.tips, forces

    def wait(self, seconds: float) -> Iterator[Wish]:
        yield from self.go(self.tips, seconds)


class Carried:
    """A block between the fingers: where it should be, where it is, and what the difference asks for.

    lifted: it hangs in the air. Its height is made good then; its yaw is not, which only the turn of the tips decides.
    """

    def __init__(self, hands: Hands, block: Callable[[], Box], hold: Hold, lifted: bool = False, force: float = FORCE) -> None:
        self._hands, self._block, self._hold, self._lifted, self._force = hands, block, hold, lifted, force
        self._shift, self._turn = np.zeros(3), 0.0  # what the fingers add
        self.position, self.yaw = block().position.copy(), block().yaw  # wanted

    def to(self, position: np.ndarray, yaw: float, seconds: float) -> Iterator[Wish]:
        """The wanted pose moves along a line."""
        start, first, n = self.position.copy(), self.yaw, self._hands.steps(seconds)
        for i in range(1, n + 1):
            share = _smooth(i / n)
            self.position, self.yaw = start + share * (position - start), first + share * (yaw - first)
            yield self._wish()

    def stay(self, seconds: float) -> Iterator[Wish]:
        yield from self.to(self.position, self.yaw, seconds)

    def _wish(self) -> Wish:
        block, rate = self._block(), _RATE * self._hands.dt
        gap = (self.position - block.position) * (1, 1, self._lifted)
        self._shift = np.clip(self._shift + rate * gap, -0.03, 0.03)
        off = (self.yaw - block.yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4
        self._turn = float(np.clip(self._turn + (not self._lifted) * rate * off, -0.4, 0.4))
        rotation = turned(self.yaw + self._turn)
        tips = self._hold.tips(self.position + self._shift, rotation)
        idle = self._hold.shares == 0
        tips[idle] = self._hands.tips[idle]
        self._hands.tips = tips
        return tips, self._force * self._hold.shares[:, None] * (self._hold.inward @ rotation.T)


def _smooth(share: float) -> float:
    """From 0 to 1 with no speed and no acceleration at the ends."""
    return share**3 * (10 - 15 * share + 6 * share**2)
