"""How far decoded blocks are from where a goal has them, and how far a finger is from where it could push them there."""

from torch import Tensor, nn
from torch.nn import functional as F

from envs.problem import Problem
from envs.protocols import Blocks

BEHIND = 0.05  # metres from the centre of a block, on the side away from the goal: where a tip that pushes it would be
TIPS = 0.2  # metres of a block that a metre of the nearest tip counts
NEAR = 0.02  # metres from the goal, within which the tips count less and less


class BlocksDistance(nn.Module):
    """latent (B, K, D), goal (B, K, D)  ->  (B,) metres, the mean over blocks. Nothing is learned: the model's decoder tells.

    world: `Blocks` that are shown as a table. The way of the tips is what lets a search of short plans begin to push.
    """

    def __init__(self, model, world) -> None:
        super().__init__()
        self.check(model, world)
        self.model, self.world = model, world

    @staticmethod
    def check(model, world) -> None:
        """Raises Problem where no blocks can be read."""
        if not isinstance(world, Blocks) or len(world.shown.shape) != 2:
            raise Problem(f"reward=blocks reads blocks off a table, and models of {type(world).__name__} are shown "
                          f"{world.observation}; set reward=siamese")  # fmt: skip
        if model.decoder is None:
            raise Problem("reward=blocks asks a decoder, and the model has none; set reward=siamese")

    def forward(self, latent: Tensor, goal: Tensor) -> Tensor:
        table = self.model.decode(latent)
        here, there = self.world.positions(table), self.world.positions(self.model.decode(goal))
        way = there - here
        far = way.norm(dim=-1)
        behind = here - BEHIND * F.normalize(way, dim=-1, eps=1e-6)
        tips = (self.world.tips(table)[:, None] - behind[:, :, None]).norm(dim=-1).amin(-1)
        return (far + TIPS * tips * (far / NEAR).clamp(max=1)).mean(-1)
