"""Modular transition: one network per slot, each reading all slots and the whole action (reference section 6).

The K networks are stacked along a leading axis and run as batched matrix products: same functions, same parameter
count as K separate modules, a fraction of the calls.
"""

import torch
from torch import Tensor, nn

from models.actions import per_slot
from models.layers.stacked import LatentStackedLinear, StackedLayerNorm, StackedLinear


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
        actions = per_slot(action, 1, self.num_slots).transpose(0, 1)  # the whole action for every slot
        change = self.net(torch.cat([self.action(actions), self.state(everyone)], -1))
        return latent + change.transpose(0, 1)
