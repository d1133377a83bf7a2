"""Pushing: one block, its goal on the floor."""

import numpy as np

from envs.trifinger.scene.state import State, block, goal
from envs.trifinger.tasks.task import Changes, StepContext, Task, drawn, grounded, on_floor, same_size


class Pushing(Task):
    """Reference section 9.2. dense_weights: approach, way to the goal, turn (the paper has no third term)."""

    name = "pushing"
    dense_weights = (750.0, 250.0, 100.0)

    def objects(self) -> State:
        return {"tool_block": block((0, -0.08, 0.0325)), "goal_block": goal((0, 0.08, 0.0325))}

    def variables(self, state, source="code"):
        table = super().variables(state, source)
        for name in ("tool_block", "goal_block"):
            path = f"{name}/cylindrical_position"
            table[path] = on_floor(table[path], state[name]["size"][2])
        return table

    def linked(self, changes: Changes, state: State) -> Changes:
        return grounded(same_size(changes), state, "tool_block", "goal_block")

    def dense_terms(self, now: StepContext, before: StepContext) -> tuple[float, ...]:
        return (
            before.tip_distance("tool_block") - now.tip_distance("tool_block"),
            before.gap("goal_block", "tool_block") - now.gap("goal_block", "tool_block"),
            before.turn("goal_block", "tool_block") - now.turn("goal_block", "tool_block"),
        )

    def sample_goal(self, rng: np.random.Generator, state: State, space: str, source: str = "code") -> Changes:
        table = self.variables(state, source)
        paths = ("goal_block/cylindrical_position", "goal_block/euler_orientation")
        return {path: drawn(rng, table, path, space) for path in paths}
