"""The promises between parts: Encoder, Decoder, Transition, and what flows between them.

A part, or an objective, that cannot do everything has `needs(model, spec) -> (is met, sentence) pairs`; spec is `cfg.spec`.

Letters: B batch, T time, K slots, D slot width, A action width (0: a video; `models.actions`), C H W image.
A latent is always (B, K, D). Monolithic models are K = 1 with D = per-object width x objects; slots are K = objects.
"""

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn


@dataclass
class Latent:
    """What an encoder believes: mean (B, K, D) and, for variational encoders, logvar (B, K, D)."""

    mean: Tensor
    logvar: Tensor | None = None

    def sample(self) -> Tensor:
        """One draw (B, K, D); the mean itself where there is no variance."""
        if self.logvar is None:
            return self.mean
        return self.mean + torch.randn_like(self.mean) * (self.logvar / 2).exp()

    def kl(self) -> Tensor:
        """KL divergence to N(0, I), summed over slots and width, (B,); zero where there is no variance."""
        if self.logvar is None:
            return self.mean.new_zeros(len(self.mean))
        mean, logvar = self.mean.float(), self.logvar.float()
        return -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum((1, 2))


@dataclass
class Batch:
    """B windows of T steps.

    obs (B, T+1, C, H, W) uint8, or tables (B, T+1, N, F) float; action (B, T, A) as `models.actions.vector`
    makes it, A = 0 for a video; action[:, t] leads from obs[:, t] to obs[:, t+1];
    obs_id (B, T+1) int64, equal exactly where two observations are equal.
    latent (B, T+1, K, D): computed beforehand, when the encoder is frozen.
    weight: of this process's mean in the mean over all processes that share the batch; 1 where all shares are equal.
    labels: columns that the objective names, (B, ...) each, of the first row of every window.
    """

    obs: Tensor | None
    action: Tensor
    obs_id: Tensor
    latent: Tensor | None = None
    weight: float = 1.0
    labels: dict[str, Tensor] = field(default_factory=dict)


class Encoder(Protocol):
    """obs (B, C, H, W), float in [0, 1], or a table of N rows (B, N, F), float  ->  Latent of (B, K, D).

    `gives`: the kind of its latents, vectors (where it does not say), gaussian, categorical, whitened or clips; objectives
    ask for one.
    `trained_by`: what to set where an objective asks for another.

    A class that says `takes_bytes = True` is given uint8 frames as they are stored, and floats as they come; its first
    layer is one of `models.layers.pixels` or `models.layers.patches`. Subclasses are given floats until they say so themselves.

    One whose latents are clips reads (B, T, C, H, W) and writes one latent for each clip.
    """

    def __call__(self, obs: Tensor) -> Latent: ...


class Decoder(Protocol):
    """latent (B, K, D)  ->  what `likelihood` (models/likelihoods.py) reads: (B, C, H, W), or a table (B, N, F).

    A class that says `learns = False` is kept by runs whose loss trains no decoder.
    """

    likelihood: nn.Module

    def __call__(self, latent: Tensor) -> Tensor: ...


class Transition(Protocol):
    """Predicts the next latent.  latent (B, K, D), action (B, A)  ->  (B, K, D).

    A transition that can use more of a window in training than one frame (memory of the frames before, or what really
    happened to the other slots) also has `windows(latent (B, T+1, K, D), action (B, T, A)) -> (B, T, K, D)`.

    One that keeps a memory has `start(latent) -> memory (B, M)` and `step(latent, action, memory) -> (latent, memory)`;
    called without a memory it takes the frame for the first it ever saw.

    One that learns by the way has `track(latent, action)`, told every training window, and `penalties() -> named scalars`,
    added to every loss that trains it.
    """

    def __call__(self, latent: Tensor, action: Tensor) -> Tensor: ...
