"""Wrappers: goals as a dict for goal-conditioned algorithms such as HER, and actions smoothed by a moving average."""

from collections import deque

import gymnasium as gym
import numpy as np

from envs.problem import Problem


class GoalDict(gym.Wrapper):
    """Adds the goals to the observation, and computes rewards for other goals.

    observation: {"observation": as before, "achieved_goal": (10 B,), "desired_goal": (10 G,)}; a row of ten is a box as
    `overlap` reads it, reaching has nine numbers, the tips. The env's reward must be fractional or sparse, since dense terms
    need the step before.
    """

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        base = env.unwrapped
        if base.rewards.kind not in ("fractional", "sparse"):
            raise Problem(f"GoalDict needs reward=fractional or reward=sparse, got reward={base.rewards.kind}")
        base.reset()
        box = {key: gym.spaces.Box(-np.inf, np.inf, value.shape, np.float64) for key, value in self._goals().items()}
        self.observation_space = gym.spaces.Dict({"observation": env.observation_space, **box})

    def _goals(self) -> dict[str, np.ndarray]:
        base = self.env.unwrapped
        achieved, desired = base.goals()
        return {"achieved_goal": achieved.ravel(), "desired_goal": desired.ravel()}

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        return {"observation": observation, **self._goals()}, info

    def step(self, action):
        observation, *rest = self.env.step(action)
        return {"observation": observation, **self._goals()}, *rest

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info=None) -> np.ndarray | float:
        """The reward of a step with these goals, scaled by the time of a step; one, or a batch."""
        base = self.env.unwrapped
        if np.ndim(achieved_goal) == 2:
            return np.array([self.compute_reward(a, d) for a, d in zip(achieved_goal, desired_goal)])
        width = base.goals()[0].shape[1]
        fraction = base.task.measure(achieved_goal.reshape(-1, width), desired_goal.reshape(-1, width), base.score)
        return base.dt * base.rewards.of_fraction(fraction)


class MovingAverage(gym.ActionWrapper):
    """The robot executes the mean of the last few actions.

    window: actions in the mean, at most; an episode starts with fewer.  Differs from CausalWorld, whose moving average passes
    actions as they are until its window was full once, and goes on over a reset with actions of the episode before.
    own_settings: what a recording's header says of this wrapper.
    """

    def __init__(self, env: gym.Env, window: int = 8) -> None:
        if not (isinstance(window, int) and window > 0):
            raise Problem(f"the window of a moving average must be a whole number from 1 on, got {window!r}")
        super().__init__(env)
        self.own_settings = {"window": window}
        self._last: deque[np.ndarray] = deque(maxlen=window)

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        self._last.clear()
        return self.env.reset(seed=seed, options=options)

    def action(self, action: np.ndarray) -> np.ndarray:
        if np.shape(action) != self.action_space.shape or not np.isfinite(action).all():
            return action  # the environment refuses it with the reason
        self._last.append(np.asarray(action, float))
        return np.mean(self._last, axis=0)
