"""Graph network transition of C-SWM (Kipf et al. 2020; reference section 6)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.actions import block_size, distinct, per_slot
from models.layers.precision import LatentLinear


def senders(num_slots: int) -> Tensor:
    """The senders to slot 0, then to slot 1, and so on: all other slots, ascending.  (K * (K - 1),)

    Raises ValueError on a single one."""
    if num_slots < 2:
        raise ValueError(f"messages pass between 2 objects or more, got num_objects={num_slots}; set model=modular")
    return torch.nonzero(~torch.eye(num_slots, dtype=torch.bool))[:, 1]


class GNNTransition(nn.Module):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual.

    Slot k receives the block of the action that belongs to object k, which ties the order of slots to that of actions.
    owners: how many objects have a block, 1 if the action belongs to none in particular; none: one for each slot.
    """

    def __init__(
        self, num_objects: int, action_size: int, width: int = 128, hidden: int = 512, owners: int | None = None
    ) -> None:
        super().__init__()
        self.num_slots, self.owners = num_objects, num_objects if owners is None else owners
        self.edge_in = nn.Linear(2 * width, hidden)
        self.edge = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU())
        self.edge_out = nn.Linear(hidden, hidden)
        self.node = nn.Sequential(
            nn.Linear(width + block_size(action_size, self.owners, num_objects) + hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            LatentLinear(hidden, width),
        )
        self.register_buffer("senders", senders(num_objects), persistent=False)

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        blocks = per_slot(action, self.owners, self.num_slots)
        return latent + self.node(torch.cat([latent, blocks, self._incoming(latent, self._sent(latent, blocks))], -1))

    def all_actions(self, latent: Tensor, actions: Tensor) -> Tensor:
        """One step under each of some actions: latent (B, K, D), actions (N, A)  ->  (B, N, K, D).

        Messages do not depend on the action and are computed once, as are nodes that read equal blocks.
        """
        k = self.num_slots
        blocks, block_of = distinct(per_slot(actions, self.owners, k))
        count = len(blocks)
        own, incoming = (part[:, :, None].expand(-1, -1, count, -1) for part in (latent, self._incoming(latent, latent)))
        moves = self.node(torch.cat([own, blocks.expand(len(latent), k, -1, -1), incoming], -1))  # (B, K, count, D)
        slot = torch.arange(k, device=latent.device)
        return latent[:, None] + moves[:, slot, block_of]

    def _sent(self, latent: Tensor, blocks: Tensor) -> Tensor:
        """What a message holds of its sender, (B, K, S): the latent."""
        return latent

    def _incoming(self, latent: Tensor, sent: Tensor) -> Tensor:
        """The sum of the messages to every slot, (B, K, hidden).  sent (B, K, S): what a message holds of its sender."""
        batch, k, width = latent.shape
        # A linear layer on [s_i, s_j] is the sum of two linear layers: K products where pairs would need K (K - 1).
        own, other = self.edge_in.weight.split([width, sent.shape[-1]], 1)
        own, other = F.linear(latent, own, self.edge_in.bias), F.linear(sent, other)
        edges = self.edge(own[:, :, None] + other.index_select(1, self.senders).view(batch, k, k - 1, -1))
        # The last edge layer is linear too, so it is applied once to the sum: sum_j (W h_ij + b) = W sum_j h_ij + (K-1) b
        return F.linear(edges.sum(2), self.edge_out.weight) + (k - 1) * self.edge_out.bias
