"""Objective: (model, batch) -> LossTerms, a named mapping whose sum is the loss."""

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from models.abilities import KeepsStatistics
from models.interfaces import Batch, Latent
from models.processes import gather

LossTerms = dict[str, Tensor]
WHO = {  # kind of latent -> a model of it
    "vectors": "modular", "gaussian": "vae", "categorical": "categorical", "whitened": "random", "clips": "ofpr",
}  # fmt: skip


class Objective(Protocol):
    """Every term is a scalar, a mean over the transitions of the batch; the class states the sums within one.

    If several processes share a batch, a term is the mean over this process's transitions, or, if it compares rows with
    one another, over those of all (`gather`): the weighted mean over processes is the same.
    """

    def __call__(self, model, batch: Batch) -> LossTerms: ...


def gives(objective, model, *kinds: str) -> Iterator[tuple[bool, str]]:
    """The need of an objective for an encoder that gives one of some kinds of latent (`models.interfaces.Encoder`)."""
    kind = getattr(model.encoder, "gives", "vectors")
    yield kind in kinds, (f"{type(objective).__name__} trains on latents that are {' or '.join(kinds)}, and "
                          f"{type(model.encoder).__name__} gives {kind}; set "
                          f"{getattr(model.encoder, 'trained_by', f'model={WHO[kinds[0]]}')}")  # fmt: skip


def distinct_frames(obs: Tensor, obs_id: Tensor) -> tuple[Tensor, Tensor]:
    """The frames of windows without repetitions in time, (N, ...), and the index (B L,) of every frame among them.

    obs (B, L, ...), obs_id (B, L): as a batch has them.

    On physics5 43 percent of random actions change nothing, and a frame that is encoded twice teaches nothing; batch
    statistics count it once. Equal frames of different windows are kept: processes that share a batch encode what one would.
    """
    new = torch.ones_like(obs_id, dtype=torch.bool)
    new[:, 1:] = obs_id[:, 1:] != obs_id[:, :-1]
    if obs.is_floating_point():  # ids of real numbers are of what they are rounded to
        new[:, 1:] |= (obs[:, 1:] != obs[:, :-1]).flatten(2).any(-1)
    new, obs = new.flatten(), obs.flatten(0, 1)
    rows, index = new.nonzero().squeeze(1), new.cumsum(0) - 1
    if obs.ndim != 4:
        return obs.index_select(0, rows), index
    return obs.permute(0, 2, 3, 1).index_select(0, rows).permute(0, 3, 1, 2), index  # in the order of memory


def encode_windows(model, batch: Batch) -> Tensor:
    """Latents of all frames of all windows, (B, T+1, K, D)."""
    if batch.latent is not None:
        return batch.latent
    frames, index = distinct_frames(batch.obs, batch.obs_id)
    return model.encode(frames).index_select(0, index).unflatten(0, batch.obs_id.shape)


def encode_dist_windows(model, obs: Tensor, obs_id: Tensor) -> Latent:
    """The encoder's distributions of all frames of windows, (B L, K, D); obs and obs_id as in `distinct_frames`."""
    frames, index = distinct_frames(obs, obs_id)
    dist = model.encode_dist(frames)
    return Latent(*(part if part is None else part.index_select(0, index) for part in (dist.mean, dist.logvar)))


def encode_dist_steps_apart(model, batch: Batch) -> Latent:
    """The encoder's distributions of all frames, (B (T+1), K, D); every step of the windows is a pass with batch statistics
    of its own, as in the authors' code."""
    dists = [model.encode_dist(obs) for obs in batch.obs.unbind(1)]
    mean = torch.stack([dist.mean for dist in dists], 1).flatten(0, 1)
    if dists[0].logvar is None:
        return Latent(mean)
    return Latent(mean, torch.stack([dist.logvar for dist in dists], 1).flatten(0, 1))


def step_windows(model, latent: Tensor, action: Tensor, open_loop: bool = False) -> Tensor:
    """Predictions inside windows: latents of all frames (B, T+1, K, D), action (B, T, A)  ->  (B, T, K, D).

    open_loop: after the first frame the model is fed its own predictions; else every step starts from the true frame.
    """
    if model.training and isinstance(model.transition, KeepsStatistics):
        model.transition.track(gather(latent.detach()), gather(action))
    if open_loop:
        return model.rollout(latent[:, 0], action)
    return model.predict_windows(latent, action)
