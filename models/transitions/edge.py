"""Pairwise-edge transition: a message for every ordered pair of slots, computed from both slots and the whole action.

The GNN gives slot k its own block of the action. Here each pair has weights of its own for the action, so the order of
slots need not be that of actions.
"""

import torch
from torch import Tensor, nn

from models.actions import ActionLinear
from models.layers.precision import LatentLinear
from models.transitions.gnn import senders


class EdgeTransition(nn.Module):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual."""

    def __init__(self, num_objects: int, action_size: int, width: int = 128, hidden: int = 128) -> None:
        super().__init__()
        k = num_objects
        self.register_buffer("senders", senders(k), persistent=False)
        self.own = nn.Linear(width, hidden)
        self.other = nn.Linear(width, hidden, bias=False)
        self.pair_action = ActionLinear(action_size, k * (k - 1) * hidden)
        self.edge = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.slot_action = ActionLinear(action_size, k * hidden)
        self.node_in = nn.Linear(width + hidden, hidden)
        self.node = nn.Sequential(
            nn.ReLU(), nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(), LatentLinear(hidden, width)
        )

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        batch, k, _ = latent.shape
        others = self.other(latent).index_select(1, self.senders)  # with its gradient twice as fast as an index
        edges = (others + self.pair_action(action).view(batch, k * (k - 1), -1)).view(batch, k, k - 1, -1)
        incoming = self.edge(self.own(latent)[:, :, None] + edges).sum(2)
        node = self.node_in(torch.cat([latent, incoming], -1)) + self.slot_action(action).view(batch, k, -1)
        return latent + self.node(node)
