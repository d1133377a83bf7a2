"""SCOFF core: object files that share a few schemata and choose one at every step (Goyal et al. 2020; reference section 6)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.transitions.blocks import Blocks, Communication, InputAttention, gru


class SCOFF(Blocks):
    """x (B, T, inputs), memory (B, units)  ->  (outputs (B, T, units), memory); units are shared out to the files.

    Every schema, a GRU, proposes the next state of every file; the file takes the one its old state attends to most: a
    straight-through Gumbel draw in training, the best in evaluation. All weights are shared by the files, which start
    alike; `names` are added to their queries, without which they would stay alike for ever.
    """

    def __init__(
        self,
        inputs: int = 1024,
        units: int = 600,
        files: int = 4,
        active: int = 3,
        schemata: int = 2,
        key_size: int = 64,
        value_size: int = 32,
        heads: int = 4,
        head_size: int = 32,
    ) -> None:
        super().__init__(inputs, units, files, active)
        self.schemata, size = schemata, units // files
        self.names = nn.Parameter(torch.randn(files, 1, size))
        self.read = InputAttention(nn.Linear(size, key_size), inputs, key_size, value_size)
        self.from_input = nn.Linear(value_size, schemata * 3 * size)
        self.from_hidden = nn.Linear(size, schemata * 3 * size)
        self.ask, self.propose = nn.Linear(size, key_size), nn.Linear(size, key_size)
        self.talk = Communication(nn.Linear, size, heads, head_size)

    def asking(self, hidden: Tensor) -> Tensor:
        return hidden + self.names

    def follow(self, read: Tensor, hidden: Tensor) -> Tensor:
        """The state each file is led to by the schema it chooses.  read (K, B, value_size), hidden (K, B, size)."""
        of_input, of_hidden = (x.unflatten(-1, (self.schemata, -1)) for x in (self.from_input(read), self.from_hidden(hidden)))
        proposals = gru(of_input, of_hidden, hidden[:, :, None])  # (K, B, S, size)
        scores = (self.ask(hidden)[:, :, None] * self.propose(proposals)).sum(-1) * self.ask.out_features**-0.5
        if self.training:
            choice = F.gumbel_softmax(scores.float(), hard=True)
        else:
            choice = F.one_hot(scores.argmax(-1), self.schemata)
        return (choice[..., None].to(proposals.dtype) * proposals).sum(2)
