"""The hinge of C-SWM on the pairs that InfoNCE compares: an ablation of the softmax."""

from collections.abc import Iterator

import torch

from losses.infonce import squared_distances
from losses.objective import LossTerms, encode_windows, gives, step_windows
from models.interfaces import Batch
from models.processes import gather


class AllPairsHinge:
    """E(prediction, next) + max(0, hinge - E(next, nearest other frame)), E the energy of losses/contrastive.py.

    negative: the true next frame takes the role of the prediction in InfoNCE. Candidates are all frames of the batch whose
    pictures differ from it. Only the nearest candidate counts: nearly all of thousands lie far outside the hinge, and a mean
    over all would vanish. Means over the batch's transitions.
    The hinge lies between states, as in C-SWM. Between predictions and frames it has a degenerate optimum: the next state
    plus one constant vector as long as the margin satisfies every negative, and nothing is learned.
    open_loop: inside a window the model is fed its own predictions.
    """

    def __init__(self, hinge: float = 1.0, sigma: float = 0.5, open_loop: bool = False) -> None:
        self.hinge, self.sigma, self.open_loop = hinge, sigma, open_loop

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "vectors")

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop)
        with torch.autocast(latent.device.type, enabled=False):  # distances cancel: they need single precision
            scale = 0.5 / self.sigma**2 / latent.shape[2]
            obs_id, frames = gather(batch.obs_id), gather(latent.float().flatten(2))  # (B, T+1), (B, T+1, F)
            predicted = gather(predicted.float().flatten(2)).flatten(0, 1)  # (B T, F)
            following = frames[:, 1:].flatten(0, 1)
            positive = scale * (predicted - following).pow(2).sum(-1)
            apart = scale * squared_distances(following, frames.flatten(0, 1))
            same = obs_id[:, 1:].flatten()[:, None] == obs_id.flatten()[None]  # the frame itself among them
            nearest = apart.masked_fill(same, torch.inf).amin(1)
            return {"positive": positive.mean(), "negative": (self.hinge - nearest).clamp(min=0).mean()}
