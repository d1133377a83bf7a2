"""The hinge loss of C-SWM against every frame of the batch: what of InfoNCE is its negatives, and what its softmax?"""

import torch

from losses.infonce import squared_distances
from losses.objective import LossTerms, encode_windows, step_windows
from models.interfaces import Batch
from models.processes import gather


class AllPairsHinge:
    """E(prediction, next) + max(0, hinge - E(state, frame)) over all frames of the batch, those of the own window included.

    E is the energy of losses/contrastive.py. The negative term is a mean over the pairs inside the hinge: with thousands of
    frames nearly all lie far outside it, and a mean over all of them would vanish. Frames that show the same picture are
    no negatives of each other.
    open_loop: inside a window the model is fed its own predictions.
    """

    def __init__(self, hinge: float = 1.0, sigma: float = 0.5, open_loop: bool = False) -> None:
        self.hinge, self.sigma, self.open_loop = hinge, sigma, open_loop

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop)
        with torch.autocast(latent.device.type, enabled=False):  # distances cancel: they need single precision
            scale = 0.5 / self.sigma**2 / latent.shape[2]
            positive = scale * (predicted.float().flatten(2) - latent[:, 1:].float().flatten(2)).pow(2).sum(-1)
            frame, frames = gather(batch.frame), gather(latent.float().flatten(2))  # (B, T+1, F)
            states = frames[:, :-1].flatten(0, 1)
            short = (self.hinge - scale * squared_distances(states, frames.flatten(0, 1))).clamp(min=0)
            twin = frame[:, :-1].flatten()[:, None] == frame.flatten()[None]
            short = short.masked_fill(twin, 0)
            return {"positive": positive.mean(), "negative": short.sum() / (short > 0).sum().clamp(min=1)}
