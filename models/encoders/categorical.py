"""CategoricalEncoder: the appearance of each slot's object as a category, and the cell in which it lies."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.encoders.slots import a_slot_each
from models.encoders.trunks import Trunk
from models.interfaces import Latent


class CategoricalEncoder(nn.Module):
    """obs -> K slots, D = choices + positions: two one-hot vectors, the appearance and the cell.

    A map points at the cell of its object (`patch` of models/encoders/maps.py); the features of that cell become `choices`
    logits. losses/inverse_action.py alone trains it: one-hot latents pass no gradient.
    A row of a table becomes logits as it stands, and has one position.
    """

    takes_bytes = True
    gives = "categorical"
    trained_by = "loss=inverse_action"

    def __init__(self, trunk: Trunk, choices: int) -> None:
        super().__init__()
        if choices < 2:
            raise ValueError("categorical latents are what actions command of an object, and the actions of this env are "
                             "no choices; set model=modular loss=infonce")  # fmt: skip
        self.choices, self.maps = choices, trunk
        if trunk.features:
            wide = trunk.features
            self.read = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, choices))
        else:
            self.read = nn.Linear(trunk.numbers, choices)

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return a_slot_each(self.maps.slots, spec.action.owners)

    def look(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """obs  ->  logits of the appearance (B, K, choices), attention of each slot (B, K, positions), rows sum to 1."""
        if not self.maps.features:
            return self.read(self.maps(obs)), torch.ones_like(obs[..., :1])
        where, features = self.maps.points(obs)
        return self.read(torch.einsum("bkp,bcp->bkc", where, features.to(where.dtype))), where

    def forward(self, obs: Tensor) -> Latent:
        appearance, where = self.look(obs)
        parts = F.one_hot(appearance.argmax(-1), self.choices), F.one_hot(where.argmax(-1), where.shape[-1])
        return Latent(torch.cat(parts, -1).float())
