"""A table taken as it stands, in units that are given: nothing is learned, and what is predicted can be read off."""

from collections.abc import Sequence

from torch import Tensor, nn

from models.interfaces import Latent
from models.layers.columns import Columns, units_of


class TableEncoder(nn.Module):
    """obs (B, N, F)  ->  K = N, D = F: every number in its unit. Distances between latents are counted in these units."""

    gives = "vectors"

    def __init__(self, shape: Sequence[int], columns: Columns) -> None:
        super().__init__()
        self.register_buffer("units", units_of(columns, shape))

    def forward(self, obs: Tensor) -> Latent:
        return Latent(obs.float() / self.units)
