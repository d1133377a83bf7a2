"""Objectives of categorical latents: classification of the commanded colour, then likelihood; our recipe for chemistry.

Most colours are chance, and a loss that rewards predictable latents shrinks what it cannot predict: the hinge loss keeps .001
of the distance between two colours. Classification of the command cannot, since every colour is commanded equally often.
It uses that an action names an object and a choice, which other losses need not know.
"""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from losses.objective import LossTerms, encode_windows, gives, step_windows
from models.actions import commands
from models.interfaces import Batch


class InverseAction:
    """Stage 1: slot i classifies the command in the frame after an action on object i. Means over transitions.

    command: cross entropy of the commanded choice.  steady: -log of the probability that a slot points at the same cell in the
    first and in a later frame of its window; objects stay in their cells. Without it a map may point at one object in some
    colours and at another in others, right after every command and wrong on all other frames (1 of 4 trainings on chain5).
    With five times this weight, on ten objects, slots settled on wrong cells before they classified colours.
    """

    def __init__(self, steady_weight: float = 0.02) -> None:
        self.steady_weight = steady_weight

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        yield spec.action.discrete and spec.action.owners == spec.objects, (
            "InverseAction classifies which object was commanded and what, and the actions of this env are no choices of "
            "objects; set loss=infonce model=modular"
        )
        yield spec.paints, (
            "InverseAction classifies what an object was commanded to become, and the actions of this env do not say it; "
            "set env=chemistry, or loss=infonce model=modular"
        )
        yield from gives(self, model, "categorical")

    def __call__(self, model, batch: Batch) -> LossTerms:
        windows, frames = batch.obs.shape[:2]
        appearance, where = model.encoder.look(batch.obs.flatten(0, 1))
        appearance, where = appearance.unflatten(0, (windows, frames)), where.float().unflatten(0, (windows, frames))
        # (B, T); slots may be more than objects
        target, choice = commands(batch.action, batch.action.shape[-1] // appearance.shape[-1])
        index = target[..., None, None].expand(-1, -1, 1, appearance.shape[-1])
        acted_on = appearance[:, 1:].gather(2, index)[:, :, 0]
        same = torch.einsum("bkp,btkp->btk", where[:, 0], where[:, 1:]).clamp(min=1e-6)
        return {
            "command": F.cross_entropy(acted_on.flatten(0, 1).float(), choice.flatten()),
            "steady": -self.steady_weight * same.log().mean(),
        }


class CategoricalLikelihood:
    """Stage 2: negative log-likelihood of the next latents, in nats, summed over slots, mean over transitions."""

    encoder_is_fixed = True  # its latents are computed once and kept
    wants_learned_encoder = True

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "categorical")

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = encode_windows(model, batch)
        logits = step_windows(model, latent, batch.action).flatten(0, 1).float()
        target = latent[:, 1:, :, : logits.shape[-1]].flatten(0, 1).argmax(-1)
        nats = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum") / len(target)
        return {"likelihood": nats}
