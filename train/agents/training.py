"""Trains an agent in checkpointed segments on given environments, measures it and writes its results.

Every segment begins from the checkpoint of the one before, with seeds and environments of its own, so resuming reproduces the
uninterrupted run.
"""

import json
import sys
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from hydra.utils import instantiate
from omegaconf import DictConfig
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.runs import AGENT, config_hash
from eval.runs.metrics_csv import whole_rows
from eval.score import versions
from train.malloc import keep_freed_memory
from train.metrics_csv import add_rows
from train.run_folder import check_writable, choose_folder, open_folder

COLUMNS = {  # of metrics.csv: mean reward of a step, share of episodes that succeeded
    "steps": int, "reward": float, "success": float, "seconds": float,
}  # fmt: skip


MakeEnvs = Callable[[int], VecEnv]  # steps so far -> the environments of the next segment, with random numbers of their own


class Setting(NamedTuple):
    """The environments, policy and measurement of one kind of world. envs: the infos of their steps hold `success`.

    policy: the learner's arguments `policy` and `policy_kwargs`.  measure: (trained agent, its archive) -> keys of
    results.json, with `metrics` and `protocol`.
    """

    envs: MakeEnvs
    policy: dict
    measure: Callable[[BaseAlgorithm, Path], dict]


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
    check_writable(folder)
    setting = prepare(cfg)
    with open_folder(folder, cfg, overwrite):
        agent = train_agent(cfg, setting.envs, setting.policy, folder)
        start = time.monotonic()
        own = setting.measure(agent, folder / "checkpoints" / "agent.zip")
        return folder, _write_results(cfg, agent, folder, own, time.monotonic() - start)


def _save(agent, path: Path) -> None:
    """Write the whole archive, or nothing."""
    content = BytesIO()
    agent.save(content)
    write_whole(path, content.getvalue())


def _read(path: Path, device: str) -> tuple[int, dict]:
    """(environment steps so far, parameters by name) of an archive. Nothing is unpickled, so nothing in it runs."""
    try:
        with zipfile.ZipFile(path) as archive:
            steps = json.loads(archive.read("data"))["num_timesteps"]  # entries that the library pickles are not read
        if not isinstance(steps, int) or steps < 0:
            raise ValueError("num_timesteps")
        return steps, load_from_zip_file(path, device=device, load_data=False)[1]
    except Exception as error:  # a damaged archive can raise nearly anything
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> Problem:
    return Problem(f"{path} is not a readable agent ({type(error).__name__}); remove it and train again")


def _build(cfg: DictConfig, envs: VecEnv, policy: dict, path: Path | None, **own) -> BaseAlgorithm:
    """An agent as the config says, with the weights, the optimizer's state and the steps of an archive.

    own: the learner's arguments that change from segment to segment.
    """
    steps, parameters = _read(path, cfg.algo.learner.device) if path else (0, None)
    agent = instantiate(cfg.algo.learner, _partial_=True)(env=envs, **policy, **own)
    if parameters is not None:
        try:
            agent.set_parameters(parameters, device=cfg.algo.learner.device)
        except Exception as error:  # of another shape, or of another learner
            raise _unreadable(path, error) from error
        agent.num_timesteps = steps
    return agent


def train_agent(cfg: DictConfig, make_envs: MakeEnvs, policy: dict, folder: Path) -> BaseAlgorithm:
    """Train or resume the agent of a run folder for `cfg.steps` environment steps.

    policy: the learner's arguments `policy` and `policy_kwargs`.
    """
    path = folder / "checkpoints" / "agent.zip"
    if not path.exists():
        first = make_envs(0)
        _save(_build(cfg, first, policy, None, seed=cfg.seed), path)
        first.close()
    steps = _read(path, cfg.algo.learner.device)[0]
    if steps >= cfg.steps:
        envs = make_envs(steps)  # they alone know the spaces of the agent
        agent = _build(cfg, envs, policy, path, seed=cfg.seed)
        envs.close()
        return agent
    while steps < cfg.steps:
        agent = _segment(cfg, make_envs, policy, folder, path, steps)
        steps = agent.num_timesteps
    return agent


def _segment(cfg: DictConfig, make_envs: MakeEnvs, policy: dict, folder: Path, path: Path, before: int) -> BaseAlgorithm:
    """Train for the next `cfg.save_every` steps; learning rate and entropy bonus fall linearly to 0 over all segments."""
    start, left = time.monotonic(), 1 - before / cfg.steps
    envs = EpisodeSums(make_envs(before))
    own = {"seed": (cfg.seed * 1_000_003 + before) % 2**32, "learning_rate": left * cfg.algo.learner.learning_rate,
           "ent_coef": left * cfg.algo.learner.ent_coef}  # fmt: skip
    agent = _build(cfg, envs, policy, path, **own)
    agent.learn(min(cfg.save_every, cfg.steps - before), reset_num_timesteps=False)
    reward, success = envs.reward / envs.steps, envs.succeeded / max(1, envs.episodes)
    envs.close()
    seconds = time.monotonic() - start
    line = agent.num_timesteps, f"{reward:.6g}", f"{success:.6g}", f"{seconds:.6g}"
    add_rows(folder / "metrics.csv", COLUMNS, [line])
    _save(agent, path)  # last: a row that is written twice is found by its steps, a missing one is not
    print(
        f"agent {agent.num_timesteps}/{cfg.steps}  reward {reward:.3f}  success {100 * success:.1f} %  {seconds:.0f} s",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    return agent


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
