"""Checks for stable-baselines3, before anything is imported from it or made."""

import importlib.util

from envs.problem import Problem


def check_learner(cfg) -> None:
    """Raise Problem on a missing library, and on an update of fewer than two steps."""
    if importlib.util.find_spec("stable_baselines3") is None:
        raise Problem("model-free agents need stable-baselines3; install it with: pip install 'stable-baselines3>=2.9'")
    if cfg.algo.boards * cfg.algo.learner.n_steps < 2:
        raise Problem("an update needs two steps at least; set algo.boards= or algo.learner.n_steps= to more than 1")
