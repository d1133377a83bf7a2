"""The graph network of C-SWM on rows of a table, in single precision: in open loops, what bfloat16 rounds off adds up."""

import torch
from torch import Tensor

from models.transitions.gnn import GNNTransition


class TracksTransition(GNNTransition):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual; the same under any autocast."""

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        with torch.autocast(latent.device.type, enabled=False):
            return super().forward(latent.float(), action.float())

    def all_actions(self, latent: Tensor, actions: Tensor) -> Tensor:
        with torch.autocast(latent.device.type, enabled=False):
            return super().all_actions(latent.float(), actions.float())
