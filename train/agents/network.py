"""Features shared by policy and value: one perceptron compares the slot of every object with its slot at the goal."""

import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from envs.grid import CELL


class FrameSlots(nn.Module):
    """A small convolutional network, (B, 3, H, W) -> (B, num_objects, width). The first convolution sees a cell at a time."""

    def __init__(self, num_objects: int, channels: int, width: int, cells: int) -> None:
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(3, channels, CELL, CELL), nn.ReLU(), nn.Conv2d(channels, 16, 1), nn.ReLU())
        self.slots = nn.Linear(16 * cells, num_objects * width)
        self.num_objects = num_objects

    def forward(self, frame: Tensor) -> Tensor:
        return self.slots(self.look(frame).flatten(1)).unflatten(1, (self.num_objects, -1))


class SharedFeatures(BaseFeaturesExtractor):
    """What `GoalEpisodes` shows -> (B, hidden).

    Frames become slots, factors are slots already. An object's two slots, and which object it is, are compared by a
    perceptron that all objects share. From factors of five blocks such an agent reaches 90 % of the goals ten steps away
    after 500,000 steps; with one perceptron on everything at once it was 1 % after 330,000.
    """

    def __init__(self, space, num_objects: int, channels: int, width: int, hidden: int) -> None:
        super().__init__(space, hidden)
        shape = space["board"].shape
        frames = len(shape) == 3
        self.see = FrameSlots(num_objects, channels, width, (shape[-1] // CELL) ** 2) if frames else nn.Identity()
        slot = width if frames else shape[1]
        self.compare = nn.Sequential(nn.Linear(2 * slot + num_objects, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        numbers = 32 * num_objects + space["remaining"].shape[0]
        self.think = nn.Sequential(nn.Linear(numbers, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.register_buffer("number", torch.eye(num_objects))

    def forward(self, seen: dict[str, Tensor]) -> Tensor:
        now, goal = self.see(seen["board"].unflatten(1, (2, -1)).flatten(0, 1)).unflatten(0, (-1, 2)).unbind(1)
        compared = self.compare(torch.cat([now, goal, self.number.expand(len(now), -1, -1)], -1))
        return self.think(torch.cat([compared.flatten(1), seen["remaining"]], 1))
