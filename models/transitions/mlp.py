"""Monolithic transition: one perceptron over the flat latent and the whole action (AE, VAE; reference section 6)."""

import torch
from torch import Tensor, nn

from models.actions import ActionLinear
from models.layers.precision import LatentLinear


class MLPTransition(nn.Module):
    """latent (B, 1, num_objects * width), action (B, A)  ->  the next latent, as a residual."""

    def __init__(self, num_objects: int, action_size: int, width: int = 128, hidden: int = 512) -> None:
        super().__init__()
        size = num_objects * width
        self.action = ActionLinear(action_size, hidden)
        self.state = nn.Linear(size, hidden)
        self.net = nn.Sequential(
            nn.ReLU(),
            nn.Linear(2 * hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, 2 * hidden),
            nn.LayerNorm(2 * hidden),
            nn.ReLU(),
            LatentLinear(2 * hidden, size),
        )

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        flat = latent.flatten(1)
        return latent + self.net(torch.cat([self.action(action), self.state(flat)], -1)).view_as(latent)
