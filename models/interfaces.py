"""The promises between parts: Encoder, Decoder, Transition, and what flows between them.

Letters: B batch, T time, K slots, D slot width, A action width (0: a video; `models.actions`), C H W image.
A latent is always (B, K, D). Monolithic models are K = 1 with D = per-object width x objects; slots are K = objects.
"""

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn


@dataclass
class Latent:
    """The distribution of an encoder: mean (B, K, D) and, for variational encoders, logvar (B, K, D)."""

    mean: Tensor
    logvar: Tensor | None = None

    def sample(self) -> Tensor:
        """A sample (B, K, D); the mean itself without a variance."""
        if self.logvar is None:
            return self.mean
        return self.mean + torch.randn_like(self.mean) * (self.logvar / 2).exp()

    def kl(self) -> Tensor:
        """KL divergence to N(0, I), summed over slots and width, (B,); zero without a variance."""
        if self.logvar is None:
            return self.mean.new_zeros(len(self.mean))
        mean, logvar = self.mean.float(), self.logvar.float()
        return -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum((1, 2))


@dataclass
class Batch:
    """B windows of T steps.

    obs (B, T+1, C, H, W) uint8, or tables (B, T+1, N, F) float; action (B, T, A) as `models.actions.vector`
    makes it, A = 0 for a video; action[:, t] leads from obs[:, t] to obs[:, t+1];
    obs_id (B, T+1) int64, equal exactly where two observations are equal, real numbers up to the resolution of the spec.
    latent (B, T+1, K, D): computed beforehand, when the encoder is frozen.
    weight: of this process in the mean over all processes that share the batch; 1 where all shares are equal.
    labels: columns that the objective or the choice of the best epoch names, (B, ...) each, of the first row of every window.
    """

    obs: Tensor | None
    action: Tensor
    obs_id: Tensor
    latent: Tensor | None = None
    weight: float = 1.0
    labels: dict[str, Tensor] = field(default_factory=dict)


class Encoder(Protocol):
    """obs (B, C, H, W), float in [0, 1], or a table of N rows (B, N, F), float  ->  Latent of (B, K, D).

    `gives`: the kind of its latents, vectors (the default), gaussian, categorical, whitened or clips; objectives
    need certain kinds.
    `trained_by`: the override that a refusal names where an objective needs another kind.

    A class with `takes_bytes = True` is given frames as uint8; its first layer is one of `models.layers.pixels` or
    `models.layers.patches`. Subclasses are given floats in [0, 1] unless they set it themselves.

    One whose latents are clips reads (B, T, C, H, W) and writes one latent for each clip.
    """

    def __call__(self, obs: Tensor) -> Latent: ...


class Decoder(Protocol):
    """latent (B, K, D)  ->  parameters of `likelihood` (models/likelihoods.py): (B, C, H, W), or a table (B, N, F).

    A class with `learns = False` has nothing to train; runs whose loss trains no decoder keep it.
    """

    likelihood: nn.Module

    def __call__(self, latent: Tensor) -> Tensor: ...


class Transition(Protocol):
    """Predicts the next latent.  latent (B, K, D), action (B, A)  ->  (B, K, D).

    What one can do beyond that (keep a memory, read whole windows, have losses of its own) is an ability of `models.abilities`.
    """

    def __call__(self, latent: Tensor, action: Tensor) -> Tensor: ...
