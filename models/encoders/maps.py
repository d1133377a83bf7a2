"""BoardMaps: frames of a grid board, uint8 or float in [0, 1], to one map for each slot.

(B, 3, 10 board, 10 board) -> (B, slots, h, w) on a board of board x board cells.
"""

from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.encoders.trunks import Trunk
from models.layers.cells import of_each_cell
from models.layers.patches import PatchConv2d, patches_of
from models.layers.pixels import PixelConv2d, to_float

PER_CELL = {"patch": 1, "small": 1, "medium": 2, "large": 10}  # points of a map along one side of a cell
CELL = 10  # pixels along one side


def map_shape(size: str, board: int) -> tuple[int, int]:
    """(h, w) of the maps. Raises ValueError on a size for pictures of no board."""
    if size not in PER_CELL:
        raise ValueError(
            f"size '{size}' reads pictures of no board; on a board set model.size= to one of {', '.join(PER_CELL)}"
        )
    return (PER_CELL[size] * board,) * 2


def _xavier(module: nn.Module) -> None:
    """Xavier weights and zero biases for convolutions; everything else keeps torch's own start (reference section 6)."""
    if isinstance(module, nn.Conv2d):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)


class CellSoftmax(nn.Module):
    """Softmax over the cells of every map, with one learned temperature: a map says where its object is."""

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, maps: Tensor) -> Tensor:
        return (maps.flatten(2).float() * self.log_scale.exp()).softmax(-1).view_as(maps)


class CellPatches(nn.Module):
    """Every 10x10 cell as one column of features, (B, 3, 10 N, 10 N) -> (B, outputs, N, N) on N x N cells: a convolution whose
    stride is its kernel, computed as the matrix product it is (several times faster on CPUs)."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * CELL * CELL, outputs)

    def forward(self, obs: Tensor) -> Tensor:
        patches, scale = to_float(patches_of(obs, CELL))
        features = F.linear(patches, self.linear.weight * scale, self.linear.bias)
        return features.permute(0, 3, 1, 2)


def extractor(size: str, num_objects: int, channels: int = 32) -> nn.Sequential:
    """size: small | medium | large (reference section 6), or patch: one more layer, and a softmax over cells.

    To separate a block's shade from its area takes a nonlinear layer on the cell, for which `small` is too narrow. The maps of
    `patch` start with positive weights: features of a block are larger than those of the empty board, so every map begins on
    the blocks. Maps that began on empty cells stayed there in 4 of 10 trainings, and their blocks were lost.
    """
    map_shape(size, 1)  # refuses a size that reads no board
    if size == "patch":
        layers = [
            CellPatches(4 * channels),
            nn.BatchNorm2d(4 * channels),
            nn.ReLU(),
            PatchConv2d(4 * channels, 2 * channels, 1),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
            PatchConv2d(2 * channels, num_objects, 1),
            nn.BatchNorm2d(num_objects),  # its gains are the temperatures of the maps; without it maps go flat
            CellSoftmax(),
        ]
    elif size == "small":
        layers = [
            PatchConv2d(3, channels, CELL),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            PatchConv2d(channels, num_objects, 1),
            nn.Sigmoid(),
        ]
    elif size == "medium":
        layers = [
            PixelConv2d(3, channels, 9, padding=4),
            nn.BatchNorm2d(channels),
            nn.LeakyReLU(),
            PatchConv2d(channels, num_objects, 5),
            nn.Sigmoid(),
        ]
    else:  # large
        layers = []
        for conv, inputs in ((PixelConv2d, 3), (nn.Conv2d, channels), (nn.Conv2d, channels)):
            layers += [conv(inputs, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()]
        layers += [nn.Conv2d(channels, num_objects, 3, padding=1), nn.Sigmoid()]
    maps = nn.Sequential(*layers).apply(_xavier)
    if size == "patch":
        with torch.no_grad():
            maps[6].weight.abs_()
    return maps


class BoardMaps(Trunk, nn.Sequential):
    """The extractor of a size as a trunk. The maps of `patch` point: each says in which cell its object lies.

    All layers of `small` read every cell by itself, and so do those of `patch` but the softmax.
    """

    def __init__(self, slots: int, board: int = 5, size: str = "medium", channels: int = 32) -> None:
        super().__init__(*extractor(size, slots, channels))
        self.within_cells = {"patch": len(self) - 1, "small": len(self)}.get(size, 0)
        self.slots, self.positions = slots, prod(map_shape(size, board))
        self.numbers = self.slot_numbers = self.positions
        self.features = 2 * channels if size == "patch" else 0
        self.no_features = f"needs maps that point at a cell: size=patch, got size={size}"

    def forward(self, obs: Tensor) -> Tensor:
        if not self.within_cells:
            return super().forward(obs)
        layers = list(self)
        maps = of_each_cell(layers[: self.within_cells], obs, CELL)
        for layer in layers[self.within_cells :]:
            maps = layer(maps)
        return maps

    def points(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        if not self.features:
            return super().points(obs)
        layers = list(self)
        where = features = of_each_cell(layers[:-3], obs, CELL)  # all but the last convolution, its norm and the softmax
        for layer in layers[-3:]:
            where = layer(where)
        return where.flatten(2), features.flatten(2)
