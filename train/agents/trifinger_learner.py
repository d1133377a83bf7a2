"""What a learner of stable-baselines3 is given on TriFinger, after the arenas were tried."""

import numpy as np
from omegaconf import DictConfig
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from envs.problem import Problem
from eval.manipulation.goals_apart import UNIT
from eval.manipulation.trained_in import layout
from train.agents.trifinger_envs import arena


def tried(cfg: DictConfig) -> dict:
    """Start a few episodes: raises on unknown tasks and options, and where the size of observations changes.

    -> what the archive says the agent was trained in
    """
    env, learner = arena(cfg), cfg.algo.learner
    entries, steps = env.unwrapped.entries(), cfg.algo.boards * env.unwrapped.limit
    for seed in range(5):
        env.reset(seed=seed)
        if env.unwrapped.entries() != entries:
            raise Problem(
                f"curriculum {cfg.curriculum.name} changes the number of blocks of {cfg.task}, and an agent's observation size "
                "is fixed; choose another curriculum="
            )
    if cfg.algo.get("relabelled") and not steps < learner.learning_starts < cfg.algo.learner.buffer_size:
        raise Problem(
            f"relabelled goals come from whole episodes, {steps} steps of {cfg.algo.boards} arenas, and learning begins after "
            f"{learner.learning_starts} with a buffer of {learner.buffer_size}; set algo.learner.learning_starts= above "
            f"{steps} and algo.learner.buffer_size= above that"
        )
    header = layout(env) | {"residual": cfg.residual, "goals_apart": UNIT if cfg.algo.get("relabelled") else False}
    env.close()
    return header


def given(cfg: DictConfig) -> dict:
    """What the learner is given beside its config: two layers; noise, and a buffer that relabels goals."""
    own = {"policy": "MlpPolicy", "policy_kwargs": {"net_arch": [cfg.algo.hidden] * 2}}
    if cfg.algo.get("noise"):
        own["action_noise"] = NormalActionNoise(np.zeros(9), np.full(9, cfg.algo.noise))
    if cfg.algo.get("relabelled"):
        relabelling = {"n_sampled_goal": cfg.algo.relabelled, "goal_selection_strategy": "future"}
        own |= {"policy": "MultiInputPolicy", "replay_buffer_class": HerReplayBuffer, "replay_buffer_kwargs": relabelling}
    return own
