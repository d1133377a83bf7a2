"""Causal transition: one mechanism per slot, which reads only its parents in a graph among the other slots.

A structural model: a mechanism reads the *new* values of its parents, so that an effect of an effect within the same step
passes along the edges (reference section 3; section 6 describes the public learned-edge code and its faults). One thing passes
beside them: every mechanism is told which objects are acted on, whatever the graph, though not what is done to them.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.actions import acted, block_size, per_slot
from models.layers.stacked import LatentStackedLinear, StackedLayerNorm, StackedLinear

GRAPHS = ("learned", "given", "full", "none")
RESPONDS = 0.01  # a slot that moves less than this share of a random pair's distance did not respond
MEMORY = 0.99  # of the running means of responses, for each update
SHARPNESS = 10.0  # structural parameters are few and their gradients small: they move in steps this much larger


class CausalTransition(nn.Module):
    """latent (B, K, D), action (B, A)  ->  the next latent (B, K, D).

    Mechanism v reads: the old slot v, the block of the action that belongs to v, which objects are acted on (K), and the old
    and the new values of its parents.
    graph: learned, a Bernoulli for each edge (`edges`), sampled anew for every row in training with a straight-through
    gradient, so that any loss teaches it (biased: true edges keep their sign, useless ones need the sparsity); given,
    `parents` [child][parent]; none; full, the new values of all slots with smaller indices, the old values of all slots, and
    the whole action: an autoregressive model of all slots together, without a claim about causes. Every order of the slots can
    express the same: with old values of smaller indices alone, a mechanism would miss causes with larger ones.
    Learned edges lead only from slots whose actions move the child: running means of responses tell which.
    categories: the first `categories` numbers of a slot are probabilities of categories; `windows` gives logits for them, and
    `forward` probabilities, given the likeliest categories of the parents and averaged over those of the slot itself. The rest
    of the slot is carried along, and no mechanism reads it. 0: the whole slot is continuous and predicted as a residual.
    sparsity: weight of the expected number of edges in the loss, in units of the loss for each edge.
    owners: how many objects have a block of the action; none: one for each slot. 1: it belongs to no object in particular, so
    every mechanism reads all of it, no response tells who caused it, and no edge is learned.
    """

    def __init__(
        self,
        num_objects: int,
        action_size: int,
        width: int,
        hidden: int = 128,
        graph: str = "learned",
        parents: list | None = None,
        categories: int = 0,
        sparsity: float = 3e-3,
        owners: int | None = None,
    ) -> None:
        super().__init__()
        k = num_objects
        if graph not in GRAPHS:
            raise ValueError(f"graph is one of {', '.join(GRAPHS)}; got '{graph}'; set model.graph=")
        if graph == "learned" and k < 2:
            raise ValueError("learned edges need two objects or more, got 1; use graph=none")
        if graph == "given" and parents is None:
            raise ValueError("graph=given needs the graph, parents=[[0,0],[1,0]] for 0 -> 1; this env names none")
        self.num_slots, self.graph, self.categories, self.sparsity = k, graph, categories, sparsity
        self.owners = k if owners is None else owners
        self.readers = 1 if graph == "full" else self.owners  # whose blocks mechanisms read; of one they read the whole
        fixed = {
            "full": torch.ones(k, k).tril(-1),
            "given": torch.tensor(parents if parents is not None else 0).float(),
        }.get(graph, torch.zeros(k, k))  # fmt: skip
        if fixed.shape != (k, k):
            raise ValueError(f"the given graph is {tuple(fixed.shape)}, the model has {k} slots; expected {k} rows of {k}")
        self.register_buffer("fixed", fixed, persistent=False)
        self.register_buffer("others", 1 - torch.eye(k), persistent=False)
        self.logits = nn.Parameter(torch.full((k, k), 1 / SHARPNESS)) if graph == "learned" else None
        self.register_buffer("moved", torch.zeros(k, k))  # [v, o]: squared change of slot v under an action on o
        self.register_buffer("times", torch.zeros(k))  # updates that saw an action on o, discounted alike
        self.register_buffer("apart", torch.zeros(k))  # squared distance of two random values of slot v

        reads = categories or width
        self.own = StackedLinear(k, reads + k + block_size(action_size, self.readers, k), hidden)
        self.was = StackedLinear(k, k * reads, hidden)
        self.became = StackedLinear(k, k * reads, hidden)
        self.net = nn.Sequential(
            nn.ReLU(),
            StackedLinear(k, hidden, hidden),
            StackedLayerNorm(k, hidden),
            nn.ReLU(),
            LatentStackedLinear(k, hidden, reads),
        )

    # -- the graph ------------------------------------------------------------------------------------------------

    def responses(self) -> Tensor:
        """[v, o]: how far slot v moves under an action on slot o, as a share of a random pair's distance.  (K, K)."""
        mean = self.moved / self.times.clamp(min=1e-6)
        return mean / self.apart.clamp(min=1e-6)[:, None]

    def candidates(self) -> Tensor:
        """[v, o]: whether an edge o -> v may be learned: v responds to o, and o less to v.  (K, K) of 0 and 1."""
        share = self.responses()
        return ((share > RESPONDS) & (share > share.T)).float().fill_diagonal_(0)

    def edges(self) -> Tensor:
        """Probability of every edge, [child, parent].  (K, K) in [0, 1]; 0 and 1 where the graph is not learned."""
        if self.logits is None:
            return self.fixed
        return (SHARPNESS * self.logits).sigmoid() * self.candidates()

    def penalties(self) -> dict[str, Tensor]:
        """Terms every loss takes along: the expected number of edges, weighted."""
        return {} if self.logits is None else {"sparsity": self.sparsity * self.edges().sum()}

    def _mask(self, batch: int) -> Tensor:
        """Graphs that mask the parents, (1 or B, K, K): sampled in training, else the edges likelier than not."""
        if self.logits is None:
            return self.fixed[None]
        if not self.training:
            return (self.edges() > 0.5).float()[None]
        noise = torch.rand(batch, self.num_slots, self.num_slots, device=self.logits.device).clamp(1e-6, 1 - 1e-6)
        soft = (SHARPNESS * self.logits + noise.logit()).sigmoid()
        hard = (soft > 0.5).float()
        return (hard + soft - soft.detach()) * self.candidates()

    @torch.no_grad()
    def track(self, latent: Tensor, action: Tensor) -> None:
        """Update the running means of responses from observed windows.  latent (B, T+1, K, D), action (B, T, A)."""
        read = latent[..., : self.categories or None].float()
        old, new = read[:, :-1].flatten(0, 1), read[:, 1:].flatten(0, 1)
        if len(new) < 2:
            return  # nothing to compare it with
        on = acted(action.flatten(0, 1), self.owners, self.num_slots).float()
        change, count = (new - old).pow(2).sum(-1), on.sum(0)
        present = (count > 0).float()
        keep = 1 - (1 - MEMORY) * present
        with torch.autocast(change.device.type, enabled=False):  # shares are told apart that bfloat16 rounds to the same
            moved = change.T @ on / count.clamp(min=1)
        self.moved.mul_(keep).add_((1 - MEMORY) * present * moved)
        self.times.mul_(keep).add_((1 - MEMORY) * present)
        self.apart.lerp_(2 * new.var(0).sum(-1), 1.0 if not self.apart.any() else 1 - MEMORY)

    # -- prediction -----------------------------------------------------------------------------------------------

    def _own(self, slots: Tensor, action: Tensor) -> Tensor:
        """Features of every mechanism's own slot and of the action.  (B, K, categories or D), (B, A) -> (K, B, hidden)."""
        seen = per_slot(action, self.readers, self.num_slots).transpose(0, 1)
        on = acted(action, self.owners, self.num_slots).expand(self.num_slots, -1, -1)
        return self.own(torch.cat([slots.transpose(0, 1), on, seen], -1))

    def _past(self, mask: Tensor) -> Tensor:
        """Slots whose old values a mechanism reads: its parents, or all where the graph makes no claim about causes."""
        return self.others[None] if self.graph == "full" else mask

    @staticmethod
    def _through(mask: Tensor, slots: Tensor) -> Tensor:
        """The slots that each mechanism reads, others as zeros.  (1 or B, K, K), (B, K, D)  ->  (K, B, K * D)."""
        return (mask.transpose(0, 1)[..., None] * slots).flatten(2)

    def _others(self, old: Tensor, new: Tensor, mask: Tensor) -> Tensor:
        """Features of the old and the new values of every mechanism's parents.  -> (K, B, hidden)."""
        return self.was(self._through(self._past(mask), old)) + self.became(self._through(mask, new))

    def windows(self, latent: Tensor, action: Tensor) -> Tensor:
        """Predictions of all steps; each mechanism reads the true new values of its parents.

        latent (B, T+1, K, D), action (B, T, A)  ->  (B, T, K, categories or D): logits where slots are categorical.
        """
        read, flat = latent[..., : self.categories or None], action.flatten(0, 1)
        old, new = read[:, :-1].flatten(0, 1), read[:, 1:].flatten(0, 1).detach()
        out = self.net(self._own(old, flat) + self._others(old, new, self._mask(len(flat)))).transpose(0, 1)
        return (out if self.categories else old + out).unflatten(0, action.shape[:2])

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        mask = self._mask(len(latent))
        old = self._likeliest(latent) if self.categories else latent
        own, was, new = self._own(old, action), self.was(self._through(self._past(mask), old)), old
        for _ in range(self.num_slots):  # each sweep carries effects along one more edge
            others = was + self.became(self._through(mask, new))
            out = self.net(own + others).transpose(0, 1)
            new = self._likeliest(out) if self.categories else old + out
        if not self.categories:
            return new
        # The average over the slot's own categories: a mechanism that copies passes uncertainty on.
        after = torch.zeros_like(latent[..., : self.categories])
        for category in torch.eye(self.categories, dtype=latent.dtype, device=latent.device):
            given = self.net(self._own(category.expand_as(after), action) + others).transpose(0, 1).softmax(-1)
            after = after + (latent[..., : self.categories] * category).sum(-1, keepdim=True) * given.to(latent.dtype)
        return torch.cat([after, latent[..., self.categories :]], -1)

    def _likeliest(self, probabilities: Tensor) -> Tensor:
        """(B, K, >= categories)  ->  the likeliest category of every slot, one-hot (B, K, categories)."""
        return F.one_hot(probabilities[..., : self.categories].argmax(-1), self.categories).to(probabilities.dtype)
