"""RIM core: recurrent independent mechanisms, few of which wake at a time (Goyal et al. 2021; reference section 6)."""

from functools import partial

import torch
from torch import Tensor, nn

from models.transitions.blocks import Communication, InputAttention, gru, most_interested
from models.transitions.modular import StackedLinear


class RIM(nn.Module):
    """x (B, T, inputs), memory (B, units)  ->  (outputs (B, T, units), memory); units are shared out to the blocks.

    active: blocks that read, change and ask the others at a step, those most interested in the input; the rest keep
    their state, and may be asked.
    """

    def __init__(
        self,
        inputs: int = 1024,
        units: int = 600,
        blocks: int = 6,
        active: int = 4,
        key_size: int = 64,
        value_size: int = 32,
        heads: int = 4,
        head_size: int = 32,
    ) -> None:
        super().__init__()
        if units % blocks or not 1 <= active <= blocks:
            raise ValueError(f"units={units} must be a multiple of blocks={blocks}, and active={active} from 1 to {blocks}")
        self.inputs, self.units, self.memory_size = inputs, units, units
        self.blocks, self.active, size = blocks, active, units // blocks
        own = partial(StackedLinear, blocks)
        self.read = InputAttention(own(size, key_size), inputs, key_size, value_size)
        self.from_input, self.from_hidden = own(value_size, 3 * size), own(size, 3 * size)
        self.talk = Communication(own, size, heads, head_size)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        hidden = memory.unflatten(-1, (self.blocks, -1)).transpose(0, 1)  # (K, B, size)
        outputs = []
        for key, value in zip(*self.read.offer(x)):
            read, interest = self.read(hidden, key, value)
            awake = most_interested(interest, self.active)
            changed = self.talk(torch.where(awake, gru(self.from_input(read), self.from_hidden(hidden), hidden), hidden))
            hidden = torch.where(awake, changed, hidden)
            outputs.append(hidden)
        outputs = torch.stack(outputs).permute(2, 0, 1, 3).flatten(2)  # (T, K, B, size) -> (B, T, units)
        return outputs, outputs[:, -1]
