"""Kinds of action, as planners ask: all actions, random ones, and distributions that a search fits. Known here alone."""

import numpy as np

from envs.problem import Problem
from envs.spec import Action


def countable(action: Action) -> bool:
    """Whether all actions can be tried one by one."""
    return action.discrete


def every_action(action: Action) -> np.ndarray:
    """All recorded actions, (A,). Raises Problem where they cannot be counted."""
    if not action.discrete:
        raise Problem(f"this planner tries every action, and actions here are vectors of {action.size} numbers; "
                      f"use planners=[cem] or planners=[mppi]")  # fmt: skip
    return np.arange(action.size)


def random_actions(action: Action, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform draws: whole numbers of this shape, or vectors (*shape, A) within their bounds."""
    if action.discrete:
        return rng.integers(0, action.size, shape)
    check_bounds(action)
    return rng.uniform(action.low, action.high, (*shape, action.size)).astype(np.float32)


def check_bounds(action: Action) -> None:
    """Raises Problem where there is nothing to draw from."""
    if not action.discrete and not action.low:
        raise Problem(f"actions are drawn within their bounds, and those of {action.size} numbers have none; set low= and "
                      f"high= of the action in the world's spec")  # fmt: skip


class Choices:
    """Independent categorical distributions over discrete actions, for E episodes and T steps; uniform at first."""

    def __init__(self, action: Action, episodes: int, steps: int) -> None:
        self.share = np.full((episodes, steps, action.size), 1 / action.size)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """-> actions (E, count, T)."""
        episodes, steps, _ = self.share.shape
        below = self.share.cumsum(-1)[:, None, :, :-1]
        return (rng.random((episodes, count, steps, 1)) >= below).sum(-1)

    def fit(self, plans: np.ndarray, weight: np.ndarray, smoothing: float) -> None:
        """plans (E, L, T), weight (E, L) of sum 1. smoothing: how much of the distribution before stays, 0 to 1."""
        found = np.zeros_like(self.share)
        episode, step = np.ogrid[: plans.shape[0], : plans.shape[2]]
        for i in range(plans.shape[1]):
            found[episode, step, plans[:, i]] += weight[:, i, None]
        self.share = smoothing * self.share + (1 - smoothing) * found

    def mode(self) -> np.ndarray:
        """The likeliest action of every step, (E, T)."""
        return self.share.argmax(-1)


class Numbers:
    """Independent normal distributions, clipped to the bounds, for E episodes, T steps and A numbers; wide at first."""

    def __init__(self, action: Action, episodes: int, steps: int) -> None:
        check_bounds(action)
        self.low, self.high = np.array(action.low), np.array(action.high)
        self.mean = np.broadcast_to((self.low + self.high) / 2, (episodes, steps, action.size))
        self.std = np.broadcast_to((self.high - self.low) / 2, (episodes, steps, action.size))

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """-> actions (E, count, T, A) float32."""
        episodes, steps, size = self.mean.shape
        drawn = self.mean[:, None] + self.std[:, None] * rng.standard_normal((episodes, count, steps, size))
        return drawn.clip(self.low, self.high).astype(np.float32)

    def fit(self, plans: np.ndarray, weight: np.ndarray, smoothing: float) -> None:
        """plans (E, L, T, A), weight (E, L) of sum 1. smoothing: how much of the distribution before stays, 0 to 1."""
        mean = np.einsum("el,elta->eta", weight, plans)
        std = np.sqrt(np.einsum("el,elta->eta", weight, (plans - mean[:, None]) ** 2))
        self.mean = smoothing * self.mean + (1 - smoothing) * mean
        self.std = smoothing * self.std + (1 - smoothing) * std

    def mode(self) -> np.ndarray:
        """The likeliest action of every step, (E, T, A)."""
        return self.mean.astype(np.float32)


def distribution(action: Action, episodes: int, steps: int) -> Choices | Numbers:
    """What a search draws from and fits."""
    return (Choices if action.discrete else Numbers)(action, episodes, steps)
