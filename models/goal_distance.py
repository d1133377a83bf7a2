"""Distances of a latent from a goal, learned on a frozen encoder; the negative distance is the reward."""

import torch
from torch import Tensor, nn


class SiameseDistance(nn.Module):
    """|f(z) - f(g)|_1 with one perceptron f for both: zero where the two are equal, a metric everywhere.  Ours.

    latent (B, K, D), goal (B, K, D)  ->  (B,) >= 0, in the units of the world's distance.
    """

    def __init__(self, size: int, hidden: int = 256, features: int = 20) -> None:
        super().__init__()
        self.size = size  # of a flattened latent
        self.f = nn.Sequential(
            nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, features)
        )

    def forward(self, latent: Tensor, goal: Tensor) -> Tensor:
        return (self.f(latent.flatten(1)) - self.f(goal.flatten(1))).abs().sum(-1)


class FlatDistance(nn.Module):
    """The published predictor: one hidden layer of 512 on state and goal side by side (reference section 9).

    latent (B, K, D), goal (B, K, D)  ->  (B,).
    """

    def __init__(self, size: int, hidden: int = 512) -> None:
        super().__init__()
        self.size = size  # of a flattened latent
        self.layers = nn.Sequential(nn.Linear(2 * size, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, latent: Tensor, goal: Tensor) -> Tensor:
        return self.layers(torch.cat([latent.flatten(1), goal.flatten(1)], -1)).squeeze(-1)


class OrderedDistance(nn.Module):
    """Number of slots that differ from the goal's, each weighted more than all slots after it together.  Ours.

    order (K,) long: the slots, the most important first.  scale (K,): squared distance of a slot in two random boards.
    latent (B, K, D), goal (B, K, D)  ->  (B,) >= 0; distances of latents decide between equal numbers.
    """

    DIFFERS = 0.1  # of the scale

    def __init__(self, order: Tensor, scale: Tensor) -> None:
        super().__init__()
        weight = torch.empty(len(order))
        weight[order] = 2.0 ** torch.arange(len(order) - 1, -1, -1)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale.clamp(min=1e-12))

    def forward(self, latent: Tensor, goal: Tensor) -> Tensor:
        apart = (latent - goal).pow(2).sum(-1) / self.scale
        return ((apart > self.DIFFERS) * self.weight).sum(-1) + 1e-3 * apart.clamp(max=1).mean(-1)


class LatentDistance(nn.Module):
    """Squared distance of the latents themselves; nothing is learned.  (B, K, D) twice  ->  (B,)."""

    def forward(self, latent: Tensor, goal: Tensor) -> Tensor:
        return (latent - goal).pow(2).flatten(1).sum(-1)
