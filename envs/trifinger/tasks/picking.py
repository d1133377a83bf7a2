"""Picking: one block, its goal above the middle of the arena."""

import numpy as np

from envs.trifinger.scene.state import State, block, goal
from envs.trifinger.tasks.task import Changes, StepContext, Task, drawn, grounded, on_floor, same_size

_HEIGHT = {"a": (0.08, 0.20), "b": (0.20, 0.25)}  # metres of the goal


class Picking(Task):
    """Reference section 9.3. dense_weights: height won and left, centre won and left, approach won and left, grasp, jerk.

    As in CausalWorld, the spaces hold positions of the block in the air, from where it falls, and of the goal off the middle; a
    position given for the goal is moved over the middle.  block_on_floor: the spaces pin the block to the floor.
    """

    name = "picking"
    dense_weights = (250.0, 0.0, 125.0, 0.0, 750.0, 0.0, 0.0, 0.005)

    def __init__(self, goal_height: float = 0.15, block_on_floor: bool = False) -> None:
        self._goal_height, self._block_on_floor = goal_height, block_on_floor

    def objects(self) -> State:
        return {"tool_block": block((0, 0, 0.0325)), "goal_block": goal((0, 0, self._goal_height))}

    def variables(self, state, source="code"):
        table = super().variables(state, source)
        tool, aim = "tool_block/cylindrical_position", "goal_block/cylindrical_position"
        if self._block_on_floor:
            table[tool] = on_floor(table[tool], state["tool_block"]["size"][2])
        spaces = ((table[aim].space(name), height) for name, height in _HEIGHT.items())
        table[aim] = table[aim].only(*(((*low[:2], least), (*high[:2], most)) for (low, high), (least, most) in spaces))
        return table

    def linked(self, changes: Changes, state: State) -> Changes:
        for name in {"goal_block/cylindrical_position", "goal_block/cartesian_position"} & changes.keys():
            changes = {**changes, name: np.array([0.0, 0.0, changes[name][2]])}
        block = state["tool_block"]
        stands = block["cartesian_position"][2] - block["size"][2] / 2 < 0.005
        return grounded(same_size(changes), state, *(["tool_block"] if stands else []))  # one in the air stays there

    def dense_terms(self, now: StepContext, before: StepContext) -> tuple[float, ...]:
        def height(moment: StepContext) -> float:
            return abs(float(moment.position("tool_block")[2] - moment.position("goal_block")[2]))

        def centre(moment: StepContext) -> float:
            return float(np.hypot(*moment.position("tool_block")[:2]))

        return (
            height(before) - height(now), -height(now), centre(before) - centre(now), -centre(now),
            before.tip_distance("tool_block") - now.tip_distance("tool_block"), -now.tip_distance("tool_block"),
            -self._apart(now), -now.jerk(before),
        )  # fmt: skip

    def _apart(self, now: StepContext) -> float:
        """Of each tip the mean of its three distances from the block, those within the block's size as 0; the two least of the
        means together. As in CausalWorld, these need not be the two nearest tips."""
        away = np.abs(now.tips - now.position("tool_block"))
        outside = np.where(away < now.state["tool_block"]["size"], 0.0, away)
        return float(np.sort(outside.mean(1))[:2].sum())

    def sample_goal(self, rng: np.random.Generator, state: State, space: str, source: str = "code") -> Changes:
        """A height; the rest of the position is moved over the middle."""
        path = "goal_block/cylindrical_position"
        return {path: drawn(rng, self.variables(state, source), path, space)}
