"""Residual agents: a network corrects the scripted expert of a task (Silver et al. 2018), in training and in measuring.

The action is the expert's plus a share of the network's, cut to [-1, 1]; the network sees the expert's action behind the
observation.
"""

import gymnasium as gym
import numpy as np

from envs.trifinger.env.play import Controller

ACTIONS = 9  # numbers that are added to an observation


def _expert(env) -> Controller:
    """That of the episode that begins, within the range of actions."""
    from envs.trifinger.experts import expert  # needs the extra, which --help does not

    says = expert(env)
    return lambda observation: np.clip(says(observation), -1, 1)


def corrected(said: np.ndarray, given: np.ndarray, share: float) -> np.ndarray:
    """said: by the expert.  given: by the network.  share: of the network"""
    return np.clip(said + share * given, -1, 1)


class Residual(gym.Wrapper):
    """An environment in which actions (9,) in [-1, 1] correct the expert.

    observation: (n + 9,): n numbers as before, then the expert's action.
    """

    def __init__(self, env: gym.Env, share: float) -> None:
        super().__init__(env)
        width = env.observation_space.shape[0] + ACTIONS
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (width,), np.float64)
        self.share = share

    def _seen(self, observation: np.ndarray) -> np.ndarray:
        self._said = self._says(observation)
        return np.concatenate([observation, self._said])

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        self._says = _expert(self.env)
        return self._seen(observation), info

    def step(self, action):
        observation, *rest = self.env.step(corrected(self._said, action, self.share))
        return self._seen(observation), *rest


def residual(act: Controller, env, share: float) -> Controller:
    """The same in measuring, for one episode.  act: the network, (n + 9,) -> (9,)"""
    says = _expert(env)

    def controller(observation: np.ndarray) -> np.ndarray:
        said = says(observation)
        return corrected(said, act(np.concatenate([observation, said])), share)

    return controller
