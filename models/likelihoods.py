"""Likelihoods of observations under a decoder; every decoder owns one.

outputs: of the decoder's last layer.  mean: the observation that they predict.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.layers.normalised import Normalised

VARIANCES = ("unit", "learned")


class Bernoulli(nn.Module):
    """Numbers in [0, 1], as bytes / 255 and one-hot tables are; outputs are logits."""

    def mean(self, outputs: Tensor) -> Tensor:
        """outputs  ->  numbers in [0, 1], of the same shape."""
        return outputs.sigmoid()

    def nll(self, outputs: Tensor, obs: Tensor) -> Tensor:
        """Binary cross entropy, summed over an observation, mean over observations.  obs uint8, or float in [0, 1]."""
        target = obs.float() / 255 if obs.dtype == torch.uint8 else obs
        return F.binary_cross_entropy_with_logits(outputs.float(), target, reduction="sum") / len(obs)

    def distance(self, mean: Tensor, obs: Tensor) -> Tensor:
        """Binary cross entropy of a mean, float, and observations in [0, 1], summed over all."""
        return F.binary_cross_entropy(mean.clamp(1e-7, 1 - 1e-7), obs, reduction="sum")


class Gaussian(nn.Module):
    """Tables of real values (B, N, F); outputs are the mean in units of the training split (`Normalised`).

    variance: unit, or learned, one for each of the F columns, at least e^-8 of the column's own in the training split.
    """

    def __init__(self, shape: tuple[int, int], variance: str = "unit") -> None:
        super().__init__()
        if variance not in VARIANCES:
            raise ValueError(f"variance is {' or '.join(VARIANCES)}, got '{variance}'; set model.module.decoder.variance=")
        self.normal = Normalised(tuple(shape))
        self.log_variance = nn.Parameter(torch.zeros(shape[-1])) if variance == "learned" else None

    def mean(self, outputs: Tensor) -> Tensor:
        """outputs  ->  a table in its own units."""
        return self.normal.inverse(outputs)

    def _nats(self, outputs: Tensor, obs: Tensor) -> Tensor:
        squared = (outputs.float() - self.normal(obs)).square()
        if self.log_variance is None:
            return 0.5 * (squared + math.log(2 * math.pi))
        log_variance = self.log_variance.clamp(min=-8)
        return 0.5 * (squared * (-log_variance).exp() + log_variance + math.log(2 * math.pi))

    def nll(self, outputs: Tensor, obs: Tensor) -> Tensor:
        """Nats of the normalised values, summed over an observation, mean over observations, a scalar."""
        return self._nats(outputs, obs).sum() / len(obs)

    def distance(self, mean: Tensor, obs: Tensor) -> Tensor:
        """Nats of observations under a mean, summed over all."""
        device = self.normal.mean.device
        return self._nats(self.normal(mean.to(device)), obs.to(device)).sum()


def likelihood_of(values: str, shape: tuple[int, ...], variance: str = "unit") -> nn.Module:
    """The likelihood of an observation's values, binary or real.  ValueError on real pictures: nothing decodes them."""
    if values == "binary":
        return Bernoulli()
    if len(shape) != 2:
        raise ValueError(f"real values are decoded as a table (N, F), got a picture of shape {tuple(shape)}; "
                         f"use a loss without a decoder, as loss=infonce")  # fmt: skip
    return Gaussian(shape, variance)
