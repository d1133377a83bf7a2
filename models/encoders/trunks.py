"""Trunks turn an observation into a row of numbers for each slot; heads turn these rows into latents.

A head uses no more of its trunk than `Trunk` promises. `configs/sizes.py` chooses the trunk of an observation.
"""

import torch
from torch import Tensor, nn

from models.layers.normalised import Normalised


class Trunk:
    """slots: rows of the output.  numbers: of one row.  slot_numbers: of one row where a head reads every row apart.
    positions: of a map, 1 where there is no map.  features: numbers that `points` reads at a point, 0 where
    it reads none; `no_features` says why.
    """

    slots: int
    numbers: int
    slot_numbers: int
    positions: int = 1
    features: int = 0
    no_features: str = ""

    def rows(self, obs: Tensor) -> Tensor:
        """Every slot's numbers for a perceptron that the slots share: (B, ...)  ->  (B, slots, slot_numbers)."""
        return self(obs).flatten(2)

    def points(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Attention of each slot (B, slots, positions), rows sum to 1, and features of the picture (B, features, positions)."""
        raise ValueError(self.no_features)


class Entities(Trunk, nn.Module):
    """The rows of a table as they stand, (B, N, F)  ->  (B, N, F); real values are normalised by the training split.

    A head that reads every row by itself is given the row's number beside it, one-hot: in a frame the position or the shape of
    an object tells which one it is, in a table nothing does.
    """

    no_features = "reads a picture, and this env.observation shows none; set model.appearance=0"

    def __init__(self, slots: int, numbers: int, values: str = "binary") -> None:
        super().__init__()
        self.slots, self.numbers, self.slot_numbers = slots, numbers, slots + numbers
        self.normal = Normalised((slots, numbers)) if values == "real" else nn.Identity()

    def forward(self, obs: Tensor) -> Tensor:
        return self.normal(obs)

    def rows(self, obs: Tensor) -> Tensor:
        table = self(obs)
        number = torch.eye(self.slots, dtype=table.dtype, device=table.device)
        return torch.cat([table, number.expand(len(table), -1, -1)], -1)
