"""How well the decoder draws what the model predicts."""

import torch
from torch.nn import functional as F

from eval.probes.probe import Row, probe
from eval.rollouts import decode_frames, true_frames


def _reconstruction(model, latent, obs) -> float:
    """Binary cross entropy of decoded predictions, summed over pixels or factors, mean over episodes (nats per frame)."""
    total = 0.0
    for rows in torch.arange(len(obs)).split(512):
        probability = decode_frames(model, latent[rows]).clamp(1e-7, 1 - 1e-7)
        total += F.binary_cross_entropy(probability, true_frames(obs[rows]), reduction="sum").item()
    return total / len(obs)


@probe(
    rows=(Row("test/reconstruction/", "reconstruction (nats)", higher_is_better=False, horizons=(), percent=False),),
    unless=lambda run: "asks a decoder, and the model has none" if run.model.decoder is None else None,
)
def reconstruction(run, data) -> dict[str, float]:
    """Nats per observation."""
    return {f"test/reconstruction/h{h}": _reconstruction(run.model, data.predicted(h), data.obs[:, h]) for h in data.horizons}
