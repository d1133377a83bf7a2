"""Transformer over slots: every slot attends to all, and in training some objects are hidden whole (C-JEPA).

The object-level masking of C-JEPA (Nam et al. 2026, arXiv 2602.11389), for one step: what a hidden object does next must be
told from what the others show. Theirs hides objects over a history of frames. Ours has one frame, since a latent here is a
state, and the residual still carries a hidden object's latent: what must be told from the others is how it changes.
"""

import torch
from torch import Tensor, nn

from models.actions import ActionLinear
from models.layers.precision import LatentLinear


class TransformerTransition(nn.Module):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual.

    Every slot is a token: its latent, an embedding of its own, and the whole action with weights of its own. Pre-norm layers.
    hidden_share: the chance of a slot to be hidden in training; then its token holds neither its latent nor the action.
    """

    def __init__(
        self, num_objects: int, action_size: int, width: int = 128, hidden: int = 128, layers: int = 2, heads: int = 4,
        hidden_share: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if not 0 <= hidden_share < 1:
            raise ValueError(f"hidden_share is a number from 0 to below 1, got {hidden_share}; set model.hidden_share=")
        self.hidden_share = hidden_share
        self.state = nn.Linear(width, hidden)
        self.slot_action = ActionLinear(action_size, num_objects * hidden)
        self.slot = nn.Parameter(torch.randn(num_objects, hidden) * 0.02)
        self.unseen = nn.Parameter(torch.randn(hidden) * 0.02)  # in place of hidden slots; without any it stays as it is drawn
        layer = nn.TransformerEncoderLayer(hidden, heads, 2 * hidden, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(hidden), enable_nested_tensor=False)
        self.change = LatentLinear(hidden, width)

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        tokens = self.state(latent) + self.slot_action(action).view(*latent.shape[:2], -1)
        if self.training and self.hidden_share:
            hidden = torch.rand(latent.shape[:2], device=latent.device) < self.hidden_share
            tokens = torch.where(hidden[..., None], self.unseen.to(tokens.dtype), tokens)
        return latent + self.change(self.layers(tokens + self.slot))
