"""Controllers that protocols run: random, still, experts, agents of train/manipulation.py and train/clone.py,
and CausalWorld's.

A controller gives an action (9,) in [-1, 1] for an observation; it is made for one episode of an environment.
"""

import pickle
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.env.play import Controller
from eval.manipulation.cloned import is_cloned, read_policy
from eval.manipulation.goals_apart import with_goals, without_goals
from eval.manipulation.residual import ACTIONS, residual
from eval.manipulation.stable_baselines import Network, read2, read3
from eval.manipulation.trained_in import check_fits, read_header

SCRIPTED = ("random", "still", "expert")
_CRAFTED = (  # what zip, json, numpy and torch raise over an archive of another make
    zipfile.BadZipFile, zlib.error, KeyError, IndexError, TypeError, AttributeError, ValueError, EOFError, RuntimeError,
    NotImplementedError, RecursionError, pickle.UnpicklingError,
)  # fmt: skip


def load_controller(agent: str, env, rng: np.random.Generator) -> Controller:
    """agent: random | still (holds the start's joints) | expert (of the task) | the path of an archive (.zip).

    A Problem where the archive is none of a clone or of stable-baselines 2 or 3, or does not fit the environment.
    """
    if agent == "random":
        return lambda observation: rng.uniform(-1, 1, 9)
    if agent == "still":
        low, high = env.variables()["joint_positions"].bounds
        held = 2 * (env.task.start_pose - low) / (high - low) - 1
        return lambda observation: held
    if agent == "expert":
        from envs.trifinger.experts import expert  # needs the extra, which --help does not

        return expert(env)
    path = Path(agent)
    if path.suffix != ".zip":
        raise Problem(f"there is no agent '{agent}': {nearest(agent, SCRIPTED)}, or the path of an archive (.zip)")
    written = path.stat().st_mtime_ns if path.exists() else 0  # it may be trained on, or lie below another working directory
    network, header = _archive(path.absolute(), written)
    check_fits(path, header, env)
    share, goals, observation = header.get("residual"), header.get("goals_apart"), env.observe()
    width = len(observation) + (ACTIONS if share else 0)
    if goals:
        width = int(without_goals(env.entries()).sum()) + sum(part.size for part in env.goals())
    if network.width != width:
        raise Problem(f"{path} was trained on observations of {network.width} numbers, this task gives {width}")
    if share:
        return residual(network.act, env, share)
    return with_goals(network.act, env, float(goals)) if goals else network.act


@lru_cache  # an agent plays many episodes
def _archive(path: Path, written: int = 0) -> tuple[Network, dict]:
    """-> the network, and what it was trained in, with its share as `residual` and `goals_apart`.  written: when"""
    try:
        with zipfile.ZipFile(path) as archive:
            if is_cloned(archive):
                policy, header = read_policy(archive)
                network = Network(len(header["entries"]), policy.act)
            else:
                header = read_header(archive, path)
                network = (read3 if "policy.pth" in archive.namelist() else read2)(path, archive)
        if not 0 <= float(header.get("residual") or 0) <= 1:
            raise ValueError(f"residual={header['residual']}")
        if not 0 <= float(header.get("goals_apart") or 0) <= 1:
            raise ValueError(f"goals_apart={header['goals_apart']}")
        tried = network.act(np.zeros(network.width))  # layers that do not fit one another show here
        if tried.shape != (9,) or not np.isfinite(tried).all():
            raise ValueError(f"its action is {tried}, in place of 9 numbers")
        return network, header
    except Problem:
        raise
    except FileNotFoundError:
        raise Problem(
            f"{path} does not exist; agents come from train/manipulation.py and train/clone.py, or with the package "
            "causal_world 1.2, under assets/baseline_actors"
        ) from None
    except _CRAFTED as error:
        why = f"{type(error).__name__}: {error}"
        raise Problem(
            f"{path} is neither a cloned agent nor an archive of stable-baselines 2 with its `parameters`, or of 3 ({why})"
        ) from error
