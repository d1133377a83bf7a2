"""InfoNCE's comparisons under the hinge of C-SWM: is it the softmax that helps, or what is compared?"""

import torch
from torch import Tensor

from losses.infonce import squared_distances
from losses.objective import LossTerms, encode_windows, step_windows
from models.interfaces import Batch
from models.processes import gather


class AllPairsHinge:
    """E(prediction, next) + max(0, hinge - E) over the pairs that InfoNCE compares, E the energy of losses/contrastive.py.

    forward: each prediction against all frames of the batch but its true one; backward: each true next frame against all
    predictions but its own; pictures equal to the true one are left out. Each is a mean over the pairs inside the hinge:
    nearly all of thousands lie far outside it, and a mean over all would vanish.
    open_loop: inside a window the model is fed its own predictions.
    """

    def __init__(self, hinge: float = 1.0, sigma: float = 0.5, open_loop: bool = False) -> None:
        self.hinge, self.sigma, self.open_loop = hinge, sigma, open_loop

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop)
        with torch.autocast(latent.device.type, enabled=False):  # distances cancel: they need single precision
            scale = 0.5 / self.sigma**2 / latent.shape[2]
            frame, frames = gather(batch.frame), gather(latent.float().flatten(2))  # (B, T+1), (B, T+1, F)
            predicted = gather(predicted.float().flatten(2)).flatten(0, 1)  # (B T, F)
            positive = scale * (predicted - frames[:, 1:].flatten(0, 1)).pow(2).sum(-1)
            short = (self.hinge - scale * squared_distances(predicted, frames.flatten(0, 1))).clamp(min=0)
            twin = frame[:, 1:].flatten()[:, None] == frame.flatten()[None]  # the true frame itself among them
            short = short.masked_fill(twin, 0)
            backward = short.unflatten(1, frame.shape)[:, :, 1:]
            return {"positive": positive.mean(), "forward": _mean_inside(short), "backward": _mean_inside(backward)}


def _mean_inside(short: Tensor) -> Tensor:
    """Mean of what is above zero."""
    return short.sum() / (short > 0).sum().clamp(min=1)
