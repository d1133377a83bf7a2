"""Policies that protocols run: random, still, the trained agents that CausalWorld ships.

A policy: act(observation) -> action (9,) in [-1, 1]; it is made for an environment and keeps nothing between episodes but
what `start` clears.
"""

import zipfile
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np

from envs.problem import Problem, nearest

Policy = Callable[[np.ndarray], np.ndarray]
SCRIPTED = ("random", "still")


def load_policy(agent: str, env, rng: np.random.Generator) -> Policy:
    """agent: random | still (holds the start's joints) | the path of a stable-baselines 2 archive (.zip)."""
    if agent == "random":
        return lambda observation: rng.uniform(-1, 1, 9)
    if agent == "still":
        low, high = env.variables()["joint_positions"].bounds
        held = 2 * (env.task.start_pose - low) / (high - low) - 1
        return lambda observation: held
    path = Path(agent)
    if path.suffix != ".zip":
        raise Problem(f"there is no agent '{agent}': {nearest(agent, SCRIPTED)}, or the path of an archive (.zip)")
    return stable_baselines2(path, len(env.observe()))


@lru_cache  # an agent plays many episodes
def stable_baselines2(path: Path, width: int) -> Policy:
    """An MLP policy of stable-baselines 2, acting by its mean: `parameters` in the archive is a numpy file of plain arrays.

    width: length of the observation it must fit.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            raw = np.load(BytesIO(archive.read("parameters")))
    except FileNotFoundError:
        raise Problem(
            f"{path} does not exist; it comes with the package causal_world 1.2, under assets/baseline_actors"
        ) from None
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise Problem(f"{path} is not an archive of stable-baselines 2 with its `parameters`: {error}") from error
    arrays = {name.removeprefix("model/").removesuffix(":0"): raw[name].astype(float) for name in raw}
    stem = "pi_fc" if "pi_fc0/w" in arrays else "shared_fc"
    layers = [(arrays[f"{stem}{i}/w"], arrays[f"{stem}{i}/b"]) for i in range(9) if f"{stem}{i}/w" in arrays]
    if not layers or "pi/w" not in arrays:
        raise Problem(f"{path} holds no MLP policy; its arrays are {', '.join(sorted(arrays))}")
    if layers[0][0].shape[0] != width:
        raise Problem(f"{path} was trained on observations of {layers[0][0].shape[0]} numbers, this task gives {width}")

    def act(observation: np.ndarray) -> np.ndarray:
        hidden = observation
        for weight, bias in layers:
            hidden = np.tanh(hidden @ weight + bias)
        return np.clip(hidden @ arrays["pi/w"] + arrays["pi/b"], -1, 1)

    return act
