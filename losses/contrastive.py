"""The hinge loss of C-SWM (Kipf et al. 2020, Eq. 5 and 6; reference section 7)."""

from collections.abc import Iterator

import torch
from torch import Tensor

from losses.objective import LossTerms, encode_dist_steps_apart, encode_windows, gives, step_windows
from models.interfaces import Batch
from models.processes import agreed, gather


def energy(a: Tensor, b: Tensor, sigma: float = 0.5) -> Tensor:
    """Squared distance over D, mean over slots, times 0.5 / sigma^2, in single precision.  (B, K, D) x 2 -> (B,)."""
    return 0.5 / sigma**2 * (a.float() - b.float()).pow(2).sum(-1).mean(-1)


def contrastive(
    state: Tensor, predicted: Tensor, target: Tensor, permutation: Tensor, hinge: float = 1.0, sigma: float = 0.5
) -> Tensor:
    """The published loss, a scalar mean over the batch.  state, predicted, target (B, K, D); permutation (B,) long."""
    return torch.stack([*contrastive_terms(state, state[permutation], predicted, target, hinge, sigma).values()]).sum()


def contrastive_terms(
    anchor: Tensor, negative: Tensor, predicted: Tensor, target: Tensor, hinge: float = 1.0, sigma: float = 0.5
) -> LossTerms:
    """The two terms of `contrastive`, each a mean over the batch.  All latents (B, K, D); as many anchors as negatives."""
    return {
        "positive": energy(predicted, target, sigma).mean(),
        "negative": (hinge - energy(anchor, negative, sigma)).clamp(min=0).mean(),
    }


class Contrastive:
    """E(prediction, next) + max(0, hinge - E(anchor, negative)); negatives are permuted states of the batch.

    anchor: "current" compares z_t with permuted z_t, as the authors' code does; "next" compares z_{t+1} with permuted
    z_t, which is Eq. 5 as printed (c-swm issues 3 and 7 ask about this one line).
    Negatives are drawn from torch's own generator, fixed points allowed as published, from the batch of all processes.
    reference: the authors encode x and x' in two passes, each with its own batch statistics; here one pass serves both.
    same_episode: a second negative for every anchor, another frame of its own window: of the same episode, after Biza et al.
    2021 (arXiv 2107.11676). Equal pictures are none. Differs from theirs: one term more, where they replace half of the
    shuffled negatives, and a frame at most a window away, where they take one of the whole episode.
    open_loop: inside a window the model is fed its own predictions.
    """

    def __init__(
        self,
        hinge: float = 1.0,
        sigma: float = 0.5,
        anchor: str = "current",
        reference: bool = False,
        open_loop: bool = False,
        same_episode: bool = False,
    ) -> None:
        if anchor not in ("current", "next"):
            raise ValueError(f"anchor is current or next, got '{anchor}'; set loss.stages.0.objective.anchor=")
        self.hinge, self.sigma, self.anchor = hinge, sigma, anchor
        self.reference, self.open_loop, self.same_episode = reference, open_loop, same_episode

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "vectors")

    def __call__(self, model, batch: Batch) -> LossTerms:
        if self.reference:
            latent = encode_dist_steps_apart(model, batch).mean.unflatten(0, batch.obs.shape[:2])
        else:
            latent = encode_windows(model, batch)
        state, target = latent[:, :-1].flatten(0, 1), latent[:, 1:].flatten(0, 1)
        predicted = step_windows(model, latent, batch.action, self.open_loop).flatten(0, 1)
        anchor = everyone = gather(state)
        if self.anchor == "next":
            anchor = gather(target)
        negative = everyone[agreed(torch.randperm(len(everyone), device=state.device))]
        terms = contrastive_terms(anchor, negative, predicted, target, self.hinge, self.sigma)
        return terms | ({"same_episode": self._same_episode(latent, batch.obs_id)} if self.same_episode else {})

    def _same_episode(self, latent: Tensor, obs_id: Tensor) -> Tensor:
        """The hinge between every anchor and one other frame of its window, drawn evenly.  latent (B, T+1, K, D)."""
        count, frames = obs_id.shape
        first = int(self.anchor == "next")
        mine = torch.arange(first, frames - 1 + first, device=obs_id.device).expand(count, -1)
        other = (mine + torch.randint(1, frames, mine.shape, device=obs_id.device)) % frames
        row = torch.arange(count, device=obs_id.device)[:, None]
        anchor, negative = latent[row, mine].flatten(0, 1), latent[row, other].flatten(0, 1)
        differ = (obs_id[row, mine] != obs_id[row, other]).flatten()
        return ((self.hinge - energy(anchor, negative, self.sigma)).clamp(min=0) * differ).mean()
