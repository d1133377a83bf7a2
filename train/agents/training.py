"""Trains an agent in checkpointed segments on given environments, measures it and writes its results.

Every segment begins from the checkpoint of the one before, with seeds and environments of its own, so resuming reproduces the
uninterrupted run.
"""

import json
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from envs.problem import Problem
from envs.whole_files import check_writable, write_whole
from eval.runs import AGENT, config_hash
from eval.runs.made_with import versions
from eval.runs.metrics_csv import whole_rows
from train.agents.archive import build, check_goals, save
from train.agents.evaluation import Scores, evaluate_if_due, evaluations
from train.agents.learner import is_off_policy
from train.agents.replay import read_replay, remove_replays, replay_path, write_replay
from train.malloc import keep_freed_memory
from train.metrics_csv import add_rows
from train.run_folder import choose_folder, open_folder
from train.wandb_run import wandb_run

COLUMNS = {  # of metrics.csv: mean reward of a step, share of episodes that succeeded
    "steps": int, "reward": float, "success": float, "seconds": float,
}  # fmt: skip


DIVERGED = 1e8  # no weight of an agent that learns comes near it

MakeEnvs = Callable[[int], VecEnv]  # steps so far -> the environments of the next segment, with random numbers of their own


class Setting(NamedTuple):
    """What one kind of world brings. envs: the infos of their steps hold `success`.

    given: the learner's arguments that no config has, as `policy`.  header: what the archive says the agent was trained in.
    measure: (trained agent, its archive) -> keys of results.json, with `metrics` and `protocol`.
    evaluate: the same arguments -> success in percent by its measure, with its 95 %, on tasks of which `measure` has none.
    """

    envs: MakeEnvs
    given: dict
    measure: Callable[[BaseAlgorithm, Path], dict]
    evaluate: Callable[[BaseAlgorithm, Path], Scores]
    header: dict = {}


class EpisodeSums(VecEnvWrapper):
    """Sums since the start: steps, their rewards, episodes that ended, and how many of those succeeded."""

    def __init__(self, envs: VecEnv) -> None:
        super().__init__(envs)
        self.steps, self.reward, self.episodes, self.succeeded = 0, 0.0, 0, 0

    def reset(self):
        return self.venv.reset()

    def step_wait(self):
        observation, reward, over, infos = self.venv.step_wait()
        self.steps, self.reward = self.steps + self.num_envs, self.reward + float(reward.sum())
        self.episodes += int(over.sum())
        self.succeeded += sum(bool(info["success"]) for info, ended in zip(infos, over) if ended)
        return observation, reward, over, infos


def train_and_measure(cfg: DictConfig, prepare: Callable[[DictConfig], Setting]) -> tuple[Path, dict]:
    """Train and measure an agent in its run folder.  -> (run folder, contents of its results.json)

    prepare: config -> Setting; raises Problem on a config that cannot be trained, before anything is written.
    """
    keep_freed_memory()
    overwrite = cfg.overwrite
    folder, cfg = choose_folder(cfg, AGENT)
    check_writable(folder, "runs_dir")
    setting = prepare(cfg)
    with open_folder(folder, cfg, overwrite):
        mirror = wandb_run(cfg, folder, [cfg.algo.name])
        if mirror is not None:
            mirror.define_metric("*", step_metric="steps")
        agent = train_agent(cfg, setting, folder, mirror)
        start = time.monotonic()
        own = setting.measure(agent, folder / "checkpoints" / "agent.zip")
        results = _write_results(cfg, agent, folder, own, time.monotonic() - start)
        if mirror is not None:
            mirror.summary.update(results["metrics"])
            mirror.finish()
        return folder, results


def train_agent(cfg: DictConfig, setting: Setting, folder: Path, mirror=None) -> BaseAlgorithm:
    """Train or resume the agent of a run folder for `cfg.steps` environment steps.  mirror: a run of W&B"""
    path = folder / "checkpoints" / "agent.zip"
    agent = _opened(cfg, setting, path)
    _evaluate(cfg, setting, folder, agent, mirror)  # where a killed command had not
    while agent.num_timesteps < cfg.steps:
        agent = _segment(cfg, setting, folder, agent.num_timesteps, mirror)
        _evaluate(cfg, setting, folder, agent, mirror)
    remove_replays(folder)
    return agent


def _opened(cfg: DictConfig, setting: Setting, path: Path) -> BaseAlgorithm:
    """The agent of an archive, made where there is none."""
    existing = path if path.exists() else None
    if existing is not None:
        check_goals(path, setting.header)
    with closing(setting.envs(0)) as envs:  # they alone know the spaces of the agent
        agent = build(cfg, envs, setting.given, existing, seed=cfg.seed)
    if existing is None:
        save(agent, path, setting.header)
    return agent


