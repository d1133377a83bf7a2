"""Prediction of what a slowly following copy of the encoder sees: no negatives, no regulariser (BYOL, Grill et al. 2020).

The latent consistency of SPR (Schwarzer et al. 2021) and TD-MPC (Hansen et al. 2022), without their rewards. Differs from BYOL
and SPR: no predictor and no projector stand behind the transition, and latents are not normalised. So the loss, by which the
checkpoint is chosen as well, grows with the spread of latents.
"""

import copy
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F

from losses.objective import LossTerms, encode_windows, gives, step_windows
from models.interfaces import Batch


class TargetNetwork:
    """Mean squared error between predictions and the next frames' latents in the copy, which gets no gradient.

    momentum: share of the copy that is kept at every step of training.  open_loop: inside a window the model is fed its own
    predictions. The copy belongs to the stage: it is kept with its checkpoints (`state_dict`), and no model needs it later.
    """

    def __init__(self, momentum: float = 0.99, open_loop: bool = False) -> None:
        self.momentum, self.open_loop, self.copy = momentum, open_loop, None

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "vectors")

    def prepare(self, model, windows) -> None:
        """The copy begins as the encoder."""
        self.copy = type(model)(copy.deepcopy(model.encoder), nn.Identity()).requires_grad_(False)

    def state_dict(self) -> dict:
        """Weights of the copy, for a stage that is resumed."""
        return self.copy.state_dict()

    def load_state_dict(self, state: dict) -> None:
        self.copy.load_state_dict(state)

    @torch.no_grad()
    def follow(self, encoder: nn.Module, device: torch.device) -> None:
        """One step of the copy towards an encoder; what the encoder counts, such as batches, is taken over."""
        self.copy.to(device)
        for mine, theirs in zip(self.copy.encoder.state_dict().values(), encoder.state_dict().values()):
            if mine.is_floating_point():
                mine.lerp_(theirs, 1 - self.momentum)
            else:
                mine.copy_(theirs)

    def __call__(self, model, batch: Batch) -> LossTerms:
        if model.training:
            self.follow(model.encoder, model.device)
        latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop)
        with torch.no_grad():
            target = encode_windows(self.copy.train(model.training), batch)[:, 1:]
        return {"prediction": F.mse_loss(predicted.float(), target.float())}
