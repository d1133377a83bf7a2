"""What the expert of each task does, one skill after the other, until the time is over."""

from collections.abc import Callable, Iterator

import numpy as np

from envs.trifinger.experts.hands import Wish
from envs.trifinger.experts.skills import Skills
from envs.trifinger.robot.robot import FINGERS

_FALL = 0.4  # seconds until a block that began in the air lies still


def reaching(skills: Skills) -> Iterator[Wish]:
    hands = skills.hands
    goals = np.array([hands.scene.boxes[f"goal_{finger}"].position for finger in FINGERS])
    yield from hands.go(goals, 0.5)


def pushing(skills: Skills) -> Iterator[Wish]:
    goal = skills.hands.scene.boxes["goal_block"]
    while True:
        if skills.there("tool_block", goal):
            yield from skills.hands.wait(0.2)
        else:
            yield from skills.carry("tool_block", goal, [])


def picking(skills: Skills) -> Iterator[Wish]:
    yield from skills.hands.wait(_FALL)
    yield from skills.lift("tool_block", skills.hands.scene.boxes["goal_block"])


def pick_and_place(skills: Skills) -> Iterator[Wish]:
    hands, name = skills.hands, "tool_block"
    goal, wall = hands.scene.boxes["goal_block"], hands.scene.boxes["obstacle"]
    while True:
        block = skills.block(name)
        if skills.there(name, goal):
            yield from hands.wait(0.2)
        elif block.position[1] * goal.position[1] > 0:
            yield from skills.carry(name, goal, [wall])
        else:
            yield from skills.cross(name, goal, wall)


def stacking2(skills: Skills) -> Iterator[Wish]:
    hands = skills.hands
    yield from hands.wait(_FALL)
    low, high = hands.scene.boxes["goal_block_1"], hands.scene.boxes["goal_block_2"]
    while True:
        lower, upper = skills.block("tool_block_1"), skills.block("tool_block_2")
        if upper.position[2] > 0.08:  # on top; every touch could only harm
            yield from hands.wait(0.2)
        elif not skills.there("tool_block_1", low, 0.003, np.inf):
            yield from skills.carry("tool_block_1", low, [upper], 0.002, np.inf)
        else:
            yield from skills.stack("tool_block_2", high, lower)


TASKS: dict[str, Callable[[Skills], Iterator[Wish]]] = {
    story.__name__: story for story in (reaching, pushing, picking, pick_and_place, stacking2)
}
