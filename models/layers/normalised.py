"""Real values in units of the training split, whose mean and spread are buffers and stand in checkpoints."""

import torch
from torch import Tensor, nn

LEAST = 1e-6  # an entry that spreads less is constant, and its spread is 1


class Normalised(nn.Module):
    """(B, *shape)  ->  (value - mean) / spread, entry by entry, in single precision.

    Before `fit` the mean is 0 and the spread 1.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("spread", torch.ones(shape))

    def fit(self, mean: Tensor, spread: Tensor) -> None:
        """Set both, each of the shape of one observation."""
        self.mean.copy_(mean)
        self.spread.copy_(torch.where(spread > LEAST, spread, 1.0))

    def forward(self, values: Tensor) -> Tensor:
        return (values.float() - self.mean) / self.spread

    def inverse(self, normal: Tensor) -> Tensor:
        """Inverse of `forward`."""
        return normal.float() * self.spread + self.mean