def _own(cfg: DictConfig, before: int) -> dict:
    """Arguments of the learner in a segment: a seed; of PPO, what falls linearly to 0 over all segments, where it decays."""
    own, learner = {"seed": (cfg.seed * 1_000_003 + before) % 2**32}, cfg.algo.learner
    if is_off_policy(cfg) or "decay" in cfg.algo and not cfg.algo.decay:  # agents of before do not say
        return own
    left = 1 - before / cfg.steps
    return own | {"learning_rate": left * learner.learning_rate, "ent_coef": left * learner.ent_coef}


def _segment(cfg: DictConfig, setting: Setting, folder: Path, before: int, mirror=None) -> BaseAlgorithm:
    """Train for the next `cfg.save_every` steps, from the archive and, off policy, the replay buffer of the step `before`."""
    start, path = time.monotonic(), folder / "checkpoints" / "agent.zip"
    with closing(EpisodeSums(setting.envs(before))) as envs:
        agent = build(cfg, envs, setting.given, path, **_own(cfg, before))
        if is_off_policy(cfg) and before:
            read_replay(agent.replay_buffer, replay_path(folder, before))
        _learn(agent, min(cfg.save_every, cfg.steps - before))
    reward, success = envs.reward / envs.steps, envs.succeeded / max(1, envs.episodes)
    if is_off_policy(cfg) and agent.num_timesteps < cfg.steps:
        write_replay(agent.replay_buffer, replay_path(folder, agent.num_timesteps))
    seconds = time.monotonic() - start
    line = agent.num_timesteps, f"{reward:.6g}", f"{success:.6g}", f"{seconds:.6g}"
    add_rows(folder / "metrics.csv", COLUMNS, [line])
    save(agent, path, setting.header)  # last: a row that is written twice is found by its steps, a missing one is not
    if is_off_policy(cfg):
        remove_replays(folder, but=replay_path(folder, agent.num_timesteps))
        agent.replay_buffer = None  # the next segment reads its own
    _tell(mirror, agent, {"train/reward": reward, "train/success": 100 * success})
    print(
        f"agent {agent.num_timesteps}/{cfg.steps}  reward {reward:.3f}  success {100 * success:.1f} %  {seconds:.0f} s",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    return agent


def _learn(agent: BaseAlgorithm, steps: int) -> None:
    """Train for some steps. Raises FloatingPointError where the weights are beyond any use afterwards."""
    failed = None
    try:
        agent.learn(steps, reset_num_timesteps=False)
    except (ValueError, Problem) as error:  # of actions that are drawn with such weights, here or in an arena
        failed = error
    if not all((p.abs() < DIVERGED).all() for p in agent.policy.parameters()):  # nor is nan below it
        raise FloatingPointError("the weights of the agent diverged; lower algo.learner.learning_rate=, and train again with "
                                 "overwrite=true") from failed  # fmt: skip
    if failed is not None:
        raise failed


def _evaluate(cfg: DictConfig, setting: Setting, folder: Path, agent: BaseAlgorithm, mirror) -> None:
    found = evaluate_if_due(cfg.evaluate.every, folder, agent, setting.evaluate)
    if found:
        _tell(mirror, agent, {f"evaluation/{name}": value for name, value in found.items()})
        told = "  ".join(f"{name} {value:.1f} %" for name, value in found.items())
        print(f"evaluation after {agent.num_timesteps} steps  {told}", file=sys.stderr, flush=True)


def _tell(mirror, agent: BaseAlgorithm, values: dict[str, float]) -> None:
    if mirror is not None:
        mirror.log({"steps": agent.num_timesteps, **values})


def _write_results(cfg: DictConfig, agent: BaseAlgorithm, folder: Path, own: dict, seconds: float) -> dict:
    """Write results.json.  -> its contents

    own: the keys of the measurement, beside those of every agent.  seconds: of measuring.
    """
    fit_s = _seconds_of(folder / "metrics.csv")
    speed = {"env_steps_per_s": round(agent.num_timesteps / fit_s, 1)} if fit_s else {}
    results = {
        "run": cfg.name, "seed": cfg.seed, **own,
        "protocol": {"seeds": [cfg.seed], "steps": agent.num_timesteps, **own["protocol"]},
        "timing": {"fit_s": round(fit_s, 2), **speed, "measure_s": round(seconds, 2)},
        "evaluations": evaluations(folder),
        "parameters": {"agent": sum(p.numel() for p in agent.policy.parameters())},
        "config_hash": config_hash(cfg),
        "setting_hash": config_hash(cfg, seed=False),
        "versions": versions("stable-baselines3"),
    }  # fmt: skip
    write_whole(folder / "results.json", json.dumps(results, indent=2))
    return results


def _seconds_of(path: Path) -> float:
    """Training time of a run by its metrics.csv, 0 without any; the last row of a segment that was trained twice counts."""
    return sum({row["steps"]: float(row["seconds"]) for row in whole_rows(path, COLUMNS)}.values())
