"""A run folder: `runs/<name>/` with config.yaml, checkpoints/, metrics.csv, results.json, report.html."""

import hashlib
import importlib
import inspect
import json
from pathlib import Path
from typing import NamedTuple

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from envs.problem import Problem
from models.world_model import WorldModel

_NOT_SCIENCE = ("name", "data_dir", "runs_dir", "resume", "overwrite", "logger", "experiment", "hydra")


class Run(NamedTuple):
    """What `load_run` gives back."""

    model: WorldModel
    config: DictConfig


def _spell_out(node):
    """Add to every `_target_` node the defaults of its callable, so that the file no longer depends on the code's."""
    if isinstance(node, list):
        return [_spell_out(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _spell_out(value) for key, value in node.items()}
    if "_target_" in node:
        module, name = node["_target_"].rsplit(".", 1)
        signature = inspect.signature(getattr(importlib.import_module(module), name))
        for parameter in signature.parameters.values():
            if parameter.default is not inspect.Parameter.empty:
                node.setdefault(parameter.name, parameter.default)
    return node


def freeze(cfg: DictConfig) -> DictConfig:
    """The resolved config, complete: no interpolation left, every constructor argument named."""
    frozen = _spell_out(OmegaConf.to_container(cfg, resolve=True))
    trained = {part for stage in frozen["loss"]["stages"] for part in stage["trains"]}
    if "decoder" not in trained:
        frozen["model"]["module"]["decoder"] = None  # nothing would train it
    return OmegaConf.create(frozen)


def config_hash(cfg: DictConfig) -> str:
    """Names the science of a run: equal hashes, equal experiment; paths and loggers do not count."""
    science = {k: v for k, v in OmegaConf.to_container(cfg, resolve=True).items() if k not in _NOT_SCIENCE}
    return hashlib.sha256(json.dumps(science, sort_keys=True).encode()).hexdigest()[:12]


def load_config(folder: str | Path) -> DictConfig:
    """The resolved config of a run folder."""
    path = Path(folder) / "config.yaml"
    if not path.exists():
        raise Problem(f"{folder} is not a run folder: it has no config.yaml; runs are made by train/fit.py")
    return OmegaConf.load(path)


def load_weights(model: WorldModel, path: Path) -> None:
    """Put the weights of a checkpoint into a model; a checkpoint of another architecture is refused."""
    if not path.exists():
        raise Problem(f"{path} does not exist; finish the run with: python train/fit.py resume={path.parent.parent}")
    try:
        state = torch.load(path, map_location="cpu", weights_only=False)["state_dict"]
    except (RuntimeError, EOFError, KeyError, OSError) as error:
        raise Problem(f"{path} is not a readable checkpoint ({type(error).__name__}); train again") from error
    own = model.state_dict()
    differing = sorted(k for k in own.keys() | state.keys() if k not in own or k not in state or own[k].shape != state[k].shape)
    if differing:
        def shape(weights):
            return tuple(weights[differing[0]].shape) if differing[0] in weights else "nothing"

        raise Problem(
            f"{path} holds another architecture: {len(differing)} weights differ, first {differing[0]} "
            f"(config expects {shape(own)}, checkpoint has {shape(state)}); use the config.yaml it was trained with"
        )
    model.load_state_dict(state)


def load_run(folder: str | Path) -> Run:
    """Model (eval mode, best weights) and config from a run folder alone.

    >>> model, config = load_run("runs/modular-infonce-physics5-quick-s0")  # doctest: +SKIP
    """
    config = load_config(folder)
    model = instantiate(config.model.module)
    load_weights(model, Path(folder) / "checkpoints" / "model.ckpt")
    return Run(model.eval(), config)
