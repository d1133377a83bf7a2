"""Prediction error, and latents whose numbers keep their spread and are uncorrelated, so that they cannot collapse.

VICReg (Bardes et al. 2022, Eq. 1 to 6), as joint-embedding world models that plan use it (PLDM: Sobal et al. 2025). Two things
differ from the equations: the prediction error is a mean over the numbers of a latent, as in the authors' code, where Eq. 5
sums them; and variance and covariance are of encodings alone, where Eq. 6 takes both branches.
"""

import torch
from torch import Tensor

from losses.joint_embedding import JointEmbedding
from losses.objective import LossTerms


class VICReg(JointEmbedding):
    """variance: how far each number's standard deviation is below 1; covariance: squares of the other entries of the
    covariance, for each number of a latent. Over all frames of the batch and the whole latent.

    prediction, variance, covariance: weights.
    """

    def __init__(
        self, prediction: float = 25.0, variance: float = 25.0, covariance: float = 1.0, open_loop: bool = False
    ) -> None:
        super().__init__(prediction, open_loop)
        self.variance, self.covariance = variance, covariance

    def spread(self, latent: Tensor) -> LossTerms:
        every = latent.flatten(1)  # (N, K D)
        centered = every - every.mean(0)
        covariance = centered.T @ centered / (len(every) - 1)
        deviation = (covariance.diagonal() + 1e-4).sqrt()
        rest = covariance - torch.diag(covariance.diagonal())
        return {
            "variance": self.variance * (1 - deviation).clamp(min=0).mean(),
            "covariance": self.covariance * rest.square().sum() / len(rest),
        }
