"""Actors: who intervenes, and with what. Each makes wishes for an environment, drawn from a space by a generator it is given.

    GoalActor("a").wish(env, rng)  ->  {"goal_block/cylindrical_position": ..., "goal_block/euler_orientation": ...}

An actor never applies its wish; `Curriculum` and protocols do, and count what was refused.
"""

from typing import Protocol

import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.interventions import applied
from envs.trifinger.state import CUBE, GOAL, STATIC, of_type
from envs.trifinger.tasks.task import Changes, drawn
from envs.trifinger.variables import Variable

_PLACES = ("cylindrical_position", "euler_orientation")


class Actor(Protocol):
    """wish(env, rng) -> path -> value; env: an unwrapped TriFingerEnv that was reset."""

    def wish(self, env, rng: np.random.Generator) -> Changes: ...


def free(table: dict[str, Variable], space: str) -> list[str]:
    """Paths of the variables that a space has."""
    return [path for path, variable in table.items() if variable.space(space) is not None]


def draw_all(env, rng: np.random.Generator, paths: list[str], space: str) -> Changes:
    """A value for each path. Sizes are drawn first, since they say where a block can stand."""
    sizes = {path: drawn(rng, env.variables(), path, space) for path in paths if path.endswith("/size")}
    linked = env.task.linked(sizes, env.state)
    table = env.task.variables(applied(env.state, linked), env.source)
    return sizes | {path: drawn(rng, table, path, space) for path in paths if path not in sizes}


class GoalActor:
    """A new goal, as the task samples them."""

    def __init__(self, space: str = "a") -> None:
        self._space = space

    def wish(self, env, rng: np.random.Generator) -> Changes:
        return env.task.sample_goal(rng, env.state, self._space, env.source)


class VariablesActor:
    """The variables named, by paths or by the beginnings of paths ("tool_block", "robot_finger_60_link_2/mass")."""

    def __init__(self, names: list[str], space: str = "a") -> None:
        self._names, self._space = list(names), space

    def wish(self, env, rng: np.random.Generator) -> Changes:
        table = env.variables()
        paths = []
        for name in self._names:
            found = [path for path in free(table, self._space) if path == name or path.startswith(name + "/")]
            if not found:
                known = nearest(name, free(table, self._space))
                raise Problem(f"space {self._space} of {env.task.name} has no variable '{name}': {known}")
            paths += found
        return draw_all(env, rng, list(dict.fromkeys(paths)), self._space)


class RandomActor:
    """Every variable of the space but the joints; a coin says whether sizes or places are among them."""

    def __init__(self, space: str = "a") -> None:
        self._space = space

    def wish(self, env, rng: np.random.Generator) -> Changes:
        left_out = _PLACES if rng.random() < 0.5 else ("size",)
        rebuilt = of_type(env.state, CUBE, STATIC, GOAL) if env.task.family else []  # gone before they could be set
        paths = [p for p in free(env.variables(), self._space) if p.partition("/")[0] not in rebuilt]
        return draw_all(
            env, rng, [p for p in paths if p != "joint_positions" and p.rpartition("/")[2] not in left_out], self._space
        )


class VisualActor:
    """All colours."""

    def __init__(self, space: str = "a") -> None:
        self._space = space

    def wish(self, env, rng: np.random.Generator) -> Changes:
        return draw_all(env, rng, [path for path in free(env.variables(), self._space) if path.endswith("color")], self._space)


class PhysicalActor:
    """Masses of the objects and links whose names begin with `group`; of floor and stage the friction."""

    def __init__(self, group: str, space: str = "a") -> None:
        self._group, self._space = group, space

    def wish(self, env, rng: np.random.Generator) -> Changes:
        names = [path for path in free(env.variables(), self._space) if path.startswith(self._group)]
        paths = [path for path in names if path.endswith(("/mass", "_friction"))]
        if not paths:
            raise Problem(f"nothing that begins with '{self._group}' has a mass or a friction in space {self._space}")
        return draw_all(env, rng, paths, self._space)


class PoseActor:
    """Places and turns of the movable blocks."""

    def __init__(self, positions: bool = True, orientations: bool = True, space: str = "a") -> None:
        self._keys = [key for key, wanted in zip(_PLACES, (positions, orientations)) if wanted]
        self._space = space

    def wish(self, env, rng: np.random.Generator) -> Changes:
        blocks = of_type(env.state, CUBE)
        paths = [path for path in free(env.variables(), self._space) if path.partition("/")[0] in blocks]
        return draw_all(env, rng, [path for path in paths if path.rpartition("/")[2] in self._keys], self._space)


class JointsActor:
    """Joints whose tips are at three places drawn uniformly from the arena's box."""

    def wish(self, env, rng: np.random.Generator) -> Changes:
        tips = rng.uniform([-0.15, -0.15, 0.03], [0.15, 0.15, 0.3], (3, 3))
        low, high = env.variables()["joint_positions"].bounds
        return {"joint_positions": np.clip(env.joints_for(tips), low, high)}
