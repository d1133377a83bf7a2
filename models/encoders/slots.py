"""Encoder heads: the numbers of a trunk to latents, by slots, flat (K = 1) or variational (reference section 6)."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from models.encoders.trunks import Trunk
from models.interfaces import Latent
from models.layers.precision import LatentLinear


def mlp(inputs: int, hidden: int, outputs: int, *layers: type) -> nn.Sequential:
    """The paper's three-layer perceptron, layer norm before its last activation.

    layers: the classes of its three linear layers; LatentLinear where single precision matters.
    """
    first, second, third = layers
    return nn.Sequential(
        first(inputs, hidden),
        nn.ReLU(inplace=True),
        second(hidden, hidden),
        nn.LayerNorm(hidden),
        nn.ReLU(inplace=True),
        third(hidden, outputs),
    )


def a_slot_each(slots: int, owners: int) -> Iterator[tuple[bool, str]]:
    """The need of an encoder with slots: one for each object that is acted on."""
    yield slots >= owners, (f"actions belong to {owners} objects and the model has {slots} slots; expected a slot for each "
                            f"object, set model.slots={owners} or more")  # fmt: skip


class SlotEncoder(nn.Module):
    """One row of the trunk, one slot; the perceptron is shared by the slots.  obs -> K = trunk.slots, D = width.

    appearance: features of the picture at the position of the map, given to the perceptron beside the map, so that a slot holds
    the appearance of its object and not only its position (for trunks with features); 0 is the published encoder.
    """

    takes_bytes = True
    gives = "vectors"

    def __init__(self, trunk: Trunk, width: int = 128, hidden: int = 512, appearance: int = 0) -> None:
        super().__init__()
        if appearance and not trunk.features:
            raise ValueError(f"appearance={appearance} {trunk.no_features}")
        self.maps = trunk
        self.look = nn.Linear(trunk.features, appearance) if appearance else None
        numbers = trunk.positions + appearance if appearance else trunk.slot_numbers
        self.mlp = mlp(numbers, hidden, width, *[LatentLinear] * 3)

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return a_slot_each(self.maps.slots, spec.action.owners)

    def forward(self, obs: Tensor) -> Latent:
        if self.look is None:
            return Latent(self.mlp(self.maps.rows(obs)))
        where, features = self.maps.points(obs)
        what = self.look(torch.einsum("bkp,bcp->bkc", where, features))
        return Latent(self.mlp(torch.cat([where, what], -1)))


class FlatEncoder(nn.Module):
    """All rows of the trunk into one vector.  obs -> K = 1, D = trunk.slots * width."""

    takes_bytes = True
    gives = "vectors"
    per_entry = 1  # numbers of the output for each entry of the vector

    def __init__(self, trunk: Trunk, width: int = 128, hidden: int = 512) -> None:
        super().__init__()
        self.maps = trunk
        self.mlp = mlp(trunk.slots * trunk.numbers, hidden, self.per_entry * trunk.slots * width, *[LatentLinear] * 3)

    def forward(self, obs: Tensor) -> Latent:
        return Latent(self.mlp(self.maps(obs).flatten(1))[:, None])


class VariationalEncoder(FlatEncoder):
    """FlatEncoder with a Gaussian over the vector."""

    takes_bytes = True
    gives = "gaussian"
    trained_by = "loss=nll"
    per_entry = 2  # mean and log variance

    def forward(self, obs: Tensor) -> Latent:
        mean, logvar = self.mlp(self.maps(obs).flatten(1))[:, None].chunk(2, -1)
        return Latent(mean, logvar)
