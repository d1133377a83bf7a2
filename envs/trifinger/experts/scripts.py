"""What an expert does in each task, as movements one after the other."""

from collections.abc import Iterator

import numpy as np

from envs.trifinger.experts.grasps import FORCE, TIP, Hold, choose, lifting, turns, upright, yaw_matrix
from envs.trifinger.experts.hands import Carried, Hands, Wish
from envs.trifinger.experts.senses import Box

_HOME = np.array([[-0.06, 0.17, 0.12], [0.177, -0.033, 0.12], [-0.117, -0.137, 0.12]])  # each finger on its own side
_ASIDE = (0.05, -0.03)  # metres along the floor for every metre of height, by which the fingers' lean is made good
_CLEAR = 0.03  # metres between a tip and the face that it will touch
_LEG = 0.08  # metres that a block is carried in one go: the tips, which it cannot turn against, lean as they go


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

    def carry(self, name: str, goal: Box, lift: float, obstacles=(), near: float = 0.001) -> Iterator[Wish]:
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
            held = Carried(self.hands, lambda: self.block(name), hold, FORCE)
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
            if share == 1 and self.there(name, goal, near):
                break
            yield from self.close(name, hold)
        yield from self.open(hold, _CLEAR)
        yield from self.hands.go(np.column_stack([self.hands.tips[:, :2], np.full(3, 0.17)]), 0.5)

    def drag(self, name: str, hold: Hold, place: np.ndarray, yaw: float) -> Iterator[Wish]:
        """A block that is held goes along the floor; the fingers are about it still, and hold it, at the end."""
        for _ in range(6):
            held = Carried(self.hands, lambda: self.block(name), hold, FORCE)
            far, turn = (place - held.position) * (1, 1, 0), yaw - held.yaw
            flat = np.linalg.norm(far)
            share = min(1.0, _LEG / flat) if flat else 1.0
            aim = held.position + share * far
            lift = 0.004 + 0.12 * share * flat if share * flat > 0.006 else 0.0
            up = np.array([0, 0, lift])
            if lift:
                yield from held.to(held.position + up, held.yaw, 0.15)
            yield from held.to(aim + up, held.yaw + share * turn, max(0.25, share * (flat / 0.15 + abs(turn))))
            yield from self.open(hold, 0.01)
            yield from self.close(name, hold)
            if share == 1:
                return

    def pick(self, name: str, goal: Box) -> Iterator[Wish]:
        """Up to a goal over the middle, from where the tips that hold it end upright."""
        block = self.block(name)
        rise = goal.position[2] - block.size[2] / 2
        place = np.array([*goal.position[:2], block.size[2] / 2]) - np.array([*_ASIDE, 0.0]) * rise
        if np.linalg.norm((block.position - place)[:2]) > 0.025:
            yield from self.carry(name, Box(block.size, place, yaw_matrix(block.yaw)), 0.0, near=0.003)
            block = self.block(name)
        hold = lifting(block)
        yield from self.grasp(name, hold)
        if np.linalg.norm((block.position - place)[:2]) > 0.003:
            yield from self.drag(name, hold, place, block.yaw)
        held = Carried(self.hands, lambda: self.block(name), hold, 1.05)
        held.lifted = True
        yield from held.to(goal.position, held.yaw, max(0.6, rise / 0.1))
        while True:
            yield from held.stay(1.0)

    def over(self, name: str, goal: Box, wall: Box) -> Iterator[Wish]:
        """Across a wall, let down beyond."""
        block = self.block(name)
        top = wall.position[2] + wall.size[2] / 2 + 0.75 * block.size[2] + 0.012
        high = np.array([0, 0, top])
        start, end = block.position * (1, 1, 0) + high, goal.position * (1, 1, 0) + high
        ways = [start, (start + end) / 2, end, goal.position + (0, 0, 0.01)]
        hold = choose(block, ways, turns(block, goal), self.hands.kinematics, [wall])
        if hold is None:
            yield from self.hands.wait(0.5)
            return
        yield from self.grasp(name, hold)
        held = Carried(self.hands, lambda: self.block(name), hold, FORCE)
        held.lifted = True
        yield from held.to(held.position * (1, 1, 0) + high, held.yaw, 1.2)
        yield from held.to(end, held.yaw, max(0.8, np.linalg.norm(end - held.position) / 0.1))
        yield from held.to(goal.position + (0, 0, 0.012), held.yaw, 1.0)
        yield from self.open(hold, _CLEAR)
        yield from self.hands.go(np.column_stack([self.hands.tips[:, :2], np.full(3, 0.17)]), 0.5)

    def stack(self, name: str, goal: Box, below: Box) -> Iterator[Wish]:
        """From beside a block to its top."""
        block = self.block(name)
        floor, best = block.size[2] / 2, None
        for side in range(16):
            angle = side * np.pi / 8
            way = np.array([np.cos(angle), np.sin(angle), 0.0])
            spot = goal.position * (1, 1, 0) + (0, 0, floor) + way * 0.08
            if np.linalg.norm(spot[:2]) > 0.13 or np.abs(way[:2]).max() * 0.08 < 0.072:
                continue
            there = Box(block.size, spot, block.rotation)
            ways = [spot + (0, 0, 0.08), goal.position + (0, 0, 0.015), goal.position]
            hold = choose(there, ways, [there.yaw], self.hands.kinematics, [below], spot)
            if hold is not None:
                cost = hold.cost + 0.05 * np.linalg.norm(spot - block.position)
                if best is None or cost < best[0]:
                    best = cost, there, hold
        if best is None:
            yield from self.hands.wait(0.5)
            return
        _, there, hold = best
        if np.linalg.norm((there.position - block.position)[:2]) > 0.006:
            yield from self.carry(name, there, 0.01, [below], near=0.004)
        yield from self.grasp(name, hold)
        held = Carried(self.hands, lambda: self.block(name), hold, FORCE)
        held.lifted = True
        up = goal.position[2] + 0.018
        yield from held.to(np.array([*held.position[:2], up]), held.yaw, 0.8)
        yield from held.to(np.array([*goal.position[:2], up]), held.yaw, 1.0)
        yield from held.to(goal.position + (0, 0, 0.006), held.yaw, 0.4)
        yield from self.open(hold, _CLEAR)
        yield from self.hands.go(np.column_stack([self.hands.tips[:, :2], np.full(3, 0.2)]), 0.5)

    def there(self, name: str, goal: Box, near: float = 0.001) -> bool:
        block = self.block(name)
        off = np.linalg.norm(block.position - goal.position), min(abs(yaw - block.yaw) for yaw in turns(block, goal))
        return off[0] < near and (off[1] < 0.015 or near > 0.001)

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
        yield from hands.go(at, 0.15, FORCE * hold.shares[:, None] * (hold.inward @ matrix.T))


