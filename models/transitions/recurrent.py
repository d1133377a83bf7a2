"""Transitions with memory, and the published one: state and action go through a recurrent core (reference section 6).

Memory is a value and never kept on the module: (B, M), a row for each episode, cut, repeated and permuted as latents
are. Differs from the authors' code: the two input layers are trained.
"""

import torch
from torch import Tensor, nn

from models.actions import ActionLinear
from models.layers.precision import LatentLinear


class WithMemory(nn.Module):
    """Methods of every transition with memory; a subclass has `memory_size` (M) and `run`.

    run: latent (B, T, K, D), action (B, T, A), memory (B, M)  ->  (next latents (B, T, K, D), memory (B, M)).
    """

    def start(self, latent: Tensor) -> Tensor:
        """The memory at the start of an episode, zero: latent (B, K, D)  ->  (B, M)."""
        return latent.new_zeros(len(latent), self.memory_size)

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        return self.step(latent, action, self.start(latent))[0]

    def step(self, latent: Tensor, action: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """One step: latent (B, K, D), action (B, A), memory (B, M)  ->  (next latent (B, K, D), memory (B, M))."""
        predicted, memory = self.run(latent[:, None], action[:, None], memory)
        return predicted[:, 0], memory

    def windows(self, latent: Tensor, action: Tensor) -> Tensor:
        """All steps of windows whose frames are known, from zero memory.  (B, T+1, K, D), (B, T, A)  ->  (B, T, K, D)."""
        return self.run(latent[:, :-1], action, self.start(latent[:, 0]))[0]


class RecurrentTransition(WithMemory):
    """latent (B, K, D) seen as one vector, action (B, A)  ->  the next latent, as a residual.

    core: (x (B, T, inputs), memory (B, M)) -> (outputs (B, T, units), memory (B, M)), with the sizes `inputs`, `units`
    and `memory_size` (M) as attributes; x is half the state's and half the action's.
    """

    def __init__(self, core: nn.Module, num_objects: int, action_size: int, width: int = 128) -> None:
        super().__init__()
        size = num_objects * width
        self.memory_size = core.memory_size
        self.state = nn.Linear(size, core.inputs // 2)
        self.action = ActionLinear(action_size, core.inputs // 2)
        self.core = core
        self.change = LatentLinear(core.units, size)

    def inputs(self, latent: Tensor, action: Tensor) -> Tensor:
        """What the core reads, (B, T, inputs)."""
        return torch.cat([self.state(latent.flatten(2)), self.action(action)], -1)

    def run(self, latent: Tensor, action: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        outputs, memory = self.core(self.inputs(latent, action), memory)
        return latent + self.change(outputs).view_as(latent), memory
