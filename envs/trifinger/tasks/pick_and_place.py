"""Pick and place: one block, its goal on the floor beyond a wall."""

import numpy as np

from envs.trifinger.scene.state import State, block, goal, obstacle
from envs.trifinger.tasks.task import Changes, StepContext, Task, drawn, grounded, same_size

_LIFT = 0.15  # metres: how high the block should go while the wall is between it and the goal
_NEAR, _FAR = {"a": 0.07, "b": 0.12}, {"a": 0.12, "b": 0.15}  # metres from the middle
_SECTOR = (np.pi / 6, 5 * np.pi / 6)


class PickAndPlace(Task):
    """Reference section 9.4. dense_weights: approach, way along the floor, way up or down, turn, jerk.

    Differs from CausalWorld: the goal's sector is not upside down there (its bounds refuse every goal in a fresh
    environment, section 14 j), the block stays on its own side of the wall, and the goal on the other. The jerk is from one
    step to the next; there from the joint velocities at the reset, which nothing updates.
    """

    name = "pick_and_place"
    dense_weights = (750.0, 50.0, 250.0, 0.0, 0.005)
    fractional_weight = 0.0
    revision = 1  # before, the step over the wall cost all that the lift had won

    def objects(self) -> State:
        return {
            "tool_block": block((0, -0.09, 0.0325)),
            "goal_block": goal((0, 0.09, 0.0325)),
            "obstacle": obstacle((0, 0, 0.0325), (0.5, 0.015, 0.065)),
        }

    def variables(self, state, source="code"):
        table = super().variables(state, source)
        side = _side(state, "tool_block")
        for name, where in (("tool_block", side), ("goal_block", -side)):
            path, z = f"{name}/cylindrical_position", state[name]["size"][2] / 2
            phi = sorted(where * angle for angle in _SECTOR)
            spaces = (((_NEAR[s], phi[0], z), (_FAR[s], phi[1], z)) for s in "ab")
            table[path] = table[path].only(*spaces)
        wall = table["obstacle/size"]
        table["obstacle/size"] = wall.only(((0.5, 0.015, 0.02), (0.5, 0.015, 0.065)), ((0.5, 0.015, 0.065), (0.5, 0.015, 0.1)))
        return table

    def linked(self, changes: Changes, state: State) -> Changes:
        return grounded(same_size(changes), state, "tool_block", "goal_block", "obstacle")

    def conflicts(self, given: Changes, before: State, after: State) -> list[str]:
        """A block that goes over the wall alone would be where its goal is: outside what `variables` said before."""
        with_goal = {"goal_block/cylindrical_position", "goal_block/cartesian_position"} & given.keys()
        over, side = _side(before, "tool_block") != _side(after, "tool_block"), _side(after, "tool_block")
        if with_goal or not over or side != _side(after, "goal_block"):
            return []
        return ["tool_block would be on its goal's side of the wall; give goal_block a position beyond the wall, too"]

    def dense_terms(self, now: StepContext, before: StepContext) -> tuple[float, ...]:
        flat, tool, aim = slice(0, 2), now.position("tool_block"), now.position("goal_block")
        # One target for both moments, as in CausalWorld: with one each, the step over the wall would cost all that was won.
        target = _LIFT if np.sign(tool[1]) != np.sign(aim[1]) else now.state["goal_block"]["size"][2] / 2

        def height(moment: StepContext) -> float:
            return abs(float(moment.position("tool_block")[2] - target))

        return (
            before.tip_distance("tool_block") - now.tip_distance("tool_block"),
            before.gap("goal_block", "tool_block", flat) - now.gap("goal_block", "tool_block", flat),
            height(before) - height(now),
            before.turn("goal_block", "tool_block") - now.turn("goal_block", "tool_block"),
            -now.jerk(before),
        )

    def sample_goal(self, rng: np.random.Generator, state: State, space: str, source: str = "code") -> Changes:
        """The block on a side drawn by a coin, at rho .09 or where the space begins; the goal anywhere beyond the wall."""
        side = rng.choice([-1.0, 1.0])
        low, high = self.variables(state, source)["tool_block/cylindrical_position"].space(space)
        start = np.array([0.0, side * np.clip(0.09, low[0], high[0]), state["tool_block"]["size"][2] / 2])
        moved = {**state, "tool_block": {**state["tool_block"], "cartesian_position": start}}
        table = self.variables(moved, source)
        paths = ("goal_block/cylindrical_position", "goal_block/euler_orientation")
        return {"tool_block/cartesian_position": start} | {path: drawn(rng, table, path, space) for path in paths}


def _side(state: State, name: str) -> float:
    """Of the wall: 1 where y > 0, else -1."""
    return 1.0 if state[name]["cartesian_position"][1] > 0 else -1.0
