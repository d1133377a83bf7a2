"""Pairwise-edge transition with memory: every ordered pair of slots remembers the outcomes of its interactions.

What one frame hides shows in consequences: a push that fails tells which block is heavier. The published recurrent models
keep one memory for the whole board and must learn every pair separately. Here one small LSTM is shared by all pairs, each
with a memory of its own. Its input is the edge of the step before, the features from which that step was predicted, times
the observed change: the LSTM need not learn again what a contact is.
"""

import torch
from torch import Tensor, nn

from models.actions import ActionLinear
from models.layers.precision import LatentLinear
from models.transitions.gnn import senders
from models.transitions.lstm import LSTM
from models.transitions.recurrent import WithMemory


class PairwiseLSTMTransition(WithMemory):
    """latent (B, K, D), action (B, A)  ->  the next latent, as a residual.

    hidden: width of an edge; units: of the memory of one pair. The memory also holds the last latent and its edges.
    noise: standard deviation of the noise on the latents that it reads in training. Latents carry traces of the appearance of
    an episode. Without noise the model memorises the weights of the training episodes by them and never uses its memory.
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
        self.sizes = (pairs * self.core.memory_size, k * width, pairs * hidden)
        self.memory_size = sum(self.sizes)
        self.own = nn.Linear(width, hidden)
        self.other = nn.Linear(width, hidden, bias=False)
        self.pair_action = ActionLinear(action_size, pairs * hidden)
        self.edge = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.own_change = nn.Linear(width, hidden)
        self.other_change = nn.Linear(width, hidden, bias=False)
        self.recall = nn.Sequential(nn.Linear(hidden + units, hidden), nn.ReLU())
        self.slot_action = ActionLinear(action_size, k * hidden)
        self.node_in = nn.Linear(width + hidden, hidden)
        self.node = nn.Sequential(
            nn.ReLU(), nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(), LatentLinear(hidden, width)
        )

    def run(self, latent: Tensor, action: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        batch, steps, k, _ = latent.shape
        slots = latent + self.noise * torch.randn_like(latent) if self.training else latent
        met = self._pairwise(self.own(slots), self.other(slots)) + self.pair_action(action).view(batch, steps, self.pairs, -1)
        edges = self.edge(met)  # (B, T, pairs, hidden)
        recalled, memory = self._recall(latent, edges, memory)
        messages = self.recall(torch.cat([edges, recalled], -1)).unflatten(2, (k, k - 1)).sum(3)
        node = self.node_in(torch.cat([slots, messages], -1)) + self.slot_action(action).view(batch, steps, k, -1)
        memory = torch.cat([memory.view(batch, -1), latent[:, -1].flatten(1), edges[:, -1].flatten(1)], -1)
        return latent + self.node(node), memory

    def elsewhere(self, memory: Tensor, seen: Tensor, latent: Tensor) -> Tensor:
        """As of `ComparesFrames`; nothing has been met on the other board, as at the start of an episode."""
        nothing = seen.new_zeros(len(seen), 1, self.pairs, self.sizes[2] // self.pairs)
        _, memory = self._recall(seen[:, None], nothing, memory)
        return torch.cat([memory.view(len(seen), -1), latent.flatten(1), nothing.flatten(1)], -1)

    def _recall(self, latent: Tensor, edges: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """latent (B, T, K, D), edges (B, T, pairs, hidden), memory (B, M)  ->  what every pair recalls at every step, (B, T,
        pairs, units), once it has read what the step before came to; and the core's memory."""
        batch, steps = latent.shape[:2]
        memory, before, met_before = memory.split(self.sizes, -1)
        change = latent - torch.cat([before.view_as(latent[:, :1]), latent[:, :-1]], 1)
        outcome = self._pairwise(self.own_change(change), self.other_change(change)).tanh()
        outcomes = torch.cat([met_before.view_as(edges[:, :1]), edges[:, :-1]], 1) * outcome
        # every pair is a row of the core's batch
        recalled, memory = self.core(outcomes.transpose(1, 2).flatten(0, 1), memory.reshape(batch * self.pairs, -1))
        return recalled.view(batch, self.pairs, steps, -1).transpose(1, 2), memory

    def _pairwise(self, own: Tensor, other: Tensor) -> Tensor:
        """Sums over every ordered pair, receivers first: (B, T, K, H) twice  ->  (B, T, pairs, H)."""
        return (own[:, :, :, None] + other.index_select(2, self.senders).unflatten(2, (own.shape[2], -1))).flatten(2, 3)
