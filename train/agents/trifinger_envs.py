"""TriFinger arenas under a curriculum as a vector environment of stable-baselines3, a process for each."""

from hydra.utils import instantiate
from omegaconf import DictConfig
from stable_baselines3.common.vec_env import SubprocVecEnv

from envs.trifinger import make
from envs.trifinger.interventions.curriculum import Curriculum
from envs.workers import die_with_parent
from eval.manipulation.protocols import made_with


def arena(cfg: DictConfig, before: int = 0) -> Curriculum:
    """One arena, at the episode of its curriculum that follows `before` steps of all arenas together."""
    env = make(cfg.task, **made_with(cfg), **{key: cfg[key] for key in ("dense_weights", "fractional_weight")})
    curriculum = Curriculum(env, [instantiate(phase) for phase in cfg.curriculum.phases])
    curriculum.skip_episodes(before // cfg.algo.boards // env.limit)
    return curriculum


def _worker(cfg: DictConfig, before: int) -> Curriculum:
    die_with_parent()
    return arena(cfg, before)


def arenas(cfg: DictConfig, before: int) -> SubprocVecEnv:
    """`cfg.algo.boards` arenas; stable-baselines3 seeds each by the learner's seed and its number.

    reward: the task's dense one.  `success` in the info of every step: whether the task is solved.
    """
    # fork: children never call torch, and eight that import it anew take longer than they play
    return SubprocVecEnv([lambda: _worker(cfg, before)] * cfg.algo.boards, start_method="fork")
