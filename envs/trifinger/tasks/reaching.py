"""Reaching: one target for each finger tip, shown as a small sphere."""

import numpy as np

from envs.bodies.rotations import from_cylindrical
from envs.trifinger.robot.robot import FINGERS
from envs.trifinger.scene.state import STATIC, State, goal, obstacle, of_type
from envs.trifinger.scene.variables import ARENA_HIGH, ARENA_LOW, Variable, variable
from envs.trifinger.tasks.task import STILL, Changes, StepContext, Task, by_area, drawn

_GOALS = tuple(f"goal_{finger}" for finger in FINGERS)
_COLORS = np.eye(3)  # red, green and blue, as the fingers are
_NEAR, _FAR = 0.01, 0.03  # metres of mean error: all is won, nothing is


class Reaching(Task):
    """Reference section 9.1, without the wrong sign in its reward. dense_weights: way, distance, effort, jerk.

    number_of_obstacles: black cubes of a centimetre that hang in the arena at random positions; more join the present ones.
    """

    name = "reaching"
    dense_weights = (1e5, 0.0, 0.0, 0.0)
    revision = 1  # before, all goals were green
    family = {"number_of_obstacles": (0, variable("1", (), (0, 5), (1, 5), (1, 5), integer=True))}

    def objects(self) -> State:
        goals = {
            name: goal((0, 0, height), 0.03, color=color, sphere=True)
            for name, height, color in zip(_GOALS, (0.10, 0.13, 0.16), _COLORS)
        }
        return {"number_of_obstacles": np.array(0.0), **goals}

    def variables(self, state: State, source: str = "code") -> dict[str, Variable]:
        return super().variables(state, source) | {name: known for name, (_, known) in self.family.items()}

    def rebuilt(self, state: State, changes: Changes, rng: np.random.Generator) -> State:
        count, there = int(changes["number_of_obstacles"]), of_type(state, STATIC)
        state = {k: v for k, v in state.items() if k not in there[count:]} | {"number_of_obstacles": np.array(float(count))}
        new = {f"obstacle_{i}": obstacle(rng.uniform(ARENA_LOW, ARENA_HIGH), 0.01) for i in range(len(there), count)}
        return state | new

    def seconds(self, state: State) -> float:
        return 5.0

    def features(self, state: State) -> list[tuple[str, tuple[str, ...]]]:
        return [(name, ("cartesian_position",)) for name in _GOALS] + [(name, STILL) for name in of_type(state, STATIC)]

    def achieved(self, now: StepContext) -> np.ndarray:
        """The tips, (3, 3)."""
        return now.tips

    def desired(self, state: State) -> np.ndarray:
        """Targets of the tips, (3, 3)."""
        return np.array([state[name]["cartesian_position"] for name in _GOALS])

    def measure(self, achieved: np.ndarray, desired: np.ndarray, method: str = "exact") -> float:
        """1 where the nine coordinates are off by a centimetre or less on average, 0 from three centimetres on."""
        error = float(np.abs(achieved - desired).mean())
        return 1 - (min(max(error, _NEAR), _FAR) - _NEAR) / (_FAR - _NEAR)

    def _error(self, moment: StepContext) -> np.ndarray:
        return self.achieved(moment) - self.desired(moment.state)

    def dense_terms(self, now: StepContext, before: StepContext) -> tuple[float, ...]:
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
        paths = [f"{name}/cylindrical_position" for name in _GOALS]
        positions = by_area({path: drawn(rng, table, path, space) for path in paths}, table, space)
        return {f"{name}/cartesian_position": from_cylindrical(positions[path]) for name, path in zip(_GOALS, paths)}
