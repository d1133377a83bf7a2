"""CodeEncoder: what each slot's object looks like as a categorical code, and the cell in which it lies."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.encoders.maps import extractor
from models.interfaces import Latent


class CodeEncoder(nn.Module):
    """(B, 3, 50, 50) -> K = num_objects slots, D = num_colors + 25: two one-hot codes, the looks and the cell.

    A map points at the cell of its object (`cells` of models/encoders/maps.py); the features there are read into
    `num_colors` logits. Nothing but losses/inverse_action.py trains it: hard codes pass no gradient.
    factors > 0: (B, K, factors) in place of frames; they are read as they stand, and there is nowhere to look but at them.
    """

    takes_bytes = True

    def __init__(self, num_objects: int, num_colors: int, channels: int = 32, factors: int = 0) -> None:
        super().__init__()
        self.num_colors = num_colors
        if factors:
            self.maps, self.read = None, nn.Linear(factors, num_colors)
            return
        self.maps = extractor("cells", num_objects, channels)
        self.read = nn.Sequential(nn.Linear(2 * channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, num_colors))

    def look(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """obs (B, 3, 50, 50)  ->  logits of the looks (B, K, num_colors), where each slot looks (B, K, 25), rows sum to 1."""
        if self.maps is None:
            return self.read(obs), torch.ones_like(obs[..., :1])
        features = self.maps[:-3](obs)  # all but the last convolution, its norm and the softmax
        where = self.maps[-3:](features).flatten(2)
        return self.read(torch.einsum("bkp,bcp->bkc", where, features.flatten(2).to(where.dtype))), where

    def forward(self, obs: Tensor) -> Latent:
        looks, where = self.look(obs)
        codes = F.one_hot(looks.argmax(-1), self.num_colors), F.one_hot(where.argmax(-1), where.shape[-1])
        return Latent(torch.cat(codes, -1).float())
