"""One step of a model and of its losses on made-up numbers before data are collected: a part of a wrong shape is told by its name."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from envs.problem import Problem
from envs.spec import EnvSpec, Observation
from models.interfaces import Batch

FRAMES = 3  # of each of two windows


def check_shapes(model, objectives: Sequence, shown: Observation, spec: EnvSpec) -> None:
    """Raise Problem on a part that cannot read what it is given, on latents that are no (B, K, D) or change their shape, and on a loss
    that gives no named scalars.

    Models that predict nothing are not asked, nor are losses that must see data first (`prepare`). No weight and no random number
    changes.
    """
    if model.transition is None:
        return
    shape = shown.shape if len(shown.shape) == 2 else (shown.shape[2], *shown.shape[:2])
    obs = torch.zeros(2, FRAMES, *shape, dtype=torch.uint8 if shown.values == "binary" else torch.float32)
    action, training = torch.zeros(2, FRAMES - 1, spec.action.size), model.training
    model.eval()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        latent = _asked(model.encode, model.encoder, "an observation", obs[:, 0])
        if not isinstance(latent, Tensor) or latent.ndim != 3 or len(latent) != 2:
            raise Problem(f"{_name(model.encoder)} gave {_shape(latent)} for observations {_shape(obs[:, 0])}; an encoder gives latents "
                          f"(B, K, D)")  # fmt: skip
        predicted = _asked(model.transition, model.transition, "latents and actions", latent, action[:, 0])
        if _shape(predicted) != _shape(latent):
            raise Problem(f"{_name(model.transition)} gave {_shape(predicted)} for latents {_shape(latent)}; a transition keeps their "
                          f"shape (B, K, D)")  # fmt: skip
        batch = Batch(obs, action, torch.arange(2 * FRAMES).view(2, FRAMES))
        for objective in (one for one in objectives if not hasattr(one, "prepare")):
            _check_terms(objective, objective(model, batch))
    model.train(training)


def _check_terms(objective, terms) -> None:
    if not isinstance(terms, dict):
        raise Problem(f"{_name(objective)} gave {_shape(terms)}; a loss gives named scalars, {{'name': term}}")
    for name, term in terms.items():
        if not isinstance(term, Tensor) or term.ndim:
            raise Problem(f"term '{name}' of {_name(objective)} is {_shape(term)}; every term of a loss is a scalar, as term.mean()")


def _asked(function: Callable, part, what: str, *given: Tensor):
    """What it gives. Raises Problem where shapes do not fit, of which torch says no name."""
    try:
        return function(*given)
    except RuntimeError as error:
        raise Problem(f"{_name(part)} cannot read {what} {' and '.join(map(_shape, given))}: {str(error).splitlines()[0]}") from error


def _name(part) -> str:
    return type(part).__name__


def _shape(value) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else f"a {type(value).__name__}"
