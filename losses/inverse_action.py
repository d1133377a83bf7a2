"""Inverse-action codes and their likelihood: the two stages of our recipe for chemistry.

Most colours are chance, and a loss that wants predictable latents shrinks what it cannot predict (the hinge loss keeps
.001 of the gap between two colours). Reading the command back from the picture cannot: every colour is commanded as often
as any other. It uses that an action names an object and a choice, which the other losses need not know.
"""

from torch import Tensor
from torch.nn import functional as F

from losses.objective import LossTerms, encode_windows, step_windows
from models.interfaces import Batch


def commands(action: Tensor, num_slots: int) -> tuple[Tensor, Tensor]:
    """One-hot actions (..., A)  ->  the object acted on (...,) and the choice commanded (...,), both long."""
    index = action.argmax(-1)
    choices = action.shape[-1] // num_slots
    return index // choices, index % choices


class InverseAction:
    """Stage 1: on the frame after an action on object i, slot i reads the command. Cross entropy, mean over transitions."""

    def __call__(self, model, batch: Batch) -> LossTerms:
        looks, _ = model.encoder.look(batch.obs[:, 1:].flatten(0, 1))
        target, choice = commands(batch.action.flatten(0, 1), looks.shape[1])
        mine = looks.gather(1, target[:, None, None].expand(-1, 1, looks.shape[-1]))[:, 0]
        return {"command": F.cross_entropy(mine.float(), choice)}


class CodeLikelihood:
    """Stage 2: negative log-likelihood of the next codes of all slots, in nats, summed over slots, mean over transitions."""

    encoder_is_fixed = True  # its codes are computed once and kept

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = encode_windows(model, batch)
        logits = step_windows(model, latent, batch.action).flatten(0, 1).float()
        target = latent[:, 1:, :, : logits.shape[-1]].flatten(0, 1).argmax(-1)
        nats = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum") / len(target)
        return {"likelihood": nats}
