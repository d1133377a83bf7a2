"""What an expert does in each task, as movements one after the other."""

from collections.abc import Iterator

import numpy as np

from envs.trifinger.experts.grasps import TIP, Hold, choose, turns, upright, yaw_matrix
from envs.trifinger.experts.hands import Carried, Hands, Wish
from envs.trifinger.experts.senses import Box

_HOME = np.array([[-0.06, 0.17, 0.12], [0.177, -0.033, 0.12], [-0.117, -0.137, 0.12]])  # each finger on its own side
_CLEAR = 0.03  # metres between a tip and the face that it will touch
_LEG = 0.08  # metres that a block is carried in one go: the tips, which it cannot turn against, lean as they go
_FORCE = 1.2  # newtons of the finger that presses alone


class Script:
    """Movements of one episode."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands

    def block(self, name: str) -> Box:
        return upright(self.hands.scene.boxes[name])

    def grasp(self, name: str, hold: Hold) -> Iterator[Wish]:
        """From above, beside the block, to its faces."""
        hands, block = self.hands, self.block(name)
        matrix = yaw_matrix(block.yaw)
        at = block.position + hold.contacts @ matrix.T
        out = at - (_CLEAR * hold.inward) @ matrix.T
        top = block.position[2] + block.size[2] / 2 + 0.05
        above = np.where(hold.shares[:, None] > 0, np.column_stack([out[:, :2], np.full(3, top)]), _HOME)
        yield from hands.go(np.column_stack([hands.tips[:, :2], np.maximum(hands.tips[:, 2], top)]), 0.4)
        yield from hands.go(above, 0.6)
        yield from hands.go(np.where(hold.shares[:, None] > 0, out, above), 0.5)
        yield from self.close(name, hold)

    def carry(self, name: str, goal: Box, lift: float, obstacles=(), last=None) -> Iterator[Wish]:
        """Take the block to the goal. lift: metres over the straight line."""
        block = self.block(name)
        up = np.array([0, 0, lift])
        ways = [block.position + up, (block.position + goal.position) / 2 + up, goal.position + up, goal.position]
        hold = choose(block, ways, turns(block, goal), self.hands.kinematics, list(obstacles))
        if hold is None:
            yield from self.hands.wait(0.5)
            return
        yield from self.grasp(name, hold)
        for _ in range(9):
            held = Carried(self.hands, lambda: self.block(name), hold, _FORCE)
            far, turn = goal.position - held.position, hold.turn - held.yaw
            flat = np.linalg.norm(far[:2])
            share = min(1.0, _LEG / flat) if flat else 1.0
            aim, yaw = held.position + share * far, held.yaw + share * turn
            lift = 0.004 + 0.12 * share * flat if share * flat > 0.006 else 0.0
            up = np.array([0, 0, lift])
            if lift:
                yield from held.to(held.position + up, held.yaw, 0.15)
            way = share * (flat / 0.15 + abs(turn) / 1.0)
            yield from held.to(aim + up, yaw, max(0.25, way))
            if share == 1:
                yield from held.stay(0.2 if not lift else 0.1)
            yield from self.open(hold, 0.01)
            if share == 1 and self.there(name, goal):
                break
            yield from self.close(name, hold)
        yield from self.open(hold, _CLEAR)
        yield from self.hands.go(np.column_stack([self.hands.tips[:, :2], np.full(3, 0.17)]), 0.5)

    def there(self, name: str, goal: Box) -> bool:
        block = self.block(name)
        off = np.linalg.norm(block.position - goal.position), min(abs(yaw - block.yaw) for yaw in turns(block, goal))
        return off[0] < 0.001 and off[1] < 0.015

    def open(self, hold: Hold, far: float) -> Iterator[Wish]:
        hands = self.hands
        hands.tips = hands.scene.tips.copy()
        matrix = yaw_matrix(self.yaw)
        yield from hands.go(hands.tips - (far * hold.inward) @ matrix.T, 0.25)

    def close(self, name: str, hold: Hold) -> Iterator[Wish]:
        hands, block = self.hands, self.block(name)
        self.yaw = block.yaw
        matrix = yaw_matrix(block.yaw)
        at = np.where(hold.shares[:, None] > 0, block.position + hold.contacts @ matrix.T, hands.tips)
        yield from hands.go(at, 0.3)
        yield from hands.go(at, 0.15, _FORCE * hold.shares[:, None] * (hold.inward @ matrix.T))


def pushing(script: Script) -> Iterator[Wish]:
    goal = script.hands.scene.boxes["goal_block"]
    while True:
        if script.there("tool_block", goal):
            yield from script.hands.wait(0.2)
        else:
            yield from script.carry("tool_block", goal, 0.01)


def picking(script: Script) -> Iterator[Wish]:
    yield from script.hands.wait(0.4)
    goal = script.hands.scene.boxes["goal_block"]
    yield from script.carry("tool_block", goal, 0.0)
