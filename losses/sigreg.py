"""Prediction error, and latents that are pushed towards an isotropic Gaussian so that they cannot collapse (SIGReg).

The regulariser of LeJEPA (Balestriero and LeCun 2025, arXiv 2511.08544), as LeWorldModel uses it for world models: the test
statistic of Epps and Pulley on random directions. There are no negatives, no target network and no stopped gradient. Differs
from LeWorldModel: frames of all steps of the windows are one sample, where it tests each step by itself.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from losses.joint_embedding import JointEmbedding
from losses.objective import LossTerms
from models.processes import agreed

POINTS, REACH = 17, 3.0  # of the characteristic function, which is even: from 0 to 3


def epps_pulley(x: Tensor) -> Tensor:
    """How far each column of x (N, M) is from N(0, 1): the weighted squared distance of characteristic functions, (M,).

    The published statistic is N times it, and would weigh the same latents more in a larger batch.
    """
    t = torch.linspace(0, REACH, POINTS, device=x.device)
    gaussian = (-t.square() / 2).exp()
    weight = torch.full_like(t, 2 * REACH / (POINTS - 1))
    weight[[0, -1]] /= 2
    angle = x.float()[..., None] * t
    apart = (angle.cos().mean(0) - gaussian).square() + angle.sin().mean(0).square()
    return apart @ (weight * gaussian)


class SIGReg(JointEmbedding):
    """The prediction error, plus the statistic of random directions.

    weight: of the statistic.  directions: drawn anew for every batch.  per_slot: every slot is pushed towards a Gaussian of its
    own; else the whole latent is.
    """

    def __init__(self, weight: float = 100.0, directions: int = 64, per_slot: bool = False, open_loop: bool = False) -> None:
        super().__init__(open_loop=open_loop)
        self.weight, self.directions, self.per_slot = weight, directions, per_slot

    def spread(self, latent: Tensor) -> LossTerms:
        every = latent if self.per_slot else latent.flatten(1)[:, None]  # (N, K, D)
        towards = F.normalize(agreed(torch.randn(every.shape[-1], self.directions, device=every.device)), dim=0)
        return {"gaussian": self.weight * epps_pulley((every @ towards).flatten(1)).mean()}
