"""Decoders: latents to the parameters of a likelihood of an observation (reference section 6).  (B, K, D) -> (B, *obs).

shape: of one observation as files hold it, a picture (H, W, C) or a table (N, F).  values: binary or real.
A picture is painted from one map for each slot, a table is written row by row.
"""

from collections.abc import Sequence
from math import prod

from torch import Tensor, nn

from models.encoders.conv import STRIDE, check_picture
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


def conv_painter(slots: int, colors: int, width: int = 64) -> nn.Sequential:
    """Maps to pictures of eight times their side, (B, slots, h, w) -> logits (B, colors, 8 h, 8 w)."""
    layers = []
    for inputs, outputs in ((slots, width), (width, width // 2)):
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width // 2, colors, 4, stride=2, padding=1))


def _map_of(shape: tuple[int, ...], board: int, size: str) -> tuple[int, ...]:
    """Shape of a slot's output: its row of a table, or its map."""
    if len(shape) == 2:
        return (shape[1],)
    if board:
        return map_shape(size, board)
    check_picture(*shape[:2])
    return shape[0] // STRIDE, shape[1] // STRIDE


def _painter(shape: tuple[int, ...], board: int, size: str, slots: int, hidden: int) -> nn.Module:
    if len(shape) == 2:
        return nn.Identity()
    return painter(size, slots, hidden) if board else conv_painter(slots, shape[2])


class SlotDecoder(nn.Module):
    """One slot, one row or map; the perceptron is shared by the slots.

    board: cells along a side of the board that a picture shows; 0, the picture of another scene.
    """

    def __init__(
        self, slots: int, width: int = 128, shape: tuple[int, ...] = (50, 50, 3), board: int = 5, size: str = "medium",
        hidden: int = 256, values: str = "binary", variance: str = "unit",
    ) -> None:  # fmt: skip
        super().__init__()
        shape = tuple(shape)
        self.map_size = _map_of(shape, board, size)
        self.mlp = mlp(width, hidden, prod(self.map_size), LatentLinear, nn.Linear, nn.Linear)
        self.paint = _painter(shape, board, size, slots, hidden)
        self.likelihood = likelihood_of(values, shape, variance)

    def forward(self, latent: Tensor) -> Tensor:
        return self.paint(self.mlp(latent).unflatten(-1, self.map_size))


class FlatDecoder(nn.Module):
    """One vector to all rows or maps; arguments as of SlotDecoder."""

    def __init__(
        self, slots: int, width: int = 128, shape: tuple[int, ...] = (50, 50, 3), board: int = 5, size: str = "medium",
        hidden: int = 256, values: str = "binary", variance: str = "unit",
    ) -> None:  # fmt: skip
        super().__init__()
        shape = tuple(shape)
        self.shape = (slots, *_map_of(shape, board, size))
        self.mlp = mlp(slots * width, hidden, prod(self.shape), LatentLinear, nn.Linear, nn.Linear)
        self.paint = _painter(shape, board, size, slots, hidden)
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
