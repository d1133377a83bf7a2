"""Encoders: frames to latents, by slots (K = objects), flat (K = 1) or variational (reference section 6).

board: cells along a side of the board that frames show, (B, 3, 10 board, 10 board).
factors > 0: the world shows no frame but F numbers of each object, (B, num_objects, F); they take the place of the maps.
"""

from math import prod

import torch
from torch import Tensor, nn

from models.encoders.maps import extractor, map_shape
from models.interfaces import Latent
from models.layers.precision import LatentLinear


def mlp(inputs: int, hidden: int, outputs: int, *layers: type) -> nn.Sequential:
    """The paper's three-layer perceptron, layer norm before its last activation.

    layers: the classes of its three linear layers; LatentLinear where single precision matters.
    """
    first, second, third = layers
    return nn.Sequential(
        first(inputs, hidden),
        nn.ReLU(inplace=True),
        second(hidden, hidden),
        nn.LayerNorm(hidden),
        nn.ReLU(inplace=True),
        third(hidden, outputs),
    )


def _maps(size: str, num_objects: int, channels: int, factors: int, board: int) -> tuple[nn.Module, int]:
    """What turns an observation into one map for each object, and how many numbers a map has."""
    if factors:
        return nn.Identity(), factors
    return extractor(size, num_objects, channels), prod(map_shape(size, board))


class Numbered(nn.Module):
    """Factors with the object's own number beside them, one-hot; in a frame its place or shape tells a shared perceptron
    which object it reads.  (B, N, F) -> (B, N, F + N)."""

    def forward(self, factors: Tensor) -> Tensor:
        number = torch.eye(factors.shape[1], dtype=factors.dtype, device=factors.device)
        return torch.cat([factors, number.expand(len(factors), -1, -1)], -1)


class SlotEncoder(nn.Module):
    """One map, one slot; the perceptron is shared by the slots.  (B, 3, H, W) -> K = num_objects, D = width.

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
        factors: int = 0,
        board: int = 5,
    ):
        super().__init__()
        if looks and factors:
            raise ValueError(f"looks={looks} reads a picture, and env.observation=state shows none; set model.looks=0")
        if looks and size != "cells":
            raise ValueError(f"looks={looks} needs maps that point at a cell: size=cells, got size={size}")
        if factors:
            self.maps, numbers = Numbered(), num_objects + factors
        else:
            self.maps, numbers = extractor(size, num_objects, channels), prod(map_shape(size, board))
        self.look = nn.Linear(2 * channels, looks) if looks else None
        self.mlp = mlp(numbers + looks, hidden, width, *[LatentLinear] * 3)

    def forward(self, obs: Tensor) -> Latent:
        if self.look is None:
            return Latent(self.mlp(self.maps(obs).flatten(2)))
        features = self.maps[:-3](obs)  # all but the last convolution, its norm and the softmax
        where = self.maps[-3:](features).flatten(2)
        what = self.look(torch.einsum("bkp,bcp->bkc", where, features.flatten(2)))
        return Latent(self.mlp(torch.cat([where, what], -1)))


class FlatEncoder(nn.Module):
    """All maps into one vector.  (B, 3, H, W) -> K = 1, D = num_objects * width."""

    takes_bytes = True
    per_entry = 1  # numbers told of each entry of the vector

    def __init__(
        self,
        num_objects: int,
        width: int = 128,
        size: str = "medium",
        hidden: int = 512,
        channels: int = 32,
        factors: int = 0,
        board: int = 5,
    ):
        super().__init__()
        self.maps, numbers = _maps(size, num_objects, channels, factors, board)
        self.mlp = mlp(num_objects * numbers, hidden, self.per_entry * num_objects * width, *[LatentLinear] * 3)

    def forward(self, obs: Tensor) -> Latent:
        return Latent(self.mlp(self.maps(obs).flatten(1))[:, None])


class VariationalEncoder(FlatEncoder):
    """FlatEncoder with a Gaussian over the vector."""

    takes_bytes = True
    per_entry = 2  # mean and log variance

    def forward(self, obs: Tensor) -> Latent:
        mean, logvar = self.mlp(self.maps(obs).flatten(1))[:, None].chunk(2, -1)
        return Latent(mean, logvar)
