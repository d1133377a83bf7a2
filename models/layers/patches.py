"""Convolutions whose stride is their kernel, written as the matrix products that they are.

Drop-in for torch's own, with the same parameters, names and start, and several times faster on CPUs.
"""

from torch import Tensor, nn
from torch.nn import functional as F

from models.layers.pixels import to_float


def patches_of(x: Tensor, k: int) -> Tensor:
    """(B, C, h k, w k)  ->  (B, h, w, k k C), a row of numbers for each patch.

    In the order in which frames and channels-last features lie in memory: whole stretches of k C numbers are copied, and
    the gradient comes back channels-last, as the layers before expect it.
    """
    batch, channels, height, width = x.shape
    h, w = height // k, width // k
    rows = x.permute(0, 2, 3, 1)[:, : h * k, : w * k].reshape(batch, h, k, w, k * channels)
    return rows.transpose(2, 3).reshape(batch, h, w, -1)


class PatchConv2d(nn.Conv2d):
    """(B, C, h k, w k), uint8 or float  ->  (B, outputs, h, w)."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(inputs, outputs, kernel, stride=kernel)

    def forward(self, x: Tensor) -> Tensor:
        k = self.kernel_size[0]
        patches, scale = to_float(patches_of(x, k))
        outputs = F.linear(patches, self.weight.permute(0, 2, 3, 1).flatten(1) * scale, self.bias)
        return outputs.permute(0, 3, 1, 2)


class PatchConvTranspose2d(nn.ConvTranspose2d):
    """(B, C, h, w)  ->  (B, outputs, h k, w k)."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(inputs, outputs, kernel, stride=kernel)

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, h, w = x.shape
        k = self.kernel_size[0]
        cells = x.permute(0, 2, 3, 1).reshape(-1, channels)
        patches = F.linear(cells, self.weight.flatten(1).T).view(batch, h, w, -1, k, k)
        return patches.permute(0, 3, 1, 4, 2, 5).reshape(batch, -1, h * k, w * k) + self.bias.view(1, -1, 1, 1)
