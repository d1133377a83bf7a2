"""Health of the latents: do they vary, and does every slot?"""

import torch

from eval.probes.probe import Row, no_forecast, probe


def weakest_slot(latent: torch.Tensor) -> float:
    """Spread of the slot that varies least, in percent of the one that varies most; near 0 a slot has lost its object.

    latent (N, K, D); spread: root of the summed variances over the N frames.
    """
    spread = latent.var(0).sum(-1).sqrt()
    return float(100 * spread.min() / spread.max().clamp(min=1e-12))


@probe(unless=no_forecast, rows=(Row("test/weakest_slot", "weakest slot, % of the widest", "health", digits=0),))
def latents(run, data) -> dict[str, float]:
    """latent_spread, near 0 where the encoder collapsed; weakest_slot, percent, where there are several."""
    metrics = {"test/latent_spread": float(data.start.flatten(1).std(0).mean())}
    if data.start.shape[1] > 1:
        metrics["test/weakest_slot"] = weakest_slot(data.start)
    return metrics
