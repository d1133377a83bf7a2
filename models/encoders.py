"""Encoders: frames to latents, by slots (K = objects), flat (K = 1) or variational (reference section 6)."""

from math import prod

import torch
from torch import Tensor, nn

from models.extractors import MAP_SIZE, extractor
from models.interfaces import Latent


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """The paper's three-layer perceptron, layer norm before its last activation."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.LayerNorm(hidden),
        nn.ReLU(),
        nn.Linear(hidden, outputs),
    )


class SlotEncoder(nn.Module):
    """One map, one slot; the perceptron is shared by the slots.  (B, 3, 50, 50) -> K = num_objects, D = width.

    looks: features of the picture read where the map points and given to the perceptron beside the map, so that a slot
    can tell what its object looks like and not only where it is (`cells` alone); 0 is the published encoder.
    """

    takes_bytes = True

    def __init__(
        self,
        num_objects: int,
        width: int = 128,
        size: str = "medium",
        hidden: int = 512,
        channels: int = 32,
        looks: int = 0,
    ):
        super().__init__()
        if looks and size != "cells":
            raise ValueError(f"looks={looks} needs maps that point at a cell: size=cells, got size={size}")
        self.maps = extractor(size, num_objects, channels)
        self.look = nn.Linear(2 * channels, looks) if looks else None
        self.mlp = mlp(prod(MAP_SIZE[size]) + looks, hidden, width)

    def forward(self, obs: Tensor) -> Latent:
        if self.look is None:
            return Latent(self.mlp(self.maps(obs).flatten(2)))
        features = self.maps[:-3](obs)  # all but the last convolution, its norm and the softmax
        where = self.maps[-3:](features).flatten(2)
        what = self.look(torch.einsum("bkp,bcp->bkc", where, features.flatten(2)))
        return Latent(self.mlp(torch.cat([where, what], -1)))


class FlatEncoder(nn.Module):
    """All maps into one vector.  (B, 3, 50, 50) -> K = 1, D = num_objects * width."""

    takes_bytes = True

    def __init__(self, num_objects: int, width: int = 128, size: str = "medium", hidden: int = 512, channels: int = 32):
        super().__init__()
        self.maps = extractor(size, num_objects, channels)
        self.mlp = mlp(num_objects * prod(MAP_SIZE[size]), hidden, num_objects * width)

    def forward(self, obs: Tensor) -> Latent:
        return Latent(self.mlp(self.maps(obs).flatten(1))[:, None])


class VariationalEncoder(nn.Module):
    """FlatEncoder with a Gaussian over the vector."""

    takes_bytes = True

    def __init__(self, num_objects: int, width: int = 128, size: str = "medium", hidden: int = 512, channels: int = 32):
        super().__init__()
        self.maps = extractor(size, num_objects, channels)
        self.mlp = mlp(num_objects * prod(MAP_SIZE[size]), hidden, 2 * num_objects * width)

    def forward(self, obs: Tensor) -> Latent:
        mean, logvar = self.mlp(self.maps(obs).flatten(1))[:, None].chunk(2, -1)
        return Latent(mean, logvar)
