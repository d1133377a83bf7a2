"""Pairwise-edge transition with memory: every ordered pair of slots remembers what it saw the two do to each other.

What hides in one frame shows in consequences: that a push failed tells which block is heavier. The published recurrent
models keep one memory for the whole board and must learn every pair apart; here one small LSTM is shared by all pairs,
each with a memory of its own, and is shown what the last action changed.
"""

import torch
from torch import Tensor, nn

from models.transitions.gnn import senders
from models.transitions.lstm import LSTM
from models.transitions.recurrent import WithMemory


class WitnessTransition(WithMemory):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual.

    hidden: width of an edge; units: of the memory of one pair. The last latent and action are remembered beside it.
    noise: standard deviation of what blurs the codes it reads in training. Codes bear traces of how an episode looks, by
    which it would otherwise learn the weights of the training episodes by heart and never come to remember.
    """

    def __init__(
        self,
        num_objects: int,
        action_size: int,
        width: int = 16,
        hidden: int = 64,
        units: int = 32,
        noise: float = 0.3,
    ) -> None:
        super().__init__()
        k, pairs, self.noise = num_objects, num_objects * (num_objects - 1), noise
        self.register_buffer("senders", senders(k), persistent=False)
        self.pairs, self.core = pairs, LSTM(hidden, units)
        self.sizes = (pairs * self.core.memory_size, k * width, action_size)
        self.memory_size = sum(self.sizes)
        self.own = nn.Linear(2 * width, hidden)
        self.other = nn.Linear(2 * width, hidden, bias=False)
        self.pair_action = nn.Linear(2 * action_size, pairs * hidden)
        self.edge = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.recall = nn.Sequential(nn.Linear(hidden + units, hidden), nn.ReLU())
        self.slot_action = nn.Linear(action_size, k * hidden)
        self.node_in = nn.Linear(width + hidden, hidden)
        self.node = nn.Sequential(
            nn.ReLU(), nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, width)
        )

    def run(self, latent: Tensor, action: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        batch, steps, k, _ = latent.shape
        memory, before, did = memory.split(self.sizes, -1)
        change = latent - torch.cat([before.view_as(latent[:, :1]), latent[:, :-1]], 1)
        actions = torch.cat([action, torch.cat([did[:, None], action[:, :-1]], 1)], -1)
        slots = torch.cat([latent, change], -1)
        if self.training:
            slots = slots + self.noise * torch.randn_like(slots)
        others = self.other(slots).index_select(2, self.senders) + self.pair_action(actions).view(batch, steps, self.pairs, -1)
        edges = self.edge(self.own(slots)[:, :, :, None] + others.view(batch, steps, k, k - 1, -1)).flatten(2, 3)
        seen = edges.transpose(1, 2).flatten(0, 1)  # (B * pairs, T, hidden): a pair is a world of its own to the core
        recalled, memory = self.core(seen, memory.reshape(batch * self.pairs, -1))
        messages = self.recall(torch.cat([seen, recalled], -1)).view(batch, k, k - 1, steps, -1).sum(2).transpose(1, 2)
        node = self.node_in(torch.cat([slots[..., : latent.shape[-1]], messages], -1)) + self.slot_action(action).view(batch, steps, k, -1)
        memory = torch.cat([memory.view(batch, -1), latent[:, -1].flatten(1), action[:, -1]], -1)
        return latent + self.node(node), memory
