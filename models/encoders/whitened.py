"""WhitenedEncoder: another encoder's latents turned into uncorrelated directions of equal spread.

The control of static chemistry: the whitened latents of an *untrained* encoder score nearly as well there as those of any
trained one, so a static score says little about perception (recipes section 3).
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from models.encoders.slots import a_slot_each
from models.encoders.trunks import Entities
from models.interfaces import Latent


class WhitenedEncoder(nn.Module):
    """frames -> K = num_slots, D = width: the first num_slots * width principal directions, each of unit variance.

    The inner encoder is frozen as it stands; `fit` sets the directions.
    """

    takes_bytes = True
    gives = "whitened"
    trained_by = "loss=whitened"

    def __init__(self, encoder: nn.Module, inputs: int, num_slots: int, width: int) -> None:
        super().__init__()
        if num_slots * width > inputs:
            raise ValueError(f"whitening finds {inputs} directions at most, {num_slots} slots of width {width} ask for "
                             f"{num_slots * width}; set model.width= to {inputs // num_slots} or less")  # fmt: skip
        self.inner, self.shape = encoder, (num_slots, width)
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("directions", torch.eye(inputs, num_slots * width))

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        yield from a_slot_each(self.shape[0], spec.action.owners)
        table = isinstance(self.inner.maps, Entities)
        yield not table, (
            "an untrained encoder is a control for pictures, and this env.observation has none; set model=modular loss=infonce"
        )
        yield table or self.inner.maps.positions > 1, (
            "whitening reads maps with places, and these keep a map whole; leave model.size= out"
        )

    @torch.no_grad()
    def fit(self, frames: Tensor) -> None:
        """Set mean and directions from frames (M, 3, H, W)."""
        self.inner.eval()
        flat = torch.cat([self.inner(part).mean.flatten(1) for part in frames.split(1024)]).double()
        self.mean.copy_(flat.mean(0))
        values, vectors = torch.linalg.eigh(flat.T.cov())  # ascending
        count = self.directions.shape[1]
        scale = values[-count:].clamp(min=1e-9 * values[-1]).rsqrt()
        self.directions.copy_(vectors[:, -count:] * scale)

    def forward(self, obs: Tensor) -> Latent:
        flat = self.inner(obs).mean.flatten(1).float()
        with torch.autocast(flat.device.type, enabled=False):  # it writes latents: models/layers/precision.py
            return Latent(((flat - self.mean) @ self.directions).unflatten(1, self.shape))
