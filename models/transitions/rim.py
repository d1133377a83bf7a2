"""RIM core: recurrent independent mechanisms, of which a few are active at a step (Goyal et al. 2021; reference section 6)."""

from functools import partial

from torch import Tensor

from models.layers.stacked import StackedLinear
from models.transitions.blocks import Blocks, Communication, InputAttention, gru


class RIM(Blocks):
    """x (B, T, inputs), memory (B, units)  ->  (outputs (B, T, units), memory); units are shared out to the blocks.

    active: blocks that read the input, change and attend to the others at a step: those with the most interest in the input.
    The others keep their states, and can be attended to.
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
        super().__init__(inputs, units, blocks, active)
        size = units // blocks
        own = partial(StackedLinear, blocks)
        self.read = InputAttention(own(size, key_size), inputs, key_size, value_size)
        self.from_input, self.from_hidden = own(value_size, 3 * size), own(size, 3 * size)
        self.talk = Communication(own, size, heads, head_size)

    def follow(self, read: Tensor, hidden: Tensor) -> Tensor:
        return gru(self.from_input(read), self.from_hidden(hidden), hidden)
