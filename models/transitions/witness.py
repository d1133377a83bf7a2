"""Transition with memory that is shown what its last action changed, and thinks before and after it remembers.

What hides in one frame shows in consequences: that a push failed tells which block is heavier. The published recurrent
models must notice it through their gates alone; here the change since the last frame and the action behind it are input,
and perceptrons read the scene and answer, so that the core has nothing to do but remember.
"""

import torch
from torch import Tensor, nn

from models.transitions.recurrent import WithMemory


class WitnessTransition(WithMemory):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual; any K, seen as one vector.

    core: as of `RecurrentTransition`; its memory and the last latent and action are the memory of the transition.
    """

    def __init__(self, core: nn.Module, num_objects: int, action_size: int, width: int = 128, hidden: int = 512) -> None:
        super().__init__()
        size = num_objects * width
        self.sizes = (core.memory_size, size, action_size)
        self.memory_size = sum(self.sizes)
        self.read = nn.Sequential(
            nn.Linear(2 * (size + action_size), 2 * hidden),
            nn.ReLU(),
            nn.Linear(2 * hidden, core.inputs),
            nn.LayerNorm(core.inputs),
            nn.ReLU(),
        )
        self.core = core
        self.answer = nn.Sequential(
            nn.Linear(core.inputs + core.units, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, size),
        )

    def run(self, latent: Tensor, action: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        memory, before, did = memory.split(self.sizes, -1)
        now = latent.flatten(2)  # (B, T, K * D)
        change = now - torch.cat([before[:, None], now[:, :-1]], 1)
        did = torch.cat([did[:, None], action[:, :-1]], 1)
        x = self.read(torch.cat([now, change, action, did], -1))
        outputs, memory = self.core(x, memory)
        predicted = latent + self.answer(torch.cat([x, outputs], -1)).view_as(latent)
        return predicted, torch.cat([memory, now[:, -1], action[:, -1]], -1)
