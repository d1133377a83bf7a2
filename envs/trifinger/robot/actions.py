"""Actions: nine numbers as joint positions, torques or positions of the tips, absolute or as a change of what there is."""

import gymnasium as gym
import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.robot.robot import JOINTS_HIGH, JOINTS_LOW, MAX_TORQUE, TIPS_HIGH, TIPS_LOW

LIMITS = {  # what nine numbers mean -> lowest, highest (radians; newton metres; metres, z from the floor)
    "joint_positions": (JOINTS_LOW, JOINTS_HIGH),
    "joint_torques": (np.full(9, -MAX_TORQUE), np.full(9, MAX_TORQUE)),
    "end_effector_positions": (TIPS_LOW, TIPS_HIGH),
}
MODES = (*LIMITS, *(f"delta_{mode}" for mode in LIMITS))


class Actions:
    """From what an agent says to the mode's units. clip: what lies outside is cut; otherwise it is refused."""

    def __init__(self, mode: str, normalized: bool, clip: bool) -> None:
        if mode not in MODES:
            raise Problem(f"there is no action_mode '{mode}': {nearest(str(mode), MODES)}")
        self.delta, self.meaning = mode.startswith("delta_"), mode.removeprefix("delta_")
        self._limits = low, high = LIMITS[self.meaning]
        self.low, self.high = ((low - high) / 2, (high - low) / 2) if self.delta else (low, high)  # the reference's change by 1
        self._normalized, self._clip = normalized, clip
        ends = (-np.ones(9), np.ones(9)) if normalized else (self.low, self.high)
        self.space = gym.spaces.Box(*(end.astype(np.float32) for end in ends), dtype=np.float32)

    def read(self, action, origin: np.ndarray) -> np.ndarray:
        """(9,) in the units of `meaning`, within its limits. origin (9,): what a delta adds to."""
        try:
            action = np.asarray(action, float)
        except (TypeError, ValueError):
            raise Problem(f"an action is nine numbers, three for each finger, got {action!r}") from None
        if action.shape != (9,):
            raise Problem(f"an action has 9 numbers, three for each finger, got shape {action.shape}")
        if not np.isfinite(action).all():
            raise Problem(f"an action must be finite, got {action.tolist()}")
        if self._normalized:
            action = self.low + (action + 1) / 2 * (self.high - self.low)
        if not self._clip and ((action < self.low - 1e-6) | (action > self.high + 1e-6)).any():
            raise Problem(f"an action must lie in {self.space}, got {action.tolist()} in units; or make the env with clip=True")
        action = _cut(action, self.low, self.high)
        return _cut(action + origin, *self._limits) if self.delta else action


def _cut(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """np.clip, which takes thrice as long for nine numbers."""
    return np.minimum(np.maximum(values, low), high)
