"""Reaching: one place for each finger tip, shown as a small sphere."""

import numpy as np

from envs.trifinger.geometry import from_cylindrical
from envs.trifinger.robot import FINGERS
from envs.trifinger.state import State, goal
from envs.trifinger.tasks.task import Changes, Moment, Task, drawn

_GOALS = tuple(f"goal_{finger}" for finger in FINGERS)
_NEAR, _FAR = 0.01, 0.03  # metres of mean error: all is won, nothing is


class Reaching(Task):
    """Reference section 9.1, without the sign fault of its reward. dense_weights: way, distance, effort, jerk."""

    name = "reaching"
    dense_weights = (1e5, 0.0, 0.0, 0.0)

    def objects(self) -> State:
        return {name: goal((0, 0, height), 0.03, sphere=True) for name, height in zip(_GOALS, (0.10, 0.13, 0.16))}

    def seconds(self, state: State) -> float:
        return 5.0

    def features(self, state: State) -> list[tuple[str, tuple[str, ...]]]:
        return [(name, ("cartesian_position",)) for name in _GOALS]

    def achieved(self, now: Moment) -> np.ndarray:
        """The tips, (3, 3)."""
        return now.tips

    def desired(self, state: State) -> np.ndarray:
        """Their places, (3, 3)."""
        return np.array([state[name]["cartesian_position"] for name in _GOALS])

    def measure(self, achieved: np.ndarray, desired: np.ndarray, method: str = "exact") -> float:
        """1 where the nine coordinates are off by a centimetre or less on average, 0 from three centimetres on."""
        error = float(np.abs(achieved - desired).mean())
        return 1 - (min(max(error, _NEAR), _FAR) - _NEAR) / (_FAR - _NEAR)

    def _error(self, moment: Moment) -> np.ndarray:
        return self.achieved(moment) - self.desired(moment.state)

    def dense_terms(self, now: Moment, before: Moment) -> tuple[float, ...]:
        distance = float(np.linalg.norm(self._error(now)))
        return (
            float(np.linalg.norm(self._error(before))) - distance,
            -distance,
            -float(np.linalg.norm(now.torques)),
            -now.jerk(before),
        )

    def solved(self, fraction: float) -> bool:
        return fraction >= 1.0

    def sample_goal(self, rng: np.random.Generator, state: State, space: str, source: str = "code") -> Changes:
        table = self.variables(state, source)
        drawn_places = (drawn(rng, table, f"{name}/cylindrical_position", space) for name in _GOALS)
        return {f"{name}/cartesian_position": from_cylindrical(place) for name, place in zip(_GOALS, drawn_places)}
