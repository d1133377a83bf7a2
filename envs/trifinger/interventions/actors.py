"""Actors: who intervenes, and with what. Each draws a request for an environment from a space, by a given generator.

    GoalActor("a").request(env, rng)  ->  {"goal_block/cylindrical_position": ..., "goal_block/euler_orientation": ...}

by_area: positions uniform in the area of the space's ring; CausalWorld draws the radius uniformly, which crowds the middle.
An actor never applies its request; `Curriculum` and protocols do, and count refusals.
"""

from typing import Protocol

import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.interventions.interventions import applied
from envs.trifinger.scene.state import CUBE, GOAL, STATIC, of_type
from envs.trifinger.scene.variables import Variable
from envs.trifinger.tasks.task import Changes, by_area, drawn

_POSE = ("cylindrical_position", "euler_orientation")


class Actor(Protocol):
    """request(env, rng) -> path -> value; env: an unwrapped TriFingerEnv that was reset."""

    def request(self, env, rng: np.random.Generator) -> Changes: ...


def free(table: dict[str, Variable], space: str) -> list[str]:
    """Paths of the variables that a space has."""
    return [path for path, variable in table.items() if variable.space(space) is not None]


def draw_all(env, rng: np.random.Generator, paths: list[str], space: str) -> Changes:
    """A value for each path. Sizes are drawn first, since they say where a block can stand."""
    table, state = env.variables(), env.state
    sizes = {path: drawn(rng, table, path, space) for path in paths if path.endswith("/size")}
    if sizes:
        table = env.task.variables(applied(state, env.task.linked(sizes, state)), env.source)
    return sizes | {path: drawn(rng, table, path, space) for path in paths if path not in sizes}


class GoalActor:
    """A new goal, as the task samples them."""

    def __init__(self, space: str = "a", by_area: bool = False) -> None:
        self._space, self._by_area = space, by_area

    def request(self, env, rng: np.random.Generator) -> Changes:
        drawn_goal = env.task.sample_goal(rng, env.state, self._space, env.source)
        return by_area(drawn_goal, env.variables(), self._space) if self._by_area else drawn_goal


class DrawingActor:
    """Draws the variables that `chosen` picks from all that the space has; what the actors below share."""

    def __init__(self, space: str = "a", by_area: bool = False) -> None:
        self._space, self._by_area = space, by_area

    def chosen(self, env, rng: np.random.Generator, paths: list[str]) -> list[str]:
        raise NotImplementedError

    def request(self, env, rng: np.random.Generator) -> Changes:
        values = draw_all(env, rng, self.chosen(env, rng, free(env.variables(), self._space)), self._space)
        return by_area(values, env.variables(), self._space) if self._by_area else values


class VariablesActor(DrawingActor):
    """The variables named, by paths or by the beginnings of paths ("tool_block", "robot_finger_60_link_2/mass")."""

    def __init__(self, names: list[str], space: str = "a", by_area: bool = False) -> None:
        super().__init__(space, by_area)
        self._names = list(names)

    def chosen(self, env, rng, paths):
        found = []
        for name in self._names:
            matching = [path for path in paths if path == name or path.startswith(name + "/")]
            if not matching:
                raise Problem(f"space {self._space} of {env.task.name} has no variable '{name}': {nearest(name, paths)}")
            found += matching
        return list(dict.fromkeys(found))


class RandomActor(DrawingActor):
    """Every variable of the space but the joints; a coin says whether sizes or poses are left out."""

    def chosen(self, env, rng, paths):
        left_out = _POSE if rng.random() < 0.5 else ("size",)
        rebuilt = of_type(env.state, CUBE, STATIC, GOAL) if env.task.family else []  # gone before they could be set
        matching = [path for path in paths if path != "joint_positions" and path.partition("/")[0] not in rebuilt]
        return [path for path in matching if path.rpartition("/")[2] not in left_out]


class VisualActor(DrawingActor):
    """All colours."""

    def chosen(self, env, rng, paths):
        return [path for path in paths if path.endswith("color")]


class PhysicalActor(DrawingActor):
    """Masses and frictions of what begins with `group` ("" is everything), and sizes where sizes=True."""

    def __init__(self, group: str = "", space: str = "a", sizes: bool = False) -> None:
        super().__init__(space)
        self._group, self._kinds = group, ("/mass", "_friction", "/size") if sizes else ("/mass", "_friction")

    def chosen(self, env, rng, paths):
        found = [path for path in paths if path.startswith(self._group) and path.endswith(self._kinds)]
        if not found:
            raise Problem(f"nothing that begins with '{self._group}' has a mass or a friction in space {self._space}")
        return found


class PoseActor(DrawingActor):
    """Positions and orientations of the movable blocks."""

    def __init__(self, positions: bool = True, orientations: bool = True, space: str = "a", by_area: bool = False) -> None:
        super().__init__(space, by_area)
        self._keys = [key for key, wanted in zip(_POSE, (positions, orientations)) if wanted]

    def chosen(self, env, rng, paths):
        blocks = of_type(env.state, CUBE)
        return [path for path in paths if path.partition("/")[0] in blocks and path.rpartition("/")[2] in self._keys]


class JointsActor:
    """Joints whose tips are at three positions drawn uniformly from the arena's box."""

    def request(self, env, rng: np.random.Generator) -> Changes:
        tips = rng.uniform([-0.15, -0.15, 0.03], [0.15, 0.15, 0.3], (3, 3))
        low, high = env.variables()["joint_positions"].bounds
        return {"joint_positions": np.clip(env.joints_for(tips), low, high)}
