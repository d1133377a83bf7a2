"""Slots that must be found: attention in which slots compete for the places of a picture (Locatello et al. 2020).

Nothing tells the encoder of cells, of a grid, or where an object is; that there are K is all that it knows. Slots begin as
learned queries in place of draws (as in SAVi and BO-QSA), so that a slot means the same object in two frames, which rollouts
need.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.encoders.trunks import Trunk
from models.layers.pixels import PixelConv2d


class SlotAttention(Trunk, nn.Module):
    """(B, C, H, W), uint8 or float in [0, 1]  ->  (B, slots, channels).

    shape: of a picture as files hold it, (H, W, C).  channels: of features and slots.  iterations: of the attention.
    Two convolutions of stride two, learned embeddings of positions, then the attention.
    """

    no_features = "reads the place that a map points at, and slot attention has no such map; set model.appearance=0"

    def __init__(self, slots: int, shape: Sequence[int], channels: int = 64, iterations: int = 3) -> None:
        super().__init__()
        if len(shape) != 3:
            raise ValueError(f"slot attention looks for objects in a picture, and this env.observation shows a table of shape "
                             f"{tuple(shape)}; set env.observation=pixels, or model=edge")  # fmt: skip
        self.slots, self.numbers, self.slot_numbers = slots, channels, channels
        self.iterations, self.scale = iterations, channels**-0.5
        height, width, colors = shape
        self.look = nn.Sequential(
            PixelConv2d(colors, channels // 2, 5, stride=2, padding=2), nn.BatchNorm2d(channels // 2), nn.ReLU(),
            nn.Conv2d(channels // 2, channels, 5, stride=2, padding=2), nn.ReLU(),
        )  # fmt: skip
        places = -(-height // 4) * -(-width // 4)
        self.places = nn.Parameter(torch.randn(places, channels) * 0.1)
        self.read = nn.Sequential(
            nn.LayerNorm(channels), nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, channels)
        )
        self.queries = nn.Parameter(torch.randn(slots, channels))
        self.norm_places, self.norm_slots = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.key, self.value, self.query = (nn.Linear(channels, channels, bias=False) for _ in range(3))
        self.update = nn.GRUCell(channels, channels)
        self.refine = nn.Sequential(
            nn.LayerNorm(channels), nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels)
        )

    def attend(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Slots (B, K, channels), and the share of every place that each slot has, (B, K, places): sums over slots are 1."""
        features = self.norm_places(self.read(self.look(obs).flatten(2).mT + self.places))
        key, value = self.key(features), self.value(features)
        slots = self.queries.expand(len(obs), -1, -1).to(key.dtype)
        for _ in range(self.iterations):
            share = ((self.query(self.norm_slots(slots)) @ key.mT).float() * self.scale).softmax(1)
            weight = F.normalize(share + 1e-8, p=1, dim=-1).to(value.dtype)
            slots = self.update((weight @ value).flatten(0, 1), slots.flatten(0, 1)).unflatten(0, slots.shape[:2])
            slots = slots + self.refine(slots)
        return slots, share

    def forward(self, obs: Tensor) -> Tensor:
        return self.attend(obs)[0]
