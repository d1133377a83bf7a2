"""Playing: a controller acts on an environment, step by step, until the episode is over."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

Controller = Callable[[np.ndarray], np.ndarray]  # what is observed -> action (9,) in the bounds of the environment


class Step(NamedTuple):
    """What was done, and what the environment answered."""

    action: np.ndarray
    observation: np.ndarray
    reward: float
    info: dict


def play(env, controller: Controller, observation: np.ndarray) -> Iterator[Step]:
    """The rest of an episode.  observation: the one from which it goes on."""
    over = False
    while not over:
        action = np.asarray(controller(observation), float)
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        yield Step(action, observation, reward, info)
