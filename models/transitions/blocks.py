"""Shared parts of recurrent cores made of blocks (RIM, SCOFF): the step, input attention, a GRU, attention among blocks.

Blocks lie along the first axis, hidden (K, B, size); a layer is `StackedLinear` where every block has its own weights
and `nn.Linear` where all share them.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class InputAttention(nn.Module):
    """Each block weighs the input against a null input of key and value zero.

    A softmax over the two is the sigmoid of the difference of their scores.
    """

    def __init__(self, query: nn.Module, inputs: int, key_size: int, value_size: int) -> None:
        super().__init__()
        self.query = query
        self.key = nn.Linear(inputs, key_size, bias=False)
        self.value = nn.Linear(inputs, value_size, bias=False)

    def offer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (T, B, key_size) and values (T, B, value_size) of whole windows x (B, T, inputs)."""
        x = x.transpose(0, 1)
        return self.key(x) * self.key.out_features**-0.5, self.value(x)

    def forward(self, hidden: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """hidden (K, B, size)  ->  (what each block reads (K, B, value_size), its interest (K, B, 1) in [0, 1])."""
        interest = (self.query(hidden) * key).sum(-1, keepdim=True).sigmoid()
        return interest * value, interest


def most_interested(interest: Tensor, active: int) -> Tensor:
    """Mask of the blocks that may change: exactly `active` in every row.  (K, B, 1)  ->  (K, B, 1) bool."""
    chosen = interest.topk(active, 0).indices
    return torch.zeros_like(interest, dtype=torch.bool).scatter(0, chosen, True)


def gru(of_input: Tensor, of_hidden: Tensor, hidden: Tensor) -> Tensor:
    """torch's GRU cell behind its two linear layers; of_input and of_hidden are (..., 3 * size)."""
    size = hidden.shape[-1]
    gates, gates_h = of_input[..., : 2 * size], of_hidden[..., : 2 * size]
    reset, update = (gates + gates_h).sigmoid().chunk(2, -1)
    new = (of_input[..., 2 * size :] + reset * of_hidden[..., 2 * size :]).tanh()
    return new + update * (hidden - new)


class Communication(nn.Module):
    """Attention among blocks, of several heads, as a residual.  (K, B, size) -> same.

    layer(inputs, outputs): what makes queries, keys, values and the residual.
    """

    def __init__(self, layer, size: int, heads: int = 4, head_size: int = 32) -> None:
        super().__init__()
        self.heads = heads
        self.ask = layer(size, 3 * heads * head_size)
        self.out = layer(heads * head_size, size)

    def forward(self, hidden: Tensor) -> Tensor:
        blocks, batch, _ = hidden.shape
        asked = self.ask(hidden).float().view(blocks, batch, 3, self.heads, -1).permute(2, 1, 3, 0, 4)  # (3, B, heads, K, d)
        with torch.autocast(hidden.device.type, enabled=False):  # among a few blocks twice as fast in single precision
            attended = F.scaled_dot_product_attention(*asked.unbind(0))
        return hidden + self.out(attended.permute(2, 0, 1, 3).reshape(blocks, batch, -1)).to(hidden.dtype)


class Blocks(nn.Module):
    """A core whose units are shared out to blocks, of which a few are active at a step: x (B, T, inputs), memory (B, units)  ->
    (outputs (B, T, units), memory).

    A subclass has `read` (InputAttention) and `talk` (Communication). Its `asking` gives the queries to the input, its `follow`
    the next states of active blocks. Other blocks keep their states, and can be attended to.
    """

    def __init__(self, inputs: int, units: int, blocks: int, active: int) -> None:
        super().__init__()
        if units % blocks or not 1 <= active <= blocks:
            raise ValueError(f"units={units} must be a multiple of {blocks} blocks, and active={active} from 1 to {blocks}; "
                             f"set them below model.module.transition.core=")  # fmt: skip
        self.inputs, self.units, self.memory_size = inputs, units, units
        self.blocks, self.active = blocks, active

    def asking(self, hidden: Tensor) -> Tensor:
        """(K, B, size) -> same: the queries to the input; here the states themselves."""
        return hidden

    def follow(self, read: Tensor, hidden: Tensor) -> Tensor:
        """read (K, B, value_size), hidden (K, B, size)  ->  the next states (K, B, size)."""
        raise NotImplementedError

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = self.read.offer(x)
        hidden = memory.to(keys.dtype).unflatten(-1, (self.blocks, -1)).transpose(0, 1)  # (K, B, size)
        outputs = []
        for key, value in zip(keys, values):
            read, interest = self.read(self.asking(hidden), key, value)
            chosen = most_interested(interest, self.active)
            changed = self.talk(torch.where(chosen, self.follow(read, hidden), hidden))
            hidden = torch.where(chosen, changed, hidden)
            outputs.append(hidden)
        outputs = torch.stack(outputs).permute(2, 0, 1, 3).flatten(2)  # (T, K, B, size) -> (B, T, units)
        return outputs, outputs[:, -1].to(memory.dtype)
