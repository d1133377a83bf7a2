"""Family: tasks whose variables say how many blocks there are; setting one builds all objects anew."""

import numpy as np

from envs.bodies.rotations import to_quaternion
from envs.problem import Problem
from envs.trifinger.robot.robot import RAISED
from envs.trifinger.scene.state import CUBE, GOAL, STATIC, State, block, goal, of_type
from envs.trifinger.scene.variables import Variable
from envs.trifinger.tasks.task import BLOCK, STILL, Changes, Task, drawn, spaceless

APART = {"blocks_mass", "number_of_obstacles"}  # variables of families that leave the blocks where they are


class Family(Task):
    """Only the filled share of the goals is rewarded. `family`: name -> (default value, Variable). The fingers start raised;
    in CausalWorld two of the four start at rest, and inside their own blocks.

    The values stand in the state under their names, beside the objects that were built of them.
    """

    fractional_weight = 1.0
    start_pose = RAISED
    family: dict[str, tuple[object, Variable]]

    def __init__(self, **values) -> None:
        known = ", ".join(self.family)
        for name in values:
            if name not in self.family:
                raise TypeError(f"it has no parameter '{name}', only {known}")
        self._values = {name: self._checked(name, values.get(name, default)) for name, (default, _) in self.family.items()}

    def _checked(self, name: str, value) -> np.ndarray:
        known, value = self.family[name][1], np.array(value, float)
        low, high = known.bounds
        if value.shape != known.shape or not ((low <= value) & (value <= high)).all():
            raise Problem(f"{name} of {self.name} must have shape {known.shape} and lie within {low} to {high}, got {value}")
        if known.integer and (value != np.round(value)).any():
            raise Problem(f"{name} of {self.name} must be whole numbers, got {value}")
        return value

    def objects(self) -> State:
        return {**self._values, **self.build(self._values, None)}

    def build(self, values: Changes, rng: np.random.Generator | None) -> State:
        """Objects for values of the family's variables; rng None = the default scene."""
        raise NotImplementedError

    def rebuilt(self, state: State, changes: Changes, rng: np.random.Generator) -> State:
        """The state with other values of the family's variables. Other masses or obstacles alone leave all else where it is."""
        values = {name: np.array(changes.get(name, state[name]), float) for name in self.family}
        if changes.keys() <= APART:
            blocks = {name: {**state[name], "mass": values["blocks_mass"]} for name in of_type(state, CUBE)}
            state = {**state, **values, **(blocks if "blocks_mass" in changes else {})}
            return self.with_obstacles(state, int(values.get("number_of_obstacles", 0)), rng)
        gone = set(of_type(state, CUBE, STATIC, GOAL))
        return {**{k: v for k, v in state.items() if k not in gone}, **values, **self.build(values, rng)}

    def new_obstacle(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """One of `number_of_obstacles`, at a position drawn by chance."""
        raise NotImplementedError

    def with_obstacles(self, state: State, count: int, rng: np.random.Generator) -> State:
        """The state with so many obstacles: more come to those that are there, or the last ones go."""
        there = of_type(state, STATIC)
        state = {name: value for name, value in state.items() if name not in there[count:]}
        return state | {f"obstacle_{i}": self.new_obstacle(rng) for i in range(len(there), count)}

    def variables(self, state: State, source: str = "code") -> dict[str, Variable]:
        """Blocks and goals have no size of their own, the family's variables say it; positions of goals are in no space."""
        table = super().variables(state, source)
        for name in of_type(state, CUBE, GOAL):
            del table[f"{name}/size"]
        table |= spaceless(table, of_type(state, GOAL))
        return table | {name: variable for name, (_, variable) in self.family.items()}

    def features(self, state: State) -> list[tuple[str, tuple[str, ...]]]:
        """Block and goal in turn."""
        pairs = []
        for name in of_type(state, CUBE):
            aim = name.replace("tool", "goal", 1)
            pairs += [(name, BLOCK), (aim, STILL)] if aim in state else [(name, BLOCK)]
        return pairs + [(name, STILL) for name in of_type(state, STATIC)]

    def sample_goal(self, rng: np.random.Generator, state: State, space: str, source: str = "code") -> Changes:
        table = self.variables(state, source)
        return {name: drawn(rng, table, name, space) for name in self.family if table[name].space(space) is not None}


def tools_and_goals(
    names: list[str], sizes: np.ndarray, tools: np.ndarray, goals: np.ndarray, mass: float, turns=None
) -> State:
    """tool_<name> and goal_<name> for every name; goals: positions (n, 3), nan = this block has no goal."""
    turns = np.zeros(len(names)) if turns is None else turns
    state = {}
    for name, size, position, turn in zip(names, sizes, tools, turns):
        state[f"tool_{name}"] = block(position, size, mass, orientation=to_quaternion([0, 0, turn]))
    known = [(name, size, at) for name, size, at in zip(names, sizes, goals) if np.isfinite(at).all()]
    return state | {f"goal_{name}": goal(at, size) for name, size, at in known}
