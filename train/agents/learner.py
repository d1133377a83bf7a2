"""Checks for stable-baselines3, before anything is imported from it or made."""

import importlib.util

from envs.problem import Problem

OFF_POLICY = ("SAC", "TD3")  # learn from a replay buffer, actions that are numbers


def is_off_policy(cfg) -> bool:
    """Whether the learner of a config keeps a replay buffer."""
    return str(cfg.algo.learner._target_).rsplit(".", 1)[-1] in OFF_POLICY


def check_learner(cfg) -> None:
    """Raise Problem on a missing library, on an update of fewer than two steps, and on a bonus that PPO cannot learn."""
    if importlib.util.find_spec("stable_baselines3") is None:
        raise Problem("model-free agents need stable-baselines3; install it with: pip install 'stable-baselines3>=2.9'")
    if is_off_policy(cfg):
        if "decay" in cfg.algo:
            raise Problem(f"nothing of algo={cfg.algo.name} falls over the training; leave algo.decay= out")
        return
    for key, what in (("relabelled", "replay buffer to relabel goals in"), ("noise", "noise beside its own distribution")):
        if key in cfg.algo:
            raise Problem(f"algo={cfg.algo.name} has no {what}; leave algo.{key}= out")
    if cfg.algo.boards * cfg.algo.learner.n_steps < 2:
        raise Problem("an update needs two steps at least; set algo.boards= or algo.learner.n_steps= to more than 1")
    if cfg.algo.learner.ent_coef == "auto":
        raise Problem(
            f"algo={cfg.algo.name} does not learn its entropy bonus, as SAC does; set algo.learner.ent_coef= to a number"
        )
