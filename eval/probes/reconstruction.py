"""How well the decoder draws what the model predicts."""

import torch

from eval.probes.probe import Row, probe
from eval.rollouts import decode_frames, true_frames


def _reconstruction(model, latent, obs) -> float:
    """How far decoded predictions are from the truth, in nats of the decoder's likelihood, mean over episodes."""
    total = 0.0
    for rows in torch.arange(len(obs)).split(512):
        total += model.decoder.likelihood.distance(decode_frames(model, latent[rows]), true_frames(obs[rows])).item()
    return total / len(obs)


@probe(
    rows=(Row("test/reconstruction/", "reconstruction (nats)", higher_is_better=False, horizons=(), percent=False),),
    unless=lambda run: "asks a decoder, and the model has none" if run.model.decoder is None else None,
)
def reconstruction(run, data) -> dict[str, float]:
    """Nats per observation."""
    return {f"test/reconstruction/h{h}": _reconstruction(run.model, data.predicted(h), data.obs[:, h]) for h in data.horizons}
