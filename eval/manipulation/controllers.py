"""Controllers that protocols run: random, still, experts, agents of train/manipulation.py and train/clone.py, those that CausalWorld ships.

A controller gives an action (9,) in [-1, 1] for an observation; it is made for one episode of an environment.
"""

import json
import pickle
import zipfile
import zlib
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
import yaml
from torch.nn import functional

from envs.problem import Problem, nearest
from envs.trifinger.env.play import Controller
from eval.manipulation.cloned import check_fits, is_cloned, read_policy

SCRIPTED = ("random", "still", "expert")
_CRAFTED = (  # what zip, json, numpy and torch raise over an archive of another make
    zipfile.BadZipFile, zlib.error, KeyError, IndexError, TypeError, AttributeError, ValueError, EOFError, RuntimeError,
    NotImplementedError, RecursionError, pickle.UnpicklingError,
)  # fmt: skip


def load_controller(agent: str, env, rng: np.random.Generator) -> Controller:
    """agent: random | still (holds the start's joints) | expert (of the task) | the path of an archive (.zip) of stable-baselines
    2 or 3."""
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
    act, header = _archive(path.absolute(), len(env.observe()), written)
    if header:
        check_fits(path, header, env)
    elif (task := _task_of(path)) not in (None, env.unwrapped.task.name):
        raise Problem(f"{path} was trained on task={task}, here it is {env.unwrapped.task.name}; give task={task}")
    return act


def _task_of(path: Path) -> str | None:
    """What an agent of train/manipulation.py was trained on, by the config of its run; tasks may observe as many numbers each."""
    config = path.absolute().parents[1] / "config.yaml"
    try:
        task = yaml.safe_load(config.read_text())["task"] if path.name == "agent.zip" and config.exists() else None
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):  # of somebody else
        return None
    return task if isinstance(task, str) else None


@lru_cache  # an agent plays many episodes
def _archive(path: Path, width: int, written: int = 0) -> tuple[Controller, dict]:
    """-> the controller, and what a cloned one was cloned on.  width: length of the observation it must fit; written: when."""
    try:
        header = {}
        with zipfile.ZipFile(path) as archive:
            if is_cloned(archive):
                policy, header = read_policy(archive)
                _fits(path, len(header["entries"]), width)
                act = policy.act
            elif "policy.pth" in archive.namelist():
                act = _stable_baselines3(path, archive, width)
            else:
                act = _stable_baselines2(path, np.load(BytesIO(archive.read("parameters"))), width)
        tried = act(np.zeros(width))  # layers that do not fit one another show here
        if tried.shape != (9,) or not np.isfinite(tried).all():
            raise ValueError(f"its action is {tried}, in place of 9 numbers")
        return act, header
    except Problem:
        raise
    except FileNotFoundError:
        raise Problem(
            f"{path} does not exist; agents come from train/manipulation.py and train/clone.py, or with the package causal_world 1.2, under "
            "assets/baseline_actors"
        ) from None
    except _CRAFTED as error:
        why = f"{type(error).__name__}: {error}"
        raise Problem(f"{path} is neither a cloned agent nor an archive of stable-baselines 2 with its `parameters`, or of 3 ({why})") from error


def _fits(path: Path, trained: int, width: int) -> None:
    if trained != width:
        raise Problem(f"{path} was trained on observations of {trained} numbers, this task gives {width}")


_ACTIVATIONS = {"Tanh": torch.tanh, "ReLU": torch.relu, "ELU": functional.elu, "LeakyReLU": functional.leaky_relu}


def _stable_baselines3(path: Path, archive: zipfile.ZipFile, width: int) -> Controller:
    """A PPO agent with an MLP policy, acting by its mean.

    Only the weights are read: PPO.load would unpickle the rest of the archive, and a pickle runs what its author likes.
    """
    weights = torch.load(BytesIO(archive.read("policy.pth")), map_location="cpu", weights_only=True)
    kwargs = json.loads(archive.read("data")).get("policy_kwargs") or {}
    named = str(kwargs.get("activation_fn", "Tanh")).rstrip("'>").split(".")[-1]  # json holds "<class '...Tanh'>"
    stem = "mlp_extractor.policy_net."
    numbers = sorted(int(name.removeprefix(stem).removesuffix(".weight")) for name in weights
                     if name.startswith(stem) and name.endswith(".weight"))  # fmt: skip
    if named not in _ACTIVATIONS or "action_net.weight" not in weights or any(name.startswith("features_") for name in weights):
        raise Problem(
            f"{path} holds no MLP policy with {', '.join(_ACTIVATIONS)}; its weights are {', '.join(sorted(weights))} and "
            f"its activation {named}"
        )
    layers = [(weights[f"{stem}{n}.weight"], weights[f"{stem}{n}.bias"]) for n in numbers]
    mean = weights["action_net.weight"], weights["action_net.bias"]
    _fits(path, (layers[0][0] if layers else mean[0]).shape[1], width)

    @torch.no_grad()
    def act(observation: np.ndarray) -> np.ndarray:
        hidden = torch.as_tensor(observation, dtype=torch.float32)[None]
        for layer in layers:
            hidden = _ACTIVATIONS[named](functional.linear(hidden, *layer))
        return functional.linear(hidden, *mean)[0].clamp(-1, 1).numpy()

    return act


def _stable_baselines2(path: Path, raw, width: int) -> Controller:
    """An MLP policy, acting by its mean: `parameters` in the archive is a numpy file of plain arrays."""
    arrays = {name.removeprefix("model/").removesuffix(":0"): raw[name].astype(float) for name in raw}
    stem = "pi_fc" if "pi_fc0/w" in arrays else "shared_fc"
    layers = [(arrays[f"{stem}{i}/w"], arrays[f"{stem}{i}/b"]) for i in range(9) if f"{stem}{i}/w" in arrays]
    if not layers or "pi/w" not in arrays:
        raise Problem(f"{path} holds no MLP policy; its arrays are {', '.join(sorted(arrays))}")
    _fits(path, layers[0][0].shape[0], width)

    def act(observation: np.ndarray) -> np.ndarray:
        hidden = observation
        for weight, bias in layers:
            hidden = np.tanh(hidden @ weight + bias)
        return np.clip(hidden @ arrays["pi/w"] + arrays["pi/b"], -1, 1)

    return act
