"""Modular transition: one network per slot, each reading all slots and the whole action (reference section 6).

The K networks are stacked along a leading axis and run as batched matrix products: same functions, same parameter
count as K separate modules, a fraction of the calls.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.layers.precision import exact_product


class StackedLinear(nn.Module):
    """K linear layers side by side, each with torch's own start.  (K, B, inputs) -> (K, B, outputs)."""

    def __init__(self, stack: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = inputs**-0.5
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


class ModularTransition(nn.Module):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual; slot k is moved by network k.

    hidden is shared out: every network gets hidden // num_objects units, times `multiplier`.
    """

    def __init__(self, num_objects: int, action_size: int, width: int = 128, hidden: int = 512, multiplier: int = 1):
        super().__init__()
        k, h = num_objects, multiplier * (hidden // num_objects)
        self.num_slots = k
        self.action = StackedLinear(k, action_size, h)
        self.state = StackedLinear(k, k * width, h)
        self.net = nn.Sequential(
            nn.ReLU(inplace=True),
            StackedLinear(k, 2 * h, h),
            StackedLayerNorm(k, h),
            nn.ReLU(inplace=True),
            StackedLinear(k, h, 2 * h),
            StackedLayerNorm(k, 2 * h),
            nn.ReLU(inplace=True),
            LatentStackedLinear(k, 2 * h, width),
        )

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        everyone = latent.flatten(1).expand(self.num_slots, -1, -1)  # (K, B, K * D)
        action = action.expand(self.num_slots, -1, -1)
        change = self.net(torch.cat([self.action(action), self.state(everyone)], -1))
        return latent + change.transpose(0, 1)
