"""TriFinger arenas under a curriculum as stable-baselines3 wants them: a process each, with the sums that training shows."""

import numpy as np
from hydra.utils import instantiate
from omegaconf import DictConfig
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnvWrapper

from envs.trifinger import make
from envs.trifinger.interventions.curriculum import Curriculum
from envs.workers import die_with_parent
from eval.manipulation.protocols import made_with


def arena(cfg: DictConfig, before: int = 0) -> Curriculum:
    """One arena, in the episode of its curriculum that it has come to after `before` steps of all arenas."""
    env = make(cfg.task, **made_with(cfg), **{key: cfg[key] for key in ("dense_weights", "fractional_weight")})
    curriculum = Curriculum(env, [instantiate(turn) for turn in cfg.curriculum.turns])
    curriculum.skip_episodes(before // cfg.algo.boards // env.limit)
    return curriculum


def _worker(cfg: DictConfig, before: int) -> Curriculum:
    die_with_parent()
    return arena(cfg, before)


class ArenaLessons(VecEnvWrapper):
    """`cfg.algo.boards` arenas; stable-baselines3 seeds each by the learner's seed and its place.

    reward: the task's dense one.  `steps`, `reward`, `episodes`, `reached` (solved at the end): sums since the start.
    """

    def __init__(self, cfg: DictConfig, before: int) -> None:
        # fork: children never call torch, and eight that import it anew take longer than they play
        super().__init__(SubprocVecEnv([lambda: _worker(cfg, before)] * cfg.algo.boards, start_method="fork"))
        self.steps, self.reward, self.episodes, self.reached = 0, 0.0, 0, 0

    def reset(self) -> np.ndarray:
        return self.venv.reset()

    def step_wait(self):
        observation, reward, over, info = self.venv.step_wait()
        self.steps, self.reward = self.steps + self.num_envs, self.reward + float(reward.sum())
        self.episodes += int(over.sum())
        self.reached += sum(bool(one["success"]) for one, ended in zip(info, over) if ended)
        return observation, reward, over, info
