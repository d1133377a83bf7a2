"""What an expert does in each task, as movements one after the other."""

from collections.abc import Iterator

import numpy as np

from envs.trifinger.experts.grasps import FORCE, TIP, Hold, choose, turns, upright, yaw_matrix
from envs.trifinger.experts.hands import Carried, Hands, Wish
from envs.trifinger.experts.senses import Box

_HOME = np.array([[-0.06, 0.17, 0.12], [0.177, -0.033, 0.12], [-0.117, -0.137, 0.12]])  # each finger on its own side
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
        block = self.block(name)
        floor = np.array([*goal.position[:2], block.size[2] / 2])
        ways = [block.position, floor, goal.position]
        hold = choose(block, ways, turns(block, goal), self.hands.kinematics, [], 0.2)
        if hold is None:
            yield from self.hands.wait(0.5)
            return
        yield from self.grasp(name, hold)
        place, yaw = floor.copy(), hold.turn
        height = goal.position[2] - floor[2]
        for trial in range(3):
            if np.linalg.norm((self.block(name).position - place)[:2]) > 0.004 or abs(yaw - self.block(name).yaw) > 0.03:
                yield from self.drag(name, hold, place, yaw)
            held = Carried(self.hands, lambda: self.block(name), hold, FORCE)
            held.lifted = True
            share = min(1.0, 0.03 / height) if trial == 0 else 1.0
            start = held.position.copy()
            print("      before lift", start.round(4), round(held.yaw,3))
            aim = start + share * (goal.position - start)
            yield from held.to(aim, held.yaw, max(0.4, share * height / 0.12))
            axis = self.block(name).rotation[:, 2]  # leans by (x, y)
            print("   trial", trial, "lean", axis.round(3), "yaw", round(yaw,3), round(self.block(name).yaw,3), "place", place.round(3), "at", self.block(name).position.round(4))
            if share == 1 and np.linalg.norm(axis[:2]) < 0.05:
                break
            if share == 1 and trial == 2: break
            twist = self.block(name).yaw - hold.turn
            yield from held.to(start, held.yaw, max(0.4, share * height / 0.15))
            yaw = yaw - twist / share
            place = place - axis * (1, 1, 0) / share / 3.0
            yield from self.open(hold, 0.01)
            yield from self.close(name, hold)
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
        best = None
        for side in range(16):
            angle = side * np.pi / 8
            way = np.array([np.cos(angle), np.sin(angle), 0.0])
            spot = goal.position * (1, 1, 0) + (0, 0, block.size[2] / 2) + way * 0.085
            if np.linalg.norm(spot[:2]) > 0.13:
                continue
            ways = [spot, spot + (0, 0, 0.08), goal.position + (0, 0, 0.015), goal.position]
            hold = choose(block, [block.position, *ways], turns(block, goal), self.hands.kinematics, [below])
            if hold is not None:
                cost = hold.cost + 0.1 * np.linalg.norm(spot - block.position)
                if best is None or cost < best[0]:
                    best = cost, spot, hold
        if best is None:
            yield from self.hands.wait(0.5)
            return
        _, spot, hold = best
        print("stack", best[0].round(4), spot.round(3), hold.shares, hold.cost.round(4))
        yield from self.grasp(name, hold)
        yield from self.drag(name, hold, spot, hold.turn)
        held = Carried(self.hands, lambda: self.block(name), hold, FORCE)
        held.lifted = True
        up = goal.position[2] + 0.018
        yield from held.to(np.array([*held.position[:2], up]), held.yaw, 0.8)
        yield from held.to(np.array([*goal.position[:2], up]), held.yaw, 1.0)
        print("lean", self.block(name).rotation[2].round(2), self.block(name).position.round(3))
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
        elif not script.there(second, high, 0.002):
            yield from script.carry(second, high, 0.01, [lower], 0.002)
        else:
            yield from hands.wait(0.2)
