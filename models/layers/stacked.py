"""K layers side by side, one for each slot: stacked along a leading axis and run as batched matrix products."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.layers.precision import exact_product


class StackedLinear(nn.Module):
    """K linear layers side by side, each with torch's own start.  (K, B, inputs) -> (K, B, outputs); inputs may be 0."""

    def __init__(self, stack: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = inputs**-0.5 if inputs else 0.0
        self.weight = nn.Parameter(torch.empty(stack, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(stack, 1, outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)


class LatentStackedLinear(StackedLinear):
    """The same for latents: its output is computed in single precision."""

    def forward(self, x: Tensor) -> Tensor:
        return exact_product(x, self.weight, self.bias)


class StackedLayerNorm(nn.Module):
    """K layer norms side by side.  (K, B, width) -> (K, B, width)."""

    def __init__(self, stack: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(stack, 1, width))
        self.bias = nn.Parameter(torch.zeros(stack, 1, width))

    def forward(self, x: Tensor) -> Tensor:
        # In the precision of x: single-precision weights would drag everything behind them out of bfloat16.
        return torch.addcmul(self.bias.to(x.dtype), F.layer_norm(x, x.shape[-1:]), self.weight.to(x.dtype))
