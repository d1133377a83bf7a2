"""Runs a controller in an environment until the episode is over."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Controller = Callable[[np.ndarray], np.ndarray]  # observation -> action (9,) in the bounds of the environment


@dataclass(frozen=True)
class EachEpisode:
    """Controllers made anew for every episode, as experts must be.  make: (env, number of the episode) -> Controller"""

    make: Callable[..., Controller]


class Step(NamedTuple):
    """An action, and the environment's response."""

    action: np.ndarray
    observation: np.ndarray
    reward: float
    info: dict


def play(env, controller: Controller, observation: np.ndarray) -> Iterator[Step]:
    """The remaining steps of an episode.  observation: the current one."""
    over = False
    while not over:
        action = np.asarray(controller(observation), float)
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        yield Step(action, observation, reward, info)
