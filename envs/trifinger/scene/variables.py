"""Every causal variable of a scene: unit, shape, bounds, and the two spaces, A for training and B for tests.

A variable is named by its path: "gravity", "tool_block/size", "robot_finger_60_link_2/mass". The table depends on the state
in one way: the lowest place of a block is half its height.

source: "code" = the spaces of CausalWorld's code; "paper" = those of its Table 2, where colours of blocks, goals and floor are
swapped between A and B and gravity has spaces (arXiv 2010.04296 appendix C; reference section 13).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.robot.robot import JOINTS_HIGH, JOINTS_LOW, LINKS
from envs.trifinger.scene.state import CUBE, GOAL, GOAL_SPHERE, STATIC, State, of_type

SOURCES = ("code", "paper")
SPACES = ("a", "b", "ab")
ARENA_LOW, ARENA_HIGH = np.array([-0.15, -0.15, 0.0]), np.array([0.15, 0.15, 0.3])  # metres, z from the floor
Range = tuple[np.ndarray, np.ndarray]  # closed, lowest and highest


@dataclass(frozen=True)
class Variable:
    """bounds: what is possible at all.  a, b: the spaces; None = no space has it, only bounds."""

    unit: str
    bounds: Range
    a: Range | None = None
    b: Range | None = None
    integer: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.bounds[0].shape

    def space(self, name: str) -> Range | None:
        """a | b | ab (the hull of both); None where the variable has none."""
        if name not in SPACES:
            raise Problem(f"there is no space '{name}': {nearest(str(name), SPACES)}")
        if name != "ab" or self.a is None or self.b is None:
            return self.b if name == "b" or (name == "ab" and self.a is None) else self.a
        return np.minimum(self.a[0], self.b[0]), np.maximum(self.a[1], self.b[1])

    def only(self, a, b=None) -> "Variable":
        """The same variable in other spaces; each (low, high), b like a unless given."""
        a = _range(*a, self.shape)
        return replace(self, a=a, b=_range(*b, self.shape) if b is not None else a)


def _range(low, high, shape: tuple[int, ...]) -> Range:
    low, high = np.asarray(low, float), np.asarray(high, float)
    return (low if low.shape == shape else np.full(shape, low)), (high if high.shape == shape else np.full(shape, high))


def variable(unit: str, shape: tuple[int, ...], bounds, a=None, b=None, integer: bool = False) -> Variable:
    """Each of bounds, a, b: (low, high), numbers or arrays that broadcast to the shape."""
    return Variable(unit, *(None if x is None else _range(*x, shape) for x in (bounds, a, b)), integer)


_JOINTS_MIDDLE = np.array([-0.69, 0.0, 0.0] * 3)  # where space A ends and B begins


@lru_cache
def arena_variables(source: str = "code") -> dict[str, Variable]:
    """Robot, floor, wall and gravity: those of every task."""
    dark, bright = (0.0, 0.5), (0.5, 1.0)
    paper = source == "paper"
    table = {
        "joint_positions": variable(
            "rad", (9,), (JOINTS_LOW, JOINTS_HIGH), (JOINTS_LOW, _JOINTS_MIDDLE), (_JOINTS_MIDDLE, JOINTS_HIGH)
        ),
        "joint_velocities": variable("rad/s", (9,), (-50, 50)),
        "gravity": variable(
            "m/s^2", (3,), (-20, 20),
            ([0, 0, -10], [0, 0, -7]) if paper else None, ([0, 0, -7], [0, 0, -4]) if paper else None,
        ),
        "floor_friction": variable("1", (), (0, 10), (0.3, 0.6), (0.6, 0.8)),
        "stage_friction": variable("1", (), (0, 10), (0.3, 0.6), (0.6, 0.8)),
        "finger_friction": variable("1", (), (0, 10)),  # CausalWorld cannot set it, so it is in no space
        "floor_color": variable("rgb", (3,), (0, 1), *((dark, bright) if paper else (bright, dark))),
        "stage_color": variable("rgb", (3,), (0, 1), dark, bright),
    }  # fmt: skip
    for link in LINKS:
        table[f"{link}/mass"] = variable("kg", (), (1e-3, 2), (0.015, 0.045), (0.045, 0.1))
        table[f"{link}/color"] = variable("rgb", (3,), (0, 1), dark, bright)
    return table


def object_variables(name: str, thing: Mapping[str, np.ndarray], source: str = "code") -> dict[str, Variable]:
    """Of one object of the state; tasks narrow them."""
    table = _object_table(int(thing["type"]), float(thing["size"][2]), source)
    return {f"{name}/{key}": value for key, value in table.items()}


@lru_cache(256)
def _object_table(kind: int, height: float, source: str) -> dict[str, Variable]:
    dark, bright = (0.0, 0.5), (0.5, 1.0)
    low, high = ARENA_LOW, ARENA_HIGH
    table = {"color": variable("rgb", (3,), (0, 1), *((dark, bright) if source == "paper" else (bright, dark)))}
    if kind == STATIC:
        table["cartesian_position"] = variable("m", (3,), ([-0.5, -0.5, 0], [0.5, 0.5, 0.5]))
        table["size"] = variable("m", (3,), (0.005, 0.6))
        table["friction"] = variable("1", (), (0, 10))
        return table
    table["cartesian_position"] = variable("m", (3,), (low, high))
    table["cylindrical_position"] = variable(
        "m, rad, m", (3,), ([0, -np.pi, 0], [np.hypot(0.15, 0.15), np.pi, 0.3]),
        ([0, -np.pi, height / 2], [0.11, np.pi, 0.15]), ([0.11, -np.pi, height / 2], [0.15, np.pi, 0.3]),
    )  # fmt: skip
    table["orientation"] = variable("quaternion xyzw", (4,), (-1, 1))
    yaw = ([0, 0, -np.pi], [0, 0, np.pi])
    table["euler_orientation"] = variable("rad", (3,), (-np.pi, np.pi), yaw, yaw)
    if kind == GOAL_SPHERE:
        table["size"] = variable("m", (3,), (0.01, 0.1))
    else:
        table["size"] = variable("m", (3,), (0.01, 0.2), (0.055, 0.075), (0.075, 0.095))
    if kind == CUBE:
        table["mass"] = variable("kg", (), (1e-3, 2), (0.015, 0.045), (0.045, 0.1))
        table["friction"] = variable("1", (), (0, 10))
        table["linear_velocity"] = variable("m/s", (3,), (-5, 5))
        table["angular_velocity"] = variable("rad/s", (3,), (-50, 50))
    return table


def scene_variables(state: State, source: str = "code") -> dict[str, Variable]:
    """All variables of a scene as they are before a task narrows them."""
    if source not in SOURCES:
        raise Problem(f"there is no source '{source}' of the spaces: {nearest(str(source), SOURCES)}")
    table = dict(arena_variables(source))
    for name in of_type(state, CUBE, STATIC, GOAL, GOAL_SPHERE):
        table |= object_variables(name, state[name], source)
    return table


def as_json(table: Mapping[str, Variable]) -> str:
    """The table for machines: path -> unit, shape, integer, bounds, a, b (null = in no space)."""

    def pair(given: Range | None):
        return None if given is None else [np.round(x, 6).tolist() for x in given]

    rows = {
        path: {"unit": v.unit, "shape": list(v.shape), "integer": v.integer, "bounds": pair(v.bounds),
               "a": pair(v.a), "b": pair(v.b)}
        for path, v in table.items()
    }  # fmt: skip
    return json.dumps(rows, indent=1)
