"""The archive of an agent in training: written whole, read without opening its pickles, and built upon."""

import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from hydra.utils import instantiate
from omegaconf import DictConfig
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.vec_env import VecEnv

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.manipulation.trained_in import add_header, read_header


class Saved(NamedTuple):
    """steps: of the environments so far.  updates: of the weights, as the library counts them.  parameters: by name.
    variables: tensors that belong to no network, as the entropy bonus of SAC that is learned."""

    steps: int
    updates: int
    parameters: dict
    variables: dict


def save(agent: BaseAlgorithm, path: Path, header: dict) -> None:
    """Write the whole archive, or nothing.  header: what the agent was trained in; empty: on boards"""
    content = BytesIO()
    agent.save(content)
    if header:
        with zipfile.ZipFile(content, "a") as archive:
            add_header(archive, header)
    write_whole(path, content.getvalue())


def read(path: Path, device: str) -> Saved:
    """What an archive holds. Nothing is unpickled, so nothing in it runs."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))  # entries that the library pickles are not read
        steps, updates = data["num_timesteps"], data.get("_n_updates", 0)
        if not all(isinstance(number, int) and number >= 0 for number in (steps, updates)):
            raise ValueError("num_timesteps")
        _, parameters, variables = load_from_zip_file(path, device=device, load_data=False)
        return Saved(steps, updates, parameters, variables or {})
    except Exception as error:  # a damaged archive can raise nearly anything
        raise _unreadable(path, error) from error


def check_goals(path: Path, header: dict) -> None:
    """A Problem where an archive learned from goals in another unit than its run would go on with.  header: of that run"""
    try:
        with zipfile.ZipFile(path) as archive:
            held = read_header(archive, path).get("goals_apart", header.get("goals_apart"))
    except Exception as error:  # a damaged archive can raise nearly anything
        raise _unreadable(path, error) from error
    if held != header.get("goals_apart"):
        raise Problem(f"{path} learned from goals in units of {float(held):g} m, which are {header['goals_apart']:g} m now; "
                      "train again with overwrite=true")  # fmt: skip


def _unreadable(path: Path, error: Exception) -> Problem:
    return Problem(f"{path} is not a readable agent ({type(error).__name__}); remove it and train again")


def build(cfg: DictConfig, envs: VecEnv, given: dict, path: Path | None, **own) -> BaseAlgorithm:
    """An agent as the config says, with the weights, the optimizer's state and the counts of an archive.

    given: the learner's arguments that no config has.  own: those that change from segment to segment.
    """
    device = cfg.algo.learner.device
    saved = read(path, device) if path else None
    agent = instantiate(cfg.algo.learner, _partial_=True)(env=envs, **given, **own)
    if saved is not None:
        try:
            agent.set_parameters(saved.parameters, device=device)
            for name in agent._get_torch_save_params()[1]:
                getattr(agent, name).data.copy_(saved.variables[name].data)
        except Exception as error:  # of another shape, or of another learner
            raise _unreadable(path, error) from error
        agent.num_timesteps, agent._n_updates = saved.steps, saved.updates
    return agent
