"""Reconstruction with a recurrent stochastic state: the evidence bound of Dreamer (Hafner et al. 2019 to 2023).

The posterior reads the frame alone, as in TransDreamer and STORM, since a latent is what one frame says; the prior reads the
memory, the latent before and the action. Rewards and the end of episodes are not predicted.
"""

from collections.abc import Iterator

from torch import Tensor

from losses.nll import decoded
from losses.objective import LossTerms, encode_dist_windows, gives
from models.abilities import Stochastic
from models.interfaces import Batch, Latent


def divergence(q: Latent, p: Latent) -> Tensor:
    """KL of two Gaussians (..., K, D), summed over slots and width, in single precision.  -> (...)"""
    mean, logvar, other, spread = (part.float() for part in (q.mean, q.logvar, p.mean, p.logvar))
    return 0.5 * (spread - logvar + (logvar.exp() + (mean - other).square()) / spread.exp() - 1).sum((-1, -2))


class RecurrentState:
    """reconstruction: of every frame from a draw of its posterior.  dynamics: the prior is drawn to the posterior.
    representation: the posterior to the prior, a tenth as hard; to N(0, 1) at the first frame. Means over frames or
    transitions. Differs from Dreamer: the prior is the frame before and a change, so that `dynamics` also draws the posterior
    of the frame before towards the next one.

    free: nats; a divergence below them costs as much as they, and has no gradient.
    """

    def __init__(self, dynamics: float = 1.0, representation: float = 0.1, free: float = 1.0) -> None:
        self.dynamics, self.representation, self.free = dynamics, representation, free

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        yield isinstance(model.transition, Stochastic), (  # first: of its remedy none of the others is asked
            f"RecurrentState needs a transition with a distribution, and {type(model.transition).__name__} has none; "
            f"set model=rssm"
        )
        yield from gives(self, model, "gaussian")
        yield from decoded(self, model, spec)

    def __call__(self, model, batch: Batch) -> LossTerms:
        obs, shape = batch.obs, batch.obs.shape[:2]
        dist = encode_dist_windows(model, obs, batch.obs_id)
        posterior = Latent(dist.mean.unflatten(0, shape), dist.logvar.unflatten(0, shape))
        latent = posterior.sample() if model.training else posterior.mean
        prior = model.transition.prior(latent, batch.action)
        after, fixed = (Latent(mean[:, 1:], logvar[:, 1:]) for mean, logvar in (
            (posterior.mean, posterior.logvar), (posterior.mean.detach(), posterior.logvar.detach())))  # fmt: skip
        towards = divergence(fixed, prior).clamp(min=self.free).mean()
        back = divergence(after, Latent(prior.mean.detach(), prior.logvar.detach())).clamp(min=self.free).mean()
        first = Latent(posterior.mean[:, 0], posterior.logvar[:, 0]).kl().clamp(min=self.free).mean()
        return {
            "reconstruction": model.decoder.likelihood.nll(model.decoder(latent.flatten(0, 1)), obs.flatten(0, 1)),
            "dynamics": self.dynamics * towards,
            "representation": self.representation * (back + first),
        }
