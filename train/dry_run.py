"""One step of a model and of its losses on made-up numbers before data are collected:
a part of a wrong shape is told by its name.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from envs.problem import Problem
from envs.spec import EnvSpec, Observation
from models.actions import vector
from models.interfaces import Batch, Latent
from models.layers.pixels import as_obs

WINDOWS, FRAMES = 2, 3
SEES_DATA = ("prepare", "columns", "encoder_is_fixed")  # what a loss has that reads more than a batch of made-up numbers


def check_shapes(model, objectives: Sequence, shown: Observation, spec: EnvSpec) -> None:
    """Raise Problem on a part that cannot read what it is given, on latents that are no (B, K, D) or change their shape, and on
    a loss that gives no named scalars.

    Models that predict nothing are not asked, nor are losses with any of SEES_DATA. No weight and no random number changes.
    """
    if model.transition is None:
        return
    rows = np.zeros((WINDOWS * FRAMES, *shown.shape), np.uint8 if shown.values == "binary" else np.float32)
    obs = as_obs(torch.from_numpy(rows)).unflatten(0, (WINDOWS, FRAMES))
    shape = (WINDOWS, FRAMES - 1)
    action = vector(
        torch.zeros(shape, dtype=torch.long) if spec.action.discrete else torch.zeros(*shape, spec.action.size), spec.action
    )
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            _check_parts(model, obs[:, 0], action[:, 0])
            batch = Batch(obs, action, torch.arange(WINDOWS * FRAMES).view(WINDOWS, FRAMES))
            for objective in objectives:
                if not any(getattr(objective, name, None) for name in SEES_DATA):
                    _check_terms(objective, model, batch)
    finally:
        for module, training in modes.items():
            module.training = training


def _check_parts(model, obs: Tensor, action: Tensor) -> None:
    dist = _asked(model.encode_dist, model.encoder, "observations", obs)
    if not isinstance(dist, Latent):
        raise Problem(f"{_name(model.encoder)} gave {_shape(dist)}; an encoder gives a Latent, as Latent(mean)")
    latent = dist.mean
    if latent.ndim != 3 or len(latent) != len(obs):
        raise Problem(
            f"{_name(model.encoder)} gave {_shape(latent)} for observations {_shape(obs)}; an encoder gives latents (B, K, D)"
        )
    predicted = _asked(model.transition, model.transition, "latents and actions", latent, action)
    if _shape(predicted) != _shape(latent):
        raise Problem(f"{_name(model.transition)} gave {_shape(predicted)} for latents {_shape(latent)}; "
                      f"a transition keeps their shape (B, K, D)")  # fmt: skip


def _check_terms(objective, model, batch: Batch) -> None:
    try:
        terms = objective(model, batch)
    except (RuntimeError, IndexError, ValueError):
        return  # it may want longer windows, or more of them, than were made up
    if not isinstance(terms, dict) or not terms:
        raise Problem(f"{_name(objective)} gave {_shape(terms)}; a loss gives named scalars, {{'name': term}}")
    for name, term in terms.items():
        if not isinstance(term, Tensor) or term.numel() != 1:
            raise Problem(
                f"term '{name}' of {_name(objective)} is {_shape(term)}; every term of a loss is a scalar, as term.mean()"
            )


def _asked(function: Callable, part, what: str, *given: Tensor):
    """What it gives. Raises Problem where shapes do not fit, of which torch says no name."""
    try:
        return function(*given)
    except (RuntimeError, IndexError, ValueError) as error:
        shapes = " and ".join(map(_shape, given))
        raise Problem(f"{_name(part)} cannot read {what} {shapes}: {str(error).splitlines()[0]}") from error


def _name(part) -> str:
    return type(part).__name__


def _shape(value) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else f"a {type(value).__name__}"
