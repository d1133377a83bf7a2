"""Decoders: latents to the parameters of a likelihood of an observation (reference section 6).  (B, K, D) -> (B, *obs).

shape: of one observation as files hold it, a picture (H, W, C) or a table (N, F).  values: binary or real.
A picture is painted from one map for each slot, a table is written row by row.
"""

from collections.abc import Sequence
from math import prod

from torch import Tensor, nn

from models.encoders.conv import STRIDE, seen_of
from models.encoders.maps import map_shape
from models.encoders.slots import mlp
from models.layers.columns import Columns, units_of
from models.layers.patches import PatchConvTranspose2d
from models.layers.precision import LatentLinear
from models.likelihoods import likelihood_of


def painter(size: str, slots: int, width: int) -> nn.Sequential:
    """Maps to frames of a board, (B, slots, h, w) -> logits (B, 3, 10 board, 10 board)."""
    if size in ("small", "patch"):
        return nn.Sequential(
            PatchConvTranspose2d(slots, width, 1), nn.ReLU(), PatchConvTranspose2d(width, 3, 10)
        )
    if size == "medium":
        return nn.Sequential(
            PatchConvTranspose2d(slots, width, 5),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 9, padding=4),
        )
    layers = []
    for inputs in (slots, width, width):
        layers += [nn.ConvTranspose2d(inputs, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 3, padding=1))


def conv_painter(slots: int, colors: int, width: int = 64, enlarged: tuple[int, int] | None = None) -> nn.Sequential:
    """Maps to pictures of eight times their side, (B, slots, h, w) -> logits (B, colors, 8 h, 8 w),
    or to enlarged ones (H, W).
    """
    layers = []
    for inputs, outputs in ((slots, width), (width, width // 2)):
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    layers.append(nn.ConvTranspose2d(width // 2, colors, 4, stride=2, padding=1))
    return nn.Sequential(*layers, *([] if enlarged is None else [nn.Upsample(enlarged)]))


def _map_of(shape: tuple[int, ...], board: int, size: str, side: int | None) -> tuple[int, ...]:
    """Shape of a slot's output: its row of a table, or its map."""
    if len(shape) == 2:
        return (shape[1],)
    if board:
        return map_shape(size, board)
    height, width = seen_of(*shape[:2], side)
    return height // STRIDE, width // STRIDE


def _painter(shape: tuple[int, ...], board: int, size: str, slots: int, hidden: int, side: int | None) -> nn.Module:
    if len(shape) == 2:
        return nn.Identity()
    if board:
        return painter(size, slots, hidden)
    return conv_painter(slots, shape[2], enlarged=None if side in (None, shape[0]) else shape[:2])


class SlotDecoder(nn.Module):
    """One slot, one row or map; the perceptron is shared by the slots.

    board: cells along a side of the board that a picture shows; 0, the picture of another scene.  side: pixels along the height
    that such a picture is painted with before it is enlarged; none: all.
    """

    def __init__(
        self, slots: int, width: int = 128, shape: tuple[int, ...] = (50, 50, 3), board: int = 5, size: str = "medium",
        hidden: int = 256, values: str = "binary", variance: str = "unit", side: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        shape = tuple(shape)
        self.map_size = _map_of(shape, board, size, side)
        self.mlp = mlp(width, hidden, prod(self.map_size), LatentLinear, nn.Linear, nn.Linear)
        self.paint = _painter(shape, board, size, slots, hidden, side)
        self.likelihood = likelihood_of(values, shape, variance)

    def forward(self, latent: Tensor) -> Tensor:
        return self.paint(self.mlp(latent).unflatten(-1, self.map_size))


class FlatDecoder(nn.Module):
    """One vector to all rows or maps; arguments as of SlotDecoder."""

    def __init__(
        self, slots: int, width: int = 128, shape: tuple[int, ...] = (50, 50, 3), board: int = 5, size: str = "medium",
        hidden: int = 256, values: str = "binary", variance: str = "unit", side: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        shape = tuple(shape)
        self.shape = (slots, *_map_of(shape, board, size, side))
        self.mlp = mlp(slots * width, hidden, prod(self.shape), LatentLinear, nn.Linear, nn.Linear)
        self.paint = _painter(shape, board, size, slots, hidden, side)
        self.likelihood = likelihood_of(values, shape, variance)

    def forward(self, latent: Tensor) -> Tensor:
        return self.paint(self.mlp(latent).view(-1, *self.shape))


class TableDecoder(nn.Module):
    """The inverse of models/encoders/table.py; its likelihood counts in units of the training split."""

    learns = False

    def __init__(self, shape: Sequence[int], columns: Columns) -> None:
        super().__init__()
        self.register_buffer("units", units_of(columns, shape))
        self.likelihood = likelihood_of("real", tuple(shape))

    def forward(self, latent: Tensor) -> Tensor:
        return self.likelihood.normal(latent * self.units)
