"""Objective: (model, batch) -> LossTerms, a named mapping whose sum is the loss."""

from typing import Protocol

import torch
from torch import Tensor

from models.interfaces import Batch

LossTerms = dict[str, Tensor]


class Objective(Protocol):
    """Every term is a scalar, a mean over the transitions of the batch; what is summed within one, the class says."""

    def __call__(self, model, batch: Batch) -> LossTerms: ...


def encode_windows(model, batch: Batch, passes: int = 1) -> Tensor:
    """Latents of all frames of all windows, (B, T+1, K, D); every frame is encoded once.

    passes: 1 = all frames share their batch statistics; 2 = every step of the window has its own, as the authors' code.
    """
    if batch.latent is not None:
        return batch.latent
    if passes == 2:
        return torch.stack([model.encode(obs) for obs in batch.obs.unbind(1)], 1)
    latent = model.encode(batch.obs.flatten(0, 1))
    return latent.unflatten(0, batch.obs.shape[:2])


def step_windows(model, latent: Tensor, action: Tensor) -> Tensor:
    """One-step predictions inside windows: latent (B, T, K, D), action (B, T, A)  ->  (B, T, K, D)."""
    return model.transition(latent.flatten(0, 1), action.flatten(0, 1)).unflatten(0, action.shape[:2])
