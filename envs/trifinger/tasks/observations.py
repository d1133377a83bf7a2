"""The structured observation: one vector in CausalWorld's order and normalisation (reference section 4).

Robot first (time left 1, joint positions 9, joint velocities 9, tips 9), then the objects in the task's order, each with its
features, then what the user adds. Normalised, a feature goes from its low and high to -1 and 1 and is not cut; `type` and the
user's own stay as they are.
"""

from collections.abc import Callable, Mapping

import numpy as np

from envs.problem import Problem
from envs.trifinger.robot.robot import JOINTS_HIGH, JOINTS_LOW, TIPS_HIGH, TIPS_LOW
from envs.trifinger.scene.state import State

_ROBOT = {  # feature -> length, low, high
    "joint_positions": (9, JOINTS_LOW, JOINTS_HIGH),
    "joint_velocities": (9, -50.0, 50.0),
    "end_effector_positions": (9, TIPS_LOW, TIPS_HIGH),
}
_OBJECT = {
    "type": (1, 0.0, 0.0),  # low = high: passes as it is
    "size": (3, 0.03, 0.1),
    "cartesian_position": (3, TIPS_LOW[:3], TIPS_HIGH[:3]),
    "orientation": (4, -10.0, 10.0),
    "linear_velocity": (3, -0.5, 0.5),
    "angular_velocity": (3, -np.pi, np.pi),
}


class Extras:
    """The user's own observations: name -> function of a StepContext (see `tasks.task`) that gives finite numbers (n,)."""

    def __init__(self, functions: Mapping[str, Callable]) -> None:
        self._functions, self.names, self.widths = dict(functions), list(functions), {}

    def measure(self, now) -> None:
        """Learn how many numbers each has, from a first moment."""
        self.widths = {name: len(self._one(name, now)) for name in self.names}

    def of(self, now) -> list[np.ndarray]:
        """All of a moment. A Problem where one changed its length."""
        values = [self._one(name, now) for name in self.names]
        for name, value in zip(self.names, values):
            if len(value) != self.widths[name]:
                raise Problem(f"the extra observation '{name}' had {self.widths[name]} numbers at the start, now {len(value)}")
        return values

    def _one(self, name: str, now) -> np.ndarray:
        values = np.asarray(self._functions[name](now), float)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise Problem(f"the extra observation '{name}' must give finite numbers (n,), got {values!r}")
        return values


class Observer:
    """Makes the vector for a fixed list of objects. features: (object, names of its features), in order.

    extras: name -> how many numbers the user's own observation has.
    """

    def __init__(
        self, features: list[tuple[str, tuple[str, ...]]], seconds: float, normalized: bool, extras: Mapping[str, int]
    ) -> None:
        self.features, self._extras = features, extras
        parts = [(1, 0.0, seconds), *_ROBOT.values(), *(_OBJECT[key] for _, keys in features for key in keys)]
        parts += [(width, 0.0, 0.0) for width in extras.values()]
        self.low = np.concatenate([np.broadcast_to(np.asarray(low, float), n) for n, low, _ in parts])
        self.high = np.concatenate([np.broadcast_to(np.asarray(high, float), n) for n, _, high in parts])
        raw = self.low == self.high
        self._scale = np.where(raw | (not normalized), 1.0, 2 / np.where(raw, 1.0, self.high - self.low))
        self._shift = np.where(raw | (not normalized), 0.0, -1 - self.low * self._scale)

    def __len__(self) -> int:
        return len(self.low)

    def names(self) -> list[str]:
        """What each entry is: 'tool_block/size/2'."""
        return [f"{name}/{i}" if n > 1 else name for name, n in self._parts() for i in range(n)]

    def _parts(self) -> list[tuple[str, int]]:
        """Names and lengths, in order."""
        robot = [("time_left", 1), *((key, n) for key, (n, _, _) in _ROBOT.items())]
        objects = [(f"{name}/{key}", _OBJECT[key][0]) for name, keys in self.features for key in keys]
        return [*robot, *objects, *self._extras.items()]

    def named(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        """The parts of an observation in their units: 'tool_block/size' -> (3,) metres."""
        raw = (np.asarray(observation, float) - self._shift) / self._scale
        parts, start = {}, 0
        for name, width in self._parts():
            parts[name] = raw[start : start + width]
            start += width
        return parts

    def observe(self, state: State, tips: np.ndarray, seconds_left: float, extras: list[np.ndarray]) -> np.ndarray:
        """-> (len(self),) float64"""
        parts = [(seconds_left,), state["joint_positions"], state["joint_velocities"], tips.ravel()]
        for name, keys in self.features:
            thing = state[name]
            parts += [thing[key] if thing[key].ndim else thing[key][None] for key in keys]
        return np.concatenate(parts + extras) * self._scale + self._shift
