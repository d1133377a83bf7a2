"""TriFinger arenas under a curriculum as a vector environment of stable-baselines3, a process for each."""

from multiprocessing.connection import wait

import gymnasium as gym
import numpy as np
from hydra.utils import instantiate
from omegaconf import DictConfig
from stable_baselines3.common.vec_env import SubprocVecEnv

from envs.problem import Problem
from envs.trifinger import make
from envs.trifinger.interventions.curriculum import Curriculum
from envs.workers import die_with_parent
from eval.manipulation.goals_apart import GoalsApart
from eval.manipulation.protocols import made_with
from eval.manipulation.residual import Residual

_ENDED = (
    "the process of an arena ended, killed or out of memory; the same command goes on after the last saved state, with fewer "
    "algo.boards= it needs less memory"
)


def arena(cfg: DictConfig, before: int = 0) -> gym.Env:
    """One arena as the learner sees it, at the episode of its curriculum that follows `before` steps of all arenas together."""
    options = {key: cfg[key] for key in ("reward", "dense_weights", "fractional_weight")}
    env = make(cfg.task, **made_with(cfg), **options)
    curriculum = Curriculum(env, [instantiate(phase) for phase in cfg.curriculum.phases])
    curriculum.skip_episodes(before // cfg.algo.boards // env.limit)
    if cfg.algo.get("relabelled"):
        return GoalsApart(curriculum)
    seen = curriculum if cfg.residual is None else Residual(curriculum, cfg.residual)
    box = gym.spaces.Box(-np.inf, np.inf, seen.observation_space.shape, np.float32)  # half of what a replay buffer would hold
    return gym.wrappers.TransformObservation(seen, lambda numbers: numbers.astype(np.float32), box)  # networks read no more


def _worker(cfg: DictConfig, before: int) -> gym.Env:
    die_with_parent()
    return arena(cfg, before)


class _Line:
    """Our end of the pipe to a process. Its answer is awaited while it lives: other workers inherit its end of the pipe, so
    that the pipe alone does not tell."""

    def __init__(self, pipe, process) -> None:
        self.pipe, self.process = pipe, process

    def send(self, message) -> None:
        try:
            self.pipe.send(message)
        except ConnectionError:
            raise Problem(_ENDED) from None

    def recv(self):
        if self.pipe not in wait([self.pipe, self.process.sentinel]):
            raise Problem(_ENDED)
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            raise Problem(_ENDED) from None

    def close(self) -> None:
        self.pipe.close()


class Arenas(SubprocVecEnv):
    """`cfg.algo.boards` arenas; stable-baselines3 seeds each by the learner's seed and its number. A Problem where one ends.

    `success` in the info of every step: whether the task is solved.
    """

    def __init__(self, cfg: DictConfig, before: int) -> None:
        try:
            # fork: children never call torch, and eight that import it anew take longer than they play
            super().__init__([lambda: _worker(cfg, before)] * cfg.algo.boards, start_method="fork")
        except (EOFError, ConnectionError):
            raise Problem(_ENDED) from None
        self.remotes = tuple(_Line(*each) for each in zip(self.remotes, self.processes, strict=True))

    def close(self) -> None:
        """Ends the processes, which have nothing to save; asked to end, one that died would not answer."""
        for process in self.processes:
            process.kill()
            process.join()
        for remote in self.remotes:
            remote.close()
        self.closed = True