def pushing(script: Script) -> Iterator[Wish]:
    goal = script.hands.scene.boxes["goal_block"]
    while True:
        if script.there("tool_block", goal):
            yield from script.hands.wait(0.2)
        else:
            yield from script.carry("tool_block", goal, 0.01)


def picking(script: Script) -> Iterator[Wish]:
    yield from script.hands.wait(0.4)
    yield from script.pick("tool_block", script.hands.scene.boxes["goal_block"])


def pick_and_place(script: Script) -> Iterator[Wish]:
    hands = script.hands
    goal, wall = hands.scene.boxes["goal_block"], hands.scene.boxes["obstacle"]
    while True:
        block = script.block("tool_block")
        beyond = np.sign(block.position[1]) != np.sign(goal.position[1])
        if script.there("tool_block", goal):
            yield from hands.wait(0.2)
        elif beyond:
            yield from script.over("tool_block", goal, wall)
        else:
            yield from script.carry("tool_block", goal, 0.01, [wall])


def stacking2(script: Script) -> Iterator[Wish]:
    hands = script.hands
    yield from hands.wait(0.3)
    low, high = hands.scene.boxes["goal_block_1"], hands.scene.boxes["goal_block_2"]
    first, second = "tool_block_1", "tool_block_2"
    while True:
        lower, upper = script.block(first), script.block(second)
        on_top = upper.position[2] > 0.08
        if not script.there(first, low, 0.003) and not on_top:
            yield from script.carry(first, low, 0.01, [upper], 0.002)
        elif not on_top:
            yield from script.stack(second, high, lower)
        else:
            yield from hands.wait(0.2)
