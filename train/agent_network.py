"""What an agent's policy and value share: a look at every cell of frame and goal (or their factors), then a perceptron."""

import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from models.extractors import CellPatches


class FrameAndGoal(nn.Module):
    """The same small convolutional network on frame and goal, (B, 6, 50, 50) -> (B, 2 * channels * 25).

    Frames are a 5x5 grid of cells of 10x10 pixels: the first convolution sees one cell at a time.
    """

    def __init__(self, channels: int, maps: int) -> None:
        super().__init__()
        self.look = nn.Sequential(CellPatches(channels), nn.ReLU(), nn.Conv2d(channels, maps, 1), nn.ReLU())

    def forward(self, board: Tensor) -> Tensor:
        return self.look(board.unflatten(1, (2, 3)).flatten(0, 1)).reshape(len(board), -1)


class SharedFeatures(BaseFeaturesExtractor):
    """Board, goal and remaining actions of `GoalEpisodes` -> (B, hidden)."""

    def __init__(self, space, channels: int, maps: int, hidden: int) -> None:
        super().__init__(space, hidden)
        pixels = len(space["board"].shape) == 3
        self.see = FrameAndGoal(channels, maps) if pixels else nn.Identity()
        numbers = 2 * 25 * maps if pixels else space["board"].shape[0]
        self.think = nn.Sequential(
            nn.Linear(numbers + space["remaining"].shape[0], hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )

    def forward(self, observation: dict[str, Tensor]) -> Tensor:
        return self.think(torch.cat([self.see(observation["board"]), observation["remaining"]], 1))
