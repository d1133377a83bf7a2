"""Objective: (model, batch) -> LossTerms, a named mapping whose sum is the loss."""

from typing import Protocol

import torch
from torch import Tensor

from models.interfaces import Batch, Latent
from models.processes import gather

LossTerms = dict[str, Tensor]


class Objective(Protocol):
    """Every term is a scalar, a mean over the transitions of the batch; what is summed within one, the class says.

    Where several processes share a batch, a term is the mean over this process's transitions, or, where it compares
    rows with one another, over those of all (`gather`): the weighted mean over processes is the same.
    """

    def __call__(self, model, batch: Batch) -> LossTerms: ...


def encode_windows(model, batch: Batch) -> Tensor:
    """Latents of all frames of all windows, (B, T+1, K, D); every frame is encoded once."""
    if batch.latent is not None:
        return batch.latent
    latent = model.encode(batch.obs.flatten(0, 1))
    return latent.unflatten(0, batch.obs.shape[:2])


def infer_steps_apart(model, batch: Batch) -> Latent:
    """What the encoder believes about all frames, (B (T+1), K, D); every step of the windows is a pass of its own with its
    own batch statistics, as in the authors' code."""
    beliefs = [model.infer(obs) for obs in batch.obs.unbind(1)]
    mean = torch.stack([belief.mean for belief in beliefs], 1).flatten(0, 1)
    if beliefs[0].logvar is None:
        return Latent(mean)
    return Latent(mean, torch.stack([belief.logvar for belief in beliefs], 1).flatten(0, 1))


def step_windows(model, latent: Tensor, action: Tensor, open_loop: bool = False) -> Tensor:
    """Predictions inside windows: latents of all frames (B, T+1, K, D), action (B, T, A)  ->  (B, T, K, D).

    open_loop: from the first frame on the model is fed its own predictions; else every step starts from the true frame.
    """
    if model.training and hasattr(model.transition, "watch"):
        model.transition.watch(gather(latent.detach()), gather(action))
    if open_loop:
        return model.rollout(latent[:, 0], action)
    return model.predict_windows(latent, action)
