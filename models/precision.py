"""Single precision where latents flow, whatever precision runs around it.

The hinge loss lets latents grow to a root mean square of 4 to 5, and what must be predicted is a thousandth of that: less
than one step of bfloat16 at that size. Rounded latents leave the transition without a gradient, and an open loop adds up
what it never learned. So the layers that write latents compute in single precision; the layers between run in bfloat16.
"""

import torch
from torch import Tensor, nn


class InSinglePrecision:
    """Mixin for a layer of one input, before the layer's own class: its output is computed in single precision.

    The gradient is computed in the precision around it: there rounding is relative, and costs nothing that matters.
    """

    def forward(self, x: Tensor) -> Tensor:
        device = x.device.type
        rounded = super().forward(x)
        if rounded.dtype == torch.float32 and not torch.is_autocast_enabled(device):
            return rounded
        with torch.no_grad(), torch.autocast(device, enabled=False):
            lost = super().forward(x.float()) - rounded
        return rounded + lost


class LatentLinear(InSinglePrecision, nn.Linear):
    """torch's linear layer, for latents."""
