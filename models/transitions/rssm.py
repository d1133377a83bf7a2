"""Recurrent stochastic transition: a memory and a Gaussian over the next latent (the prior of Dreamer's RSSM)."""

import torch
from torch import Tensor, nn

from models.interfaces import Latent
from models.layers.precision import recurrent
from models.transitions.recurrent import RecurrentTransition


class GRU(nn.Module):
    """x (B, T, inputs), memory (B, units)  ->  (outputs (B, T, units), memory)."""

    def __init__(self, inputs: int = 512, units: int = 400) -> None:
        super().__init__()
        self.inputs, self.units, self.memory_size = inputs, units, units
        self.layer = nn.GRU(inputs, units, batch_first=True)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        outputs, memory = recurrent(self.layer, x, memory.contiguous()[None])
        return outputs, memory[0]


class StochasticTransition(RecurrentTransition):
    """As `RecurrentTransition`, with a variance beside the next latent; rollouts go on from its mean.

    logvar is kept between -8 and 2 by a smooth bound, so that no divergence explodes.
    """

    def __init__(self, core: nn.Module, num_objects: int, action_size: int, width: int = 128) -> None:
        super().__init__(core, num_objects, action_size, width)
        self.logvar = nn.Linear(core.units, num_objects * width)

    def prior(self, latent: Tensor, action: Tensor) -> Latent:
        """Of the frames after the first of windows, from zero memory: (B, T+1, K, D), (B, T, A)  ->  (B, T, K, D) each."""
        before = latent[:, :-1]
        outputs, _ = self.core(self.inputs(before, action), self.start(latent[:, 0]))
        logvar = 5 * torch.tanh((self.logvar(outputs).float() + 3) / 5) - 3
        return Latent(before + self.change(outputs).view_as(before), logvar.view_as(before))
