"""Smoothed actions: what the robot is told is the mean of the last few actions (CausalWorld's moving average)."""

from collections import deque

import gymnasium as gym
import numpy as np

from envs.problem import Problem


class MovingAverage(gym.ActionWrapper):
    """window: how many actions are averaged; at the start of an episode, as many as there were."""

    def __init__(self, env: gym.Env, window: int = 8) -> None:
        if not (isinstance(window, int) and window > 0):
            raise Problem(f"the window of a moving average must be a whole number from 1 on, got {window!r}")
        super().__init__(env)
        self._last: deque[np.ndarray] = deque(maxlen=window)

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        self._last.clear()
        return self.env.reset(seed=seed, options=options)

    def action(self, action: np.ndarray) -> np.ndarray:
        if np.shape(action) != self.action_space.shape or not np.isfinite(action).all():
            return action  # the environment refuses it with the reason
        self._last.append(np.asarray(action, float))
        return np.mean(self._last, axis=0)
