"""TableEncoder: a table divided by given units. Nothing is learned, and predictions are tables again."""

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
