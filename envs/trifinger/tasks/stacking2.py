"""Stacking2: two blocks, to be put one on the other where the goal tower stands."""

import numpy as np

from envs.bodies.rotations import from_cylindrical, to_cylindrical, to_quaternion, to_turn
from envs.trifinger.scene.state import State, block, goal
from envs.trifinger.scene.variables import variable
from envs.trifinger.tasks.task import Changes, StepContext, Task, drawn, spaceless

_EDGE = 0.065  # metres
_GOALS = ("goal_block_1", "goal_block_2")  # from below


class Stacking2(Task):
    """Reference section 9.5. dense_weights: approach, way of the lower block, height and way of the upper one, jerk.

    The goal tower is one variable: its position and orientation are those of both goals. What is given for one goal as well
    counts for that goal. Differs from CausalWorld: an orientation given together with a position is not ignored.
    """

    name = "stacking2"
    dense_weights = (750.0, 250.0, 250.0, 125.0, 0.005)

    def objects(self) -> State:
        return {
            "tool_block_1": block((0, 0, _EDGE / 2)),
            "tool_block_2": block((0.01, 0.08, _EDGE / 2)),
            "goal_block_1": goal((-0.06, -0.06, _EDGE / 2)),
            "goal_block_2": goal((-0.06, -0.06, _EDGE * 3 / 2)),
        }

    def variables(self, state, source="code"):
        table = super().variables(state, source)
        for name in ("tool_block_1", "tool_block_2", *_GOALS):
            del table[f"{name}/size"]
        table |= spaceless(table, list(_GOALS))  # in the spaces the tower moves them
        free, yaw = ([0, -np.pi, _EDGE], [0.15, np.pi, _EDGE]), ([0, 0, -np.pi], [0, 0, np.pi])
        table["goal_tower/cylindrical_position"] = variable(
            "m, rad, m", (3,), free, ([0, -np.pi, _EDGE], [0.11, np.pi, _EDGE]), ([0.11, -np.pi, _EDGE], [0.15, np.pi, _EDGE])
        )
        table["goal_tower/euler_orientation"] = variable("rad", (3,), yaw, yaw, yaw)
        return table

    def values(self, state: State) -> Changes:
        """The tower's middle is where its two goals meet."""
        middle = sum(state[name]["cartesian_position"] for name in _GOALS) / 2
        return {
            "goal_tower/cylindrical_position": to_cylindrical(middle),
            "goal_tower/euler_orientation": to_turn(state[_GOALS[0]]["orientation"]),
        }

    def linked(self, changes: Changes, state: State) -> Changes:
        changes = dict(changes)
        position, turn = (changes.pop(f"goal_tower/{key}", None) for key in ("cylindrical_position", "euler_orientation"))
        for name, height in zip(_GOALS, (-_EDGE / 2, _EDGE / 2)):
            if position is not None and f"{name}/cylindrical_position" not in changes:
                changes.setdefault(f"{name}/cartesian_position", from_cylindrical(position) + (0, 0, height))
            if turn is not None and f"{name}/euler_orientation" not in changes:
                changes.setdefault(f"{name}/orientation", to_quaternion(turn))
        return changes

    def dense_terms(self, now: StepContext, before: StepContext) -> tuple[float, ...]:
        jerk = -now.jerk(before)
        if now.gap("tool_block_1", "goal_block_1") >= 0.02:
            approach = before.tip_distance("tool_block_1") - now.tip_distance("tool_block_1")
            way = before.gap("tool_block_1", "goal_block_1") - now.gap("tool_block_1", "goal_block_1")
            return approach, way, 0.0, 0.0, jerk
        flat, up = slice(0, 2), slice(2, 3)
        lift = before.gap("tool_block_2", "goal_block_2", up) - now.gap("tool_block_2", "goal_block_2", up)
        above = now.position("tool_block_2")[2] > now.position("goal_block_2")[2]
        return (
            before.tip_distance("tool_block_2") - now.tip_distance("tool_block_2"),
            0.0,
            0.0 if now.gap("tool_block_1", "tool_block_2", flat) < 0.005 else lift,
            before.gap("tool_block_1", "tool_block_2", flat) - now.gap("tool_block_1", "tool_block_2", flat) if above else 0.0,
            jerk,
        )

    def sample_goal(self, rng: np.random.Generator, state: State, space: str, source: str = "code") -> Changes:
        table = self.variables(state, source)
        paths = ("goal_tower/cylindrical_position", "goal_tower/euler_orientation")
        return {path: drawn(rng, table, path, space) for path in paths}
