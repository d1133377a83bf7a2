"""Agents of hindsight experience replay see the goals apart from the observation, so that others can take their place.

An observation of TriFinger tells the goals as well. Those numbers are left out: a relabelled transition would tell two goals.
"""

import gymnasium as gym
import numpy as np

from envs.trifinger.env.play import Controller
from envs.trifinger.env.wrappers import GoalDict

_APART = ("achieved_goal", "desired_goal")


def without_goals(entries: list[str]) -> np.ndarray:
    """Which numbers of an observation tell nothing of a goal, (n,) bool.  entries: what each is"""
    return np.array([not entry.startswith("goal") for entry in entries])


def goals_apart(env: gym.Env) -> gym.Env:
    """`GoalDict` whose observation tells no goal, float32 throughout."""
    known = GoalDict(env)
    kept = without_goals(env.unwrapped.entries())

    def seen(parts: dict) -> dict:
        parts = {**parts, "observation": parts["observation"][kept]}
        return {key: value.astype(np.float32) for key, value in parts.items()}

    widths = {"observation": int(kept.sum()), **{key: known.observation_space[key].shape[0] for key in _APART}}
    boxes = {key: gym.spaces.Box(-np.inf, np.inf, (width,), np.float32) for key, width in widths.items()}
    return gym.wrappers.TransformObservation(known, seen, gym.spaces.Dict(boxes))


def with_goals(act: Controller, env) -> Controller:
    """The same in measuring.  act: the network; it reads the parts in the order of their names."""
    base = env.unwrapped
    kept = without_goals(base.entries())

    def controller(observation: np.ndarray) -> np.ndarray:
        achieved, desired = base.goals()
        return act(np.concatenate([achieved.ravel(), desired.ravel(), observation[kept]]))

    return controller
