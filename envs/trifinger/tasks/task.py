"""Task: the interface of every task, small enough that a user's own fits on one page.

A task says which objects there are, which of their variables may be set within which spaces, what a change brings with it,
what is observed and what is rewarded. It keeps nothing between steps: everything is in the state.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from envs.bodies.rotations import angle_between
from envs.trifinger.robot.robot import REST
from envs.trifinger.scene.overlap import overlap
from envs.trifinger.scene.state import CUBE, GOAL, GOAL_SPHERE, STATIC, State, boxes, of_type
from envs.trifinger.scene.variables import Variable, scene_variables

Changes = dict[str, np.ndarray]  # path of a variable -> value
BLOCK = ("type", "size", "cartesian_position", "orientation", "linear_velocity", "angular_velocity")
STILL = ("type", "size", "cartesian_position", "orientation")


@dataclass(frozen=True)
class StepContext:
    """The input of rewards. tips (3, 3) metres from the floor; torques (9,) of the last time step.

    Distances are of plain floats, in every step of every episode: numpy's norm of three numbers takes four times as long.
    """

    state: State
    tips: np.ndarray
    torques: np.ndarray

    def tip_distance(self, name: str) -> float:
        """Frobenius norm of the tips minus an object's position."""
        return math.hypot(*(self.tips - self.position(name)).ravel().tolist())

    def position(self, name: str) -> np.ndarray:
        return self.state[name]["cartesian_position"]

    def turn(self, a: str, b: str) -> float:
        """Angle between two objects, radians."""
        return angle_between(self.state[a]["orientation"], self.state[b]["orientation"])

    def jerk(self, before: "StepContext") -> float:
        """Norm of what the joint velocities changed by since another moment."""
        return math.dist(self.state["joint_velocities"].tolist(), before.state["joint_velocities"].tolist())

    def gap(self, a: str, b: str, axes: slice = slice(None)) -> float:
        """Distance of two objects, along the axes given."""
        return math.dist(self.position(a)[axes].tolist(), self.position(b)[axes].tolist())


class Task:
    """Base of all tasks; subclasses override what differs."""

    name: str
    dense_weights: tuple[float, ...] = ()
    fractional_weight: float = 1.0
    start_pose: np.ndarray = REST
    family: Mapping[str, tuple] = {}  # variables that say how many objects there are (see tasks/family.py)
    revision: int = 0  # one more with every change of rewards, objects or their order; headers of data name it from 1 on

    def objects(self) -> State:
        """Blocks, obstacles and goals as they start, in the order in which they are observed."""
        raise NotImplementedError

    def seconds(self, state: State) -> float:
        """Time limit: ten seconds for every rigid object."""
        return 10.0 * len(of_type(state, CUBE, STATIC))

    def variables(self, state: State, source: str = "code") -> dict[str, Variable]:
        """Path -> Variable: what may be set in this state, and the spaces A and B."""
        return scene_variables(state, source)

    def values(self, state: State) -> Changes:
        """Current values of variables that only this task has (those of the state need not be repeated)."""
        return {}

    def linked(self, changes: Changes, state: State) -> Changes:
        """The changes and all that they bring with them, in variables of the state."""
        return changes

    def conflicts(self, given: Changes, before: State, after: State) -> list[str]:
        """Why values that lie in the active space are refused beside what stays as it was. before, after: the change."""
        return []

    def rebuilt(self, state: State, changes: Changes, rng: np.random.Generator) -> State:
        """The state with other values of `family` variables: objects may come and go. Only families have any."""
        return state

    def features(self, state: State) -> list[tuple[str, tuple[str, ...]]]:
        """Objects in the order of the observation, each with its features: blocks, then goals, then obstacles."""
        blocks = [(name, BLOCK) for name in of_type(state, CUBE)]
        return blocks + [(name, STILL) for name in of_type(state, GOAL, GOAL_SPHERE) + of_type(state, STATIC)]

    def dense_terms(self, now: StepContext, before: StepContext) -> tuple[float, ...]:
        """One number for each of `dense_weights`."""
        return ()

    def achieved(self, now: StepContext) -> np.ndarray:
        """What is measured: the movable blocks, a row of ten each as `overlap` reads them."""
        return boxes(now.state, of_type(now.state, CUBE))

    def desired(self, state: State) -> np.ndarray:
        """What it is measured against: the goals, in the same way."""
        return boxes(state, of_type(state, GOAL))

    def measure(self, achieved: np.ndarray, desired: np.ndarray, method: str = "exact") -> float:
        """Fractional success, in [0, 1]: the filled share of the goals."""
        return overlap(achieved, desired, method)

    def fraction(self, now: StepContext, method: str = "exact") -> float:
        """Fractional success of a moment."""
        return self.measure(self.achieved(now), self.desired(now.state), method)

    def solved(self, fraction: float) -> bool:
        return fraction > 0.9

    def sample_goal(self, rng: np.random.Generator, state: State, space: str, source: str = "code") -> Changes:
        """A new goal drawn from a space (a | b | ab)."""
        raise NotImplementedError


def drawn(rng: np.random.Generator, table: Mapping[str, Variable], path: str, space: str) -> np.ndarray:
    """One value of a variable, uniform in its space, component by component."""
    variable = table[path]
    low, high = variable.space(space)
    return rng.integers(low, high + 1) if variable.integer else rng.uniform(low, high)


def by_area(changes: Changes, table: Mapping[str, Variable], space: str) -> Changes:
    """Positions drawn uniformly along the radius, as CausalWorld's are, become uniform in the area of their ring."""
    changes = dict(changes)
    for path in changes:
        if path.endswith("/cylindrical_position"):
            (low, *_), (high, *_) = table[path].space(space)
            rho, *rest = changes[path]
            share = (rho - low) / (high - low) if high > low else 0.0
            changes[path] = np.array([math.sqrt(low**2 + share * (high**2 - low**2)), *rest])
    return changes


def spaceless(table: Mapping[str, Variable], names: list[str]) -> dict[str, Variable]:
    """Positions and orientations of these objects, by all their names, in no space: they can be set only where space=None."""
    keys = ("cartesian_position", "cylindrical_position", "orientation", "euler_orientation")
    return {path: replace(table[path], a=None, b=None) for name in names for path in (f"{name}/{key}" for key in keys)}


def on_floor(variable: Variable, height: float) -> Variable:
    """A cylindrical position whose z is pinned to half the block's height."""

    def pinned(given):
        low, high = given[0].copy(), given[1].copy()
        low[2] = high[2] = height / 2
        return low, high

    return variable.only(pinned(variable.a), pinned(variable.b))


def grounded(changes: Changes, state: State, *names: str) -> Changes:
    """An object that gets another size and no position is put on the floor."""
    changes = dict(changes)
    for name in names:
        size = changes.get(f"{name}/size")
        if size is not None and not {f"{name}/cylindrical_position", f"{name}/cartesian_position"} & changes.keys():
            x, y, _ = state[name]["cartesian_position"]
            changes[f"{name}/cartesian_position"] = np.array([x, y, size[2] / 2])
    return changes


def same_size(changes: Changes) -> Changes:
    """A size given for the block or its goal is the other's too; the goal's wins."""
    size = changes.get("goal_block/size", changes.get("tool_block/size"))
    return changes if size is None else {**changes, "goal_block/size": size, "tool_block/size": size}
