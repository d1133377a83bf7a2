"""Decoders: latents to frame logits (reference section 6).  (B, K, D) -> (B, 3, 10 board, 10 board).

board: cells along a side.
factors > 0: to the logits of F numbers of each object, (B, num_objects, F), which take the place of the maps.
"""

from math import prod

from torch import Tensor, nn

from models.encoders.maps import map_shape
from models.encoders.slots import mlp
from models.layers.patches import PatchConvTranspose2d
from models.layers.precision import LatentLinear


def _map_shape(size: str, factors: int, board: int) -> tuple[int, ...]:
    return (factors,) if factors else map_shape(size, board)


def painter(size: str, num_objects: int, width: int) -> nn.Sequential:
    """Maps to frames, (B, num_objects, h, w) -> logits (B, 3, 10 board, 10 board)."""
    if size in ("small", "cells"):
        return nn.Sequential(
            PatchConvTranspose2d(num_objects, width, 1), nn.ReLU(), PatchConvTranspose2d(width, 3, 10)
        )
    if size == "medium":
        return nn.Sequential(
            PatchConvTranspose2d(num_objects, width, 5),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 9, padding=4),
        )
    layers = []
    for inputs in (num_objects, width, width):
        layers += [nn.ConvTranspose2d(inputs, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 3, padding=1))


class SlotDecoder(nn.Module):
    """One slot, one map; the perceptron is shared by the slots."""

    def __init__(
        self, num_objects: int, width: int = 128, size: str = "medium", hidden: int = 256, factors: int = 0, board: int = 5
    ):
        super().__init__()
        self.map_size = _map_shape(size, factors, board)
        self.mlp = mlp(width, hidden, prod(self.map_size), LatentLinear, nn.Linear, nn.Linear)
        self.paint = nn.Identity() if factors else painter(size, num_objects, hidden)

    def forward(self, latent: Tensor) -> Tensor:
        return self.paint(self.mlp(latent).unflatten(-1, self.map_size))


class FlatDecoder(nn.Module):
    """One vector to all maps."""

    def __init__(
        self, num_objects: int, width: int = 128, size: str = "medium", hidden: int = 256, factors: int = 0, board: int = 5
    ):
        super().__init__()
        self.shape = (num_objects, *_map_shape(size, factors, board))
        self.mlp = mlp(num_objects * width, hidden, prod(self.shape), LatentLinear, nn.Linear, nn.Linear)
        self.paint = nn.Identity() if factors else painter(size, num_objects, hidden)

    def forward(self, latent: Tensor) -> Tensor:
        return self.paint(self.mlp(latent).view(-1, *self.shape))
