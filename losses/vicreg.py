"""Prediction error, and latents whose numbers keep their spread and are uncorrelated, so that they cannot collapse.

VICReg (Bardes et al. 2022, Eq. 1 to 6), as joint-embedding world models that plan use it (PLDM: Sobal et al. 2025).
"""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from losses.objective import LossTerms, encode_windows, gives, step_windows
from models.interfaces import Batch
from models.processes import gather


class VICReg:
    """prediction: mean squared error; variance: how far each number's standard deviation is below 1; covariance: squares of
    the other entries of the covariance, for each number of a latent. Over all frames of the batch and the whole latent.

    weights: of the three.  open_loop: inside a window the model is fed its own predictions.
    """

    def __init__(self, prediction: float = 25.0, variance: float = 25.0, covariance: float = 1.0, open_loop: bool = False) -> None:
        self.weights, self.open_loop = (prediction, variance, covariance), open_loop

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "vectors")

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop)
        with torch.autocast(latent.device.type, enabled=False):
            every = gather(latent.float()).flatten(0, 1).flatten(1)  # (N, K D)
            centered = every - every.mean(0)
            covariance = centered.T @ centered / (len(every) - 1)
            spread = (covariance.diagonal() + 1e-4).sqrt()
            rest = covariance - torch.diag(covariance.diagonal())
            prediction, variance, decorrelation = self.weights
            return {
                "prediction": prediction * F.mse_loss(predicted.float(), latent[:, 1:].float()),
                "variance": variance * (1 - spread).clamp(min=0).mean(),
                "covariance": decorrelation * rest.square().sum() / len(rest),
            }
