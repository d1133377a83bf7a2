"""LSTM core: one layer over the whole window in one call (reference section 6)."""

import torch
from torch import Tensor, nn

from models.layers.precision import recurrent


class LSTM(nn.Module):
    """x (B, T, inputs), memory (B, 2 * units)  ->  (outputs (B, T, units), memory); memory is [hidden, cell]."""

    def __init__(self, inputs: int = 1024, units: int = 600) -> None:
        super().__init__()
        self.inputs, self.units, self.memory_size = inputs, units, 2 * units
        self.layer = nn.LSTM(inputs, units, batch_first=True)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        hidden, cell = (part.contiguous()[None] for part in memory.chunk(2, -1))
        outputs, (hidden, cell) = recurrent(self.layer, x, (hidden, cell))
        return outputs, torch.cat([hidden[0], cell[0]], -1)
