"""What hands do with a block: grasp it, take it along the floor, lift it, carry it over a wall, put it on another one.

In the default dynamics tips roll and spin with so much friction (.1 m) that a block cannot turn against them: it leans as they
lean, .3 radians for every decimetre, for fingers hang from above. So it goes along the floor in legs, is let go after each and
falls flat; what must be upright in the air is lifted where the fingers' leaning cancels.
"""

from collections.abc import Iterator

import numpy as np

from envs.trifinger.experts.hands import Carried, Hands, Wish
from envs.trifinger.experts.holds import FORCE, Hold, choose, lifting
from envs.trifinger.experts.senses import Box, fitting_yaws, turned, upright

_HOME = np.array([[-0.06, 0.17, 0.12], [0.177, -0.033, 0.12], [-0.117, -0.137, 0.12]])  # each finger on its own side
_CLEAR, _LOOSE = 0.03, 0.01  # metres between a tip and the face that it will touch, has let go
_LEG = 0.08  # metres along the floor in one go
_ASIDE = np.array([0.03, -0.1, 0.0])  # metres off the middle, for every metre of height, from where a lift ends upright
_LIFT_FORCES = (1.05, 1.7, 2.2, 2.2)  # newtons, the next one where a block slips
_BESIDE = 0.08  # metres between the middles of two blocks, one of which is put on the other


