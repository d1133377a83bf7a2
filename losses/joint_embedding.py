"""What objectives without negatives share: the error of predictions, and terms that keep latents from collapsing."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from losses.objective import LossTerms, encode_windows, gives, step_windows
from models.interfaces import Batch
from models.processes import gather


class JointEmbedding:
    """prediction: weight of the squared error, a mean over all numbers of a latent and over transitions.

    open_loop: inside a window the model is fed its own predictions. A subclass has `spread`, in single precision: latents of
    all frames of all processes (N, K, D)  ->  its terms.
    """

    def __init__(self, prediction: float = 1.0, open_loop: bool = False) -> None:
        self.prediction, self.open_loop = prediction, open_loop

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "vectors")

    def spread(self, latent: Tensor) -> LossTerms:
        raise NotImplementedError(f"{type(self).__name__} has no spread")

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop)
        with torch.autocast(latent.device.type, enabled=False):
            error = F.mse_loss(predicted.float(), latent[:, 1:].float())
            return {"prediction": self.prediction * error} | self.spread(gather(latent.float()).flatten(0, 1))
