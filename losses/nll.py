"""Negative log-likelihood in three stages: reconstruct, predict the latent, then everything together (section 7)."""

from collections.abc import Iterator

import torch
from torch import Tensor

from losses.objective import LossTerms, encode_dist_steps_apart, encode_dist_windows, encode_windows, gives, step_windows
from models.interfaces import Batch


def decoded(objective, model, spec) -> Iterator[tuple[bool, str]]:
    """The needs of a likelihood: latents with a gradient, and a decoder that learns."""
    yield from gives(objective, model, "vectors", "gaussian")
    name = type(objective).__name__
    yield model.decoder is not None, f"{name} decodes, and this model has no decoder; set loss=infonce"
    yield getattr(model.decoder, "learns", True), (
        f"{name} trains a decoder, and {type(model.decoder).__name__} has nothing to learn; set loss=prediction"
    )


def squared_error(predicted: Tensor, target: Tensor) -> Tensor:
    """Summed over the latent, mean over transitions, in single precision.  (N, K, D) x 2 -> scalar."""
    return (predicted.float() - target.float()).pow(2).sum((1, 2)).mean()


class Reconstruction:
    """Stage 1: nll(decode(encode(x)), x), and the KL for variational encoders. The transition is not run."""

    needs = decoded

    def __call__(self, model, batch: Batch) -> LossTerms:
        # As published, the current frames of transitions; the last frame of a window is the current one of none.
        obs = batch.obs[:, :-1]
        dist = encode_dist_windows(model, obs, batch.obs_id[:, :-1])
        latent = dist.sample() if model.training else dist.mean
        terms = {"reconstruction": model.decoder.likelihood.nll(model.decoder(latent), obs.flatten(0, 1))}
        if dist.logvar is not None:
            terms["kl"] = dist.kl().mean()
        return terms


class LatentPrediction:
    """Stage 2: squared error of the transition on a frozen encoder, whose latents may have been computed once.

    reference: the authors leave the frozen encoder in train mode, so batch statistics drift, with a pass for x and one for x',
    and VAE latents are samples.
    open_loop: inside a window the model is fed its own predictions.
    """

    wants_learned_encoder = True  # by some stage, where it has anything to learn

    def __init__(self, reference: bool = False, open_loop: bool = False) -> None:
        self.reference = self.frozen_in_train_mode = reference
        self.open_loop = open_loop
        self.encoder_is_fixed = not reference  # then its latents can be computed once and kept

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "vectors", "gaussian")

    def __call__(self, model, batch: Batch) -> LossTerms:
        with torch.no_grad():
            if self.reference and model.training:
                latent = encode_dist_steps_apart(model, batch).sample().unflatten(0, batch.obs.shape[:2])
            else:
                latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop).flatten(0, 1)
        return {"prediction": squared_error(predicted, latent[:, 1:].flatten(0, 1))}


class JointNLL:
    """Stage 3: likelihood of the current and of the predicted frame, latent error, and both KLs; nothing is detached.

    reference: the authors encode x and x' in two passes, and decode in two, each with its own batch statistics; here one pass
    serves both.
    open_loop: inside a window the model is fed its own predictions.
    """

    needs = decoded

    def __init__(self, reference: bool = False, open_loop: bool = False) -> None:
        self.reference, self.open_loop = reference, open_loop

    def __call__(self, model, batch: Batch) -> LossTerms:
        if self.reference:
            dist = encode_dist_steps_apart(model, batch)
        else:
            dist = encode_dist_windows(model, batch.obs, batch.obs_id)
        shape = batch.obs.shape[:2]
        latent = (dist.sample() if model.training else dist.mean).unflatten(0, shape)
        state, target = latent[:, :-1], latent[:, 1:].flatten(0, 1)
        predicted = step_windows(model, latent, batch.action, self.open_loop).flatten(0, 1)
        decoded_latents = state.flatten(0, 1), predicted
        if self.reference:
            now, after = map(model.decoder, decoded_latents)
        else:
            now, after = model.decoder(torch.cat(decoded_latents)).chunk(2)
        nll = model.decoder.likelihood.nll
        terms = {
            "reconstruction": nll(now, batch.obs[:, :-1].flatten(0, 1)),
            "next_reconstruction": nll(after, batch.obs[:, 1:].flatten(0, 1)),
            "prediction": squared_error(predicted, target),
        }
        if dist.logvar is not None:
            kl = dist.kl().view(shape)
            terms["kl"] = (kl[:, :-1] + kl[:, 1:]).mean()
        return terms
