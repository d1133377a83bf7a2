"""A table taken as it stands, in units that are given or those of the training split: nothing is learned."""

from collections.abc import Sequence

from torch import Tensor, nn

from models.interfaces import Latent
from models.layers.columns import Columns, units_of
from models.layers.normalised import Normalised


class TableEncoder(nn.Module):
    """obs (B, N, F)  ->  K = N, D = F: every number in its unit. Distances between latents are counted in these units."""

    gives = "vectors"

    def __init__(self, shape: Sequence[int], columns: Columns) -> None:
        super().__init__()
        self.register_buffer("units", units_of(columns, shape))

    def forward(self, obs: Tensor) -> Latent:
        return Latent(obs.float() / self.units)


class Tracks(nn.Module):
    """obs (B, N, F)  ->  K = N, D = F: every number less its mean and in units of its spread in the training split."""

    gives = "vectors"

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        if len(shape) != 2:
            raise ValueError(f"tracks are the rows of a table (N, F), and this env.observation shows pictures {tuple(shape)}; "
                             f"show a table by env.observation=, or set model=modular")  # fmt: skip
        self.normal = Normalised(tuple(shape))

    def forward(self, obs: Tensor) -> Latent:
        return Latent(self.normal(obs))