class Skills:
    """Of the hands of one episode."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands

    def block(self, name: str) -> Box:
        return upright(self.hands.scene.boxes[name])

    def there(self, name: str, goal: Box, near: float = 0.001, turn: float = 0.015) -> bool:
        """near: metres; turn: radians."""
        block = self.block(name)
        off = min(abs(yaw - block.yaw) for yaw in fitting_yaws(block, goal))
        return bool(np.linalg.norm(block.position - goal.position) < near and off < turn)

    def grasp(self, name: str, hold: Hold) -> Iterator[Wish]:
        """From above, beside the block, to its faces."""
        hands, block, used = self.hands, self.block(name), hold.shares[:, None] > 0
        beside = hold.tips(block.position, block.rotation) - (_CLEAR * hold.inward) @ block.rotation.T
        top = block.position[2] + block.size[2] / 2 + 0.05
        above = np.where(used, np.column_stack([beside[:, :2], np.full(3, top)]), _HOME)
        yield from hands.go(np.column_stack([hands.tips[:, :2], np.maximum(hands.tips[:, 2], top)]), 0.4)
        yield from hands.go(above, 0.6)
        yield from hands.go(np.where(used, beside, above), 0.5)
        yield from self.close(name, hold)

    def close(self, name: str, hold: Hold) -> Iterator[Wish]:
        """Tips to the faces; then they press."""
        block = self.block(name)
        at = np.where(hold.shares[:, None] > 0, hold.tips(block.position, turned(block.yaw)), self.hands.tips)
        yield from self.hands.go(at, 0.3)
        yield from self.hands.go(at, 0.15, FORCE * hold.shares[:, None] * (hold.inward @ turned(block.yaw).T))

    def open(self, name: str, hold: Hold, far: float) -> Iterator[Wish]:
        """Tips away from the faces."""
        self.hands.tips = self.hands.scene.tips.copy()
        away = (far * hold.inward) @ turned(self.block(name).yaw).T
        yield from self.hands.go(self.hands.tips - away, 0.25)

    def leave(self, name: str, hold: Hold) -> Iterator[Wish]:
        """Tips away, and up."""
        yield from self.open(name, hold, _CLEAR)
        tips = self.hands.tips.copy()
        tips[hold.shares > 0, 2] = 0.165
        yield from self.hands.go(tips, 0.5)

    def held(self, name: str, hold: Hold, **own) -> Carried:
        return Carried(self.hands, lambda: self.block(name), hold, **own)

    def slide(self, name: str, hold: Hold, goal: Box, near: float, turn: float, tries: int = 9) -> Iterator[Wish]:
        """A block that is held goes along the floor, in legs. The fingers have let go at the end and are about it still."""
        for attempt in range(tries):
            if attempt:
                yield from self.close(name, hold)
            held = self.held(name, hold)
            gap, yaw = goal.position - held.position, hold.yaw - held.yaw
            flat = float(np.linalg.norm(gap[:2]))
            share = min(1.0, _LEG / flat) if flat else 1.0
            lift = 0.004 + 0.12 * share * flat if share * flat > 0.006 else 0.0  # its lower edge is off the floor
            up = np.array([0, 0, lift])
            aim = held.position + share * gap
            if up[2]:
                yield from held.to(held.position + up, held.yaw, 0.15)
            yield from held.to(aim + up, held.yaw + share * yaw, max(0.25, share * (flat / 0.15 + abs(yaw))))
            if share == 1:
                yield from held.stay(0.1 if up[2] else 0.2)
            yield from self.open(name, hold, _LOOSE)
            if share == 1 and self.there(name, goal, near, turn):
                return

    def carry(self, name: str, goal: Box, obstacles: list[Box], near: float = 0.001, turn: float = 0.015) -> Iterator[Wish]:
        """Along the floor to a goal; near, turn: as in `there`. Where no fingers reach, nothing for a while."""
        block, up = self.block(name), np.array([0, 0, 0.01])
        ways = [block.position + up, (block.position + goal.position) / 2 + up, goal.position + up, goal.position]
        found = choose(block, ways, fitting_yaws(block, goal), self.hands.kinematics, obstacles)
        if found is None:
            yield from self.hands.wait(0.5)
            return
        yield from self.grasp(name, found[1])
        yield from self.slide(name, found[1], goal, near, turn)
        yield from self.leave(name, found[1])

    def lift(self, name: str, goal: Box) -> Iterator[Wish]:
        """To a goal over the middle, and stays there. A block that slips is taken again, with more force."""
        floor = self.block(name).size[2] / 2
        rise = goal.position[2] - floor
        for force in _LIFT_FORCES:
            start = self.block(name).moved(goal.position * (1, 1, 0) + (0, 0, floor) - _ASIDE * rise)
            if not self.there(name, start, 0.025, np.inf):
                yield from self.carry(name, start, [], 0.003, np.inf)
            hold = lifting(self.block(name))
            yield from self.grasp(name, hold)
            if not self.there(name, start, 0.003, np.inf):
                yield from self.slide(name, hold, start, 0.003, np.inf, tries=1)
                yield from self.close(name, hold)
            held = self.held(name, hold, lifted=True, force=force)
            yield from held.to(goal.position, held.yaw, max(0.6, rise / 0.1))
            while self.block(name).position[2] > floor + rise / 2:
                yield from held.stay(0.2)
            yield from self.leave(name, hold)

    def cross(self, name: str, goal: Box, wall: Box) -> Iterator[Wish]:
        """Over a wall, and down beyond it."""
        block = self.block(name)
        high = np.array([0, 0, wall.position[2] + wall.size[2] / 2 + 0.75 * block.size[2] + 0.012])
        start, end = block.position * (1, 1, 0) + high, goal.position * (1, 1, 0) + high
        low = goal.position + (0, 0, 0.012)
        ways = [start, (start + end) / 2, end, low]
        found = choose(block, ways, fitting_yaws(block, goal), self.hands.kinematics, [wall])
        if found is None:
            yield from self.hands.wait(0.5)
            return
        yield from self.grasp(name, found[1])
        held = self.held(name, found[1], lifted=True)
        yield from held.to(held.position * (1, 1, 0) + high, held.yaw, 1.2)
        yield from held.to(end, held.yaw, max(0.8, np.linalg.norm(end - held.position) / 0.1))
        yield from held.to(low, held.yaw, 1.0)
        yield from self.leave(name, found[1])

    def stack(self, name: str, goal: Box, below: Box) -> Iterator[Wish]:
        """From the floor to the top of another block, first to a place beside it from where the fingers end upright."""
        block, found = self.block(name), []
        floor = np.array([0, 0, block.size[2] / 2])
        for angle in np.arange(16) * np.pi / 8:
            way = _BESIDE * np.array([np.cos(angle), np.sin(angle), 0.0])
            spot = block.moved(goal.position * (1, 1, 0) + floor + way)
            if np.linalg.norm(spot.position[:2]) > 0.13 or np.abs(way).max() < 0.072:  # out of reach; no room between them
                continue
            ways = [spot.position + (0, 0, 0.08), goal.position + (0, 0, 0.015), goal.position]
            if chosen := choose(spot, ways, [spot.yaw], self.hands.kinematics, [below], spot.position):
                found.append((chosen[0] + 0.05 * np.linalg.norm(spot.position - block.position), chosen[1], spot))
        if not found:
            yield from self.hands.wait(0.5)
            return
        _, hold, spot = min(found, key=lambda each: each[0])
        if not self.there(name, spot, 0.006, np.inf):
            yield from self.carry(name, spot, [below], 0.004, np.inf)
        yield from self.grasp(name, hold)
        held, top = self.held(name, hold, lifted=True), goal.position + (0, 0, 0.018)
        yield from held.to(held.position * (1, 1, 0) + top * (0, 0, 1), held.yaw, 0.8)
        yield from held.to(top, held.yaw, 1.0)
        yield from held.to(goal.position + (0, 0, 0.006), held.yaw, 0.4)
        yield from self.leave(name, hold)
