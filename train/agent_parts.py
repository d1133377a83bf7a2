"""Training an agent in parts: every part begins from the file that the part before wrote, interrupted or not.

So a run that was taken up again ends where the uninterrupted one ends: parts have their own seeds and boards.
"""

import csv
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from hydra.utils import get_class, instantiate
from omegaconf import DictConfig
from stable_baselines3.common.base_class import BaseAlgorithm

from envs.problem import Problem
from eval.page import write_whole
from eval.runs import config_hash
from eval.score import versions

COLUMNS = ("steps", "reward", "success", "seconds")  # of metrics.csv: mean reward of a step, share of episodes that succeeded


class Lessons(Protocol):
    """A VecEnv of stable-baselines3 that keeps sums since its start."""

    steps: int
    reward: float
    episodes: int
    reached: int  # episodes that succeeded


GiveLessons = Callable[[int], Lessons]  # those that begin after so many steps, with random numbers of their own


def _save(agent, path: Path) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    agent.save(part)
    part.replace(path)


def _load(cfg: DictConfig, path: Path, **replaced):
    try:
        return get_class(cfg.algo.learner._target_).load(path, device=cfg.algo.learner.device, **replaced)
    except Exception as error:  # a damaged archive can raise nearly anything
        raise Problem(f"{path} is not a readable agent ({type(error).__name__}); remove it and train again") from error


def train_agent(cfg: DictConfig, lessons: GiveLessons, policy: dict, folder: Path) -> BaseAlgorithm:
    """Train (or go on with training) the agent of a run folder for `cfg.steps` environment steps.

    policy: the learner's arguments `policy` and `policy_kwargs`.
    """
    path = folder / "checkpoints" / "agent.zip"
    if not path.exists():
        make, first = instantiate(cfg.algo.learner, _partial_=True), lessons(0)
        _save(make(env=first, seed=cfg.seed, **policy), path)
        first.close()
    agent = _load(cfg, path)
    while agent.num_timesteps < cfg.steps:
        agent = _part(cfg, lessons, folder, path, agent.num_timesteps)
    return agent


def _part(cfg: DictConfig, lessons: GiveLessons, folder: Path, path: Path, before: int) -> BaseAlgorithm:
    """The next `cfg.save_every` steps; rate and exploration fall linearly to nothing over all of them."""
    start, left = time.monotonic(), 1 - before / cfg.steps
    given = lessons(before)
    own = {"seed": (cfg.seed * 1_000_003 + before) % 2**32, "learning_rate": left * cfg.algo.learner.learning_rate,
           "ent_coef": left * cfg.algo.learner.ent_coef}  # fmt: skip
    agent = _load(cfg, path, env=given, custom_objects=own)
    agent.learn(min(cfg.save_every, cfg.steps - before), reset_num_timesteps=False)
    reward, success = given.reward / given.steps, given.reached / max(1, given.episodes)
    given.close()
    seconds = time.monotonic() - start
    metrics, line = folder / "metrics.csv", (agent.num_timesteps, f"{reward:.6g}", f"{success:.6g}", f"{seconds:.6g}")
    new = not metrics.exists()
    with metrics.open("a", newline="") as file:
        csv.writer(file).writerows([COLUMNS, line] if new else [line])
    _save(agent, path)  # last: a line that was written twice is known by its steps, a missing one by nothing
    print(
        f"agent {agent.num_timesteps}/{cfg.steps}  reward {reward:.3f}  success {100 * success:.1f} %  {seconds:.0f} s",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    return agent


def write_results(cfg: DictConfig, agent: BaseAlgorithm, folder: Path, own: dict, seconds: dict[str, float]) -> dict:
    """results.json: what is the measurement's own, beside what is told of every agent.  -> what it holds

    seconds: name -> time of what came after training.
    """
    fit_s = _seconds_of(folder / "metrics.csv")
    results = {
        "run": cfg.name, "seed": cfg.seed, **own,
        "timing": {"fit_s": round(fit_s, 2), "env_steps_per_s": round(agent.num_timesteps / fit_s, 1),
                   **{name: round(value, 2) for name, value in seconds.items()}},
        "parameters": {"agent": sum(p.numel() for p in agent.policy.parameters())},
        "config_hash": config_hash(cfg),
        "setting_hash": config_hash(cfg, seed=False),
        "versions": versions("stable-baselines3"),
    }  # fmt: skip
    write_whole(folder / "results.json", json.dumps(results, indent=2))
    return results


def _seconds_of(path: Path) -> float:
    """Training time of a run by its metrics.csv; of a part that was trained twice the last time counts."""
    with path.open(newline="") as file:
        return sum({row["steps"]: float(row["seconds"]) for row in csv.DictReader(file) if row["seconds"]}.values())
