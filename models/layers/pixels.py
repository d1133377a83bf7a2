"""Pixels stay bytes up to the first layer, a quarter of the traffic; its weights carry the division by 255."""

import torch
from torch import Tensor, nn


def to_float(obs: Tensor) -> tuple[Tensor, float]:
    """obs of any shape, uint8 or float in [0, 1] -> (its numbers in the precision of autocast, their scale to [0, 1])."""
    if obs.dtype != torch.uint8:
        return obs, 1.0
    device = obs.device.type  # bytes are exact in bfloat16 too
    return obs.to(torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else torch.float32), 1 / 255


def as_obs(stored: Tensor) -> Tensor:
    """Observations as a file or a world gives them, uint8, in the layout of models: frames (B, H, W, 3) -> (B, 3, H, W),
    still bytes; factors (B, N, F) of zeros and ones -> floats, since a byte counts 255 as one."""
    return stored.permute(0, 3, 1, 2) if stored.ndim == 4 else stored.float()


class PixelConv2d(nn.Conv2d):
    """torch's convolution on frames (B, 3, H, W), uint8 or float in [0, 1]."""

    def forward(self, obs: Tensor) -> Tensor:
        x, scale = to_float(obs)
        return self._conv_forward(x, self.weight * scale, self.bias)
