"""Interaction network (Battaglia et al. 2016): a graph network whose messages also hold what is done to the sender.

In C-SWM a message is read off two states alone, so that a slot never hears that its neighbour is acted on. Where an action on
one object moves another, as a push does, that is what the other would have to hear.
"""

import torch
from torch import Tensor, nn

from models.actions import block_size
from models.transitions.gnn import GNNTransition


class InteractionTransition(GNNTransition):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual. Arguments are those of `GNNTransition`."""

    def __init__(
        self, num_objects: int, action_size: int, width: int = 128, hidden: int = 128, owners: int | None = None
    ) -> None:
        super().__init__(num_objects, action_size, width, hidden, owners)
        self.edge_in = nn.Linear(2 * width + block_size(action_size, self.owners, num_objects), hidden)

    def _sent(self, latent: Tensor, blocks: Tensor) -> Tensor:
        """What a message holds of its sender, (B, K, S): the latent, and what is done to it."""
        return torch.cat([latent, blocks], -1)

    def all_actions(self, latent: Tensor, actions: Tensor) -> Tensor:
        """One step under each of some actions: latent (B, K, D), actions (N, A)  ->  (B, N, K, D), of which messages differ."""
        batch, count = len(latent), len(actions)
        return self(latent.repeat_interleave(count, 0), actions.repeat(batch, 1)).unflatten(0, (batch, count))
