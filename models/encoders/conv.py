"""Pictures of any scene, from one camera or several: where each slot points (ConvMaps),
or all of a map (SceneMaps, SceneTiles).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.encoders.maps import CellSoftmax
from models.encoders.trunks import Trunk
from models.layers.patches import PatchConv2d
from models.layers.pixels import PixelConv2d, to_float

STRIDE = 8  # pixels between two points of a map
SIDES = (32, 256)  # pixels along a side


def seen_of(height: int, width: int, side: int | None = None) -> tuple[int, int]:
    """(height, width) of what is seen of a picture: all of it, or as high as `side`, in the same proportion.

    ValueError on a size that three convolutions of stride two do not divide.
    """
    if side is not None:
        if not 1 <= side <= height:
            raise ValueError(f"pictures of {height} x {width} pixels are shrunk to a side of 1 to {height}, got {side}; set "
                             f"model.side=")  # fmt: skip
        height, width = side, round(width * side / height)
    if not all(SIDES[0] <= side <= SIDES[1] and side % STRIDE == 0 for side in (height, width)):
        raise ValueError(f"pictures are {SIDES[0]} to {SIDES[1]} pixels a side, a multiple of {STRIDE}, got {height} x "
                         f"{width}; {'record others' if side is None else 'set model.side='}")  # fmt: skip
    return height, width


def strided(colors: int, *channels: int) -> nn.Sequential:
    """Convolutions of stride two, one for each number of channels, the first on bytes."""
    layers, inputs = [], colors
    for conv, outputs in zip((PixelConv2d, *[nn.Conv2d] * len(channels)), channels):
        layers += [conv(inputs, outputs, 4, stride=2, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        inputs = outputs
    return nn.Sequential(*layers)


class ConvMaps(Trunk, nn.Module):
    """(B, C, H, W), uint8 or float in [0, 1], C = 3 for each camera  ->  (B, slots, h w / 64 + features).

    side: pixels along the height of the h x w that are seen, means over the picture; none: all pixels. Three convolutions of
    stride two, then a softmax over positions for each slot: a row holds this softmax and the mean of the features under it.
    """

    def __init__(
        self, slots: int, height: int, width: int, colors: int = 3, channels: int = 32, side: int | None = None
    ) -> None:
        super().__init__()
        self.shrinks = side is not None and side < height
        height, width = self.seen = seen_of(height, width, side)
        self.slots, self.features = slots, 2 * channels
        self.positions = (height // STRIDE) * (width // STRIDE)
        self.numbers = self.slot_numbers = self.positions + self.features
        self.trunk = strided(colors, channels, 2 * channels, self.features)
        self.where = nn.Sequential(nn.Conv2d(self.features, slots, 1), nn.BatchNorm2d(slots), CellSoftmax())

    def points(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        if self.shrinks:
            pixels, scale = to_float(obs)
            obs = F.adaptive_avg_pool2d(pixels, self.seen) * scale
        features = self.trunk(obs)
        return self.where(features).flatten(2), features.flatten(2)

    def forward(self, obs: Tensor) -> Tensor:
        where, features = self.points(obs)
        return torch.cat([where, torch.einsum("bkp,bcp->bkc", where, features.to(where.dtype))], -1)


class _WholeMap(Trunk, nn.Module):
    """Rows that one layer reads off all of a map, whose features a trunk gives at every point."""

    def __init__(self, slots: int, trunk: nn.Module, found: int, numbers: int) -> None:
        super().__init__()
        self.slots = slots
        self.numbers = self.slot_numbers = numbers
        self.trunk = trunk
        self.read = nn.Sequential(nn.Linear(found, slots * numbers), nn.LayerNorm(slots * numbers), nn.ReLU())

    def _rows(self, maps: Tensor) -> Tensor:
        return self.read(maps.flatten(1)).unflatten(1, (self.slots, self.numbers))


class SceneMaps(_WholeMap):
    """(B, C, H, W) as ConvMaps  ->  (B, slots, numbers), read off a whole map by one layer.

    What a point of ConvMaps leaves out, as the bend of a finger, stays. Half of its channels: the first layers cost most.
    """

    no_features = "points at places, and size=whole keeps whole maps; set model.appearance=0"

    def __init__(
        self, slots: int, height: int, width: int, colors: int = 3, channels: int = 16, numbers: int = 128
    ) -> None:
        height, width = seen_of(height, width)
        trunk = strided(colors, channels, 2 * channels, 4 * channels).to(memory_format=torch.channels_last)
        super().__init__(slots, trunk, 4 * channels * (height // STRIDE) * (width // STRIDE), numbers)

    def forward(self, obs: Tensor) -> Tensor:
        return self._rows(self.trunk(obs.contiguous(memory_format=torch.channels_last)))


class SceneTiles(_WholeMap):
    """As SceneMaps, where the map is of tiles of eight by eight pixels, each a small perceptron's: twice as many pictures a
    minute, and as much is read off a picture."""

    no_features = SceneMaps.no_features.replace("whole", "tiles")

    def __init__(
        self, slots: int, height: int, width: int, colors: int = 3, channels: int = 64, numbers: int = 128
    ) -> None:
        height, width = seen_of(height, width)
        layers: list[nn.Module] = []
        for inputs, kernel in ((colors, STRIDE), (channels, 1)):
            layers += [PatchConv2d(inputs, channels, kernel), nn.BatchNorm2d(channels), nn.ReLU()]
        super().__init__(slots, nn.Sequential(*layers), channels * (height // STRIDE) * (width // STRIDE), numbers)

    def forward(self, obs: Tensor) -> Tensor:
        return self._rows(self.trunk(obs).permute(0, 2, 3, 1))  # as they lie in memory
