"""Archives of stable-baselines 2 and 3 as networks.

Only arrays are read: the rest of an archive is pickled, and a pickle runs what its author likes.
"""

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from envs.problem import Problem
from envs.trifinger.env.play import Controller


class Network(NamedTuple):
    """width: numbers that it sees.  act: (width,) -> (9,) in [-1, 1]"""

    width: int
    act: Controller


class _Kind(NamedTuple):
    """How a learner of stable-baselines3 calls the parts of its policy.

    layers: of the hidden layers, before their numbers.  head: of the last one; none: it has the highest number.
    activation: of hidden layers, where the archive names none.  bound: what keeps actions in [-1, 1]
    """

    layers: str
    head: str | None
    activation: str
    bound: Callable[[Tensor], Tensor]


_KINDS = (
    _Kind("mlp_extractor.policy_net.", "action_net", "Tanh", lambda mean: mean.clamp(-1, 1)),  # PPO, by its mean
    _Kind("actor.latent_pi.", "actor.mu", "ReLU", torch.tanh),  # SAC, likewise
    _Kind("actor.mu.", None, "ReLU", torch.tanh),  # TD3
)
_ACTIVATIONS = {"Tanh": torch.tanh, "ReLU": torch.relu, "ELU": functional.elu, "LeakyReLU": functional.leaky_relu}


def _kind(weights: dict) -> _Kind | None:
    if any("features_" in name for name in weights):  # a network of its own before the layers, as pictures need
        return None
    heads = [kind for kind in _KINDS if kind.head and f"{kind.head}.weight" in weights]
    last = [kind for kind in _KINDS if not kind.head and any(name.startswith(kind.layers) for name in weights)]
    return next(iter(heads or last), None)


def _layers(weights: dict, stem: str) -> list[tuple[Tensor, Tensor]]:
    found = {name.removeprefix(stem).removesuffix(".weight") for name in weights if name.startswith(stem)}
    return [
        (weights[f"{stem}{n}.weight"], weights[f"{stem}{n}.bias"])
        for n in sorted(int(text) for text in found if text.isdigit())
    ]


def read3(path: Path, archive: zipfile.ZipFile) -> Network:
    """PPO, SAC or TD3 with an MLP policy. Whatever zip, json and torch raise over a damaged archive."""
    weights = torch.load(BytesIO(archive.read("policy.pth")), map_location="cpu", weights_only=True)
    kind, kwargs = _kind(weights), json.loads(archive.read("data")).get("policy_kwargs") or {}
    named = str(kwargs.get("activation_fn", kind.activation if kind else "")).rstrip("'>").split(".")[-1]  # "<class '...Tanh'>"
    if kind is None or named not in _ACTIVATIONS:
        raise Problem(
            f"{path} holds no MLP policy of PPO, SAC or TD3 with {', '.join(_ACTIVATIONS)}; its weights are "
            f"{', '.join(sorted(weights))} and its activation {named or 'unknown'}"
        )
    layers = _layers(weights, kind.layers)
    head = (weights[f"{kind.head}.weight"], weights[f"{kind.head}.bias"]) if kind.head else layers.pop()

    @torch.no_grad()
    def act(seen: np.ndarray) -> np.ndarray:
        hidden = torch.as_tensor(seen, dtype=torch.float32)[None]
        for layer in layers:
            hidden = _ACTIVATIONS[named](functional.linear(hidden, *layer))
        return kind.bound(functional.linear(hidden, *head))[0].numpy()

    return Network((layers or [head])[0][0].shape[1], act)


def read2(path: Path, archive: zipfile.ZipFile) -> Network:
    """An MLP policy, acting by its mean: `parameters` in the archive is a numpy file of plain arrays."""
    raw = np.load(BytesIO(archive.read("parameters")))
    arrays = {name.removeprefix("model/").removesuffix(":0"): raw[name].astype(float) for name in raw}
    stem = "pi_fc" if "pi_fc0/w" in arrays else "shared_fc"
    layers = [(arrays[f"{stem}{i}/w"], arrays[f"{stem}{i}/b"]) for i in range(9) if f"{stem}{i}/w" in arrays]
    if not layers or "pi/w" not in arrays:
        raise Problem(f"{path} holds no MLP policy; its arrays are {', '.join(sorted(arrays))}")

    def act(seen: np.ndarray) -> np.ndarray:
        hidden = seen
        for weight, bias in layers:
            hidden = np.tanh(hidden @ weight + bias)
        return np.clip(hidden @ arrays["pi/w"] + arrays["pi/b"], -1, 1)

    return Network(layers[0][0].shape[0], act)
