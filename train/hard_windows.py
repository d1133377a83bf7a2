"""Windows the model predicts badly are more often in an epoch: a share of their chance to be drawn goes by its error.

Few transitions show the causes: 7 % of those on five blocks depend on a weight. Under uniform draws, a model that predicts all
others would see them no more often. A window comes into an epoch once at most, so it holds fewer hard ones than the share asks
for: of windows of four steps, of which an epoch has room for a quarter, .28 where the share asks for .61 (7 % of windows fifty
times as wrong as the others). Where it has room for all, as for single steps, nothing is drawn and errors are not asked for.

Errors are computed from the weights at the start of an epoch, so a resumed run draws the windows of an uninterrupted one; but
for the first batch after it resumes, where epochs are rounds (train/rounds.py).
"""

import torch
from pytorch_lightning import Callback
from torch import Tensor

from models.processes import gather, own_rows
from train.datamodule import BATCH, Windows


@torch.no_grad()
def window_errors(model, windows: Windows) -> Tensor:
    """Mean squared error of the one-step predictions in every possible window, (number of starts,).

    A transition with memory predicts as if every frame were its first, so windows are hard if one frame does not suffice.
    Processes share the rows, and each gets the errors of all.
    """
    latent = windows.encode(model) if windows.latent is None else windows.latent
    wrong = []
    for part in own_rows(torch.arange(len(latent))).split(BATCH):
        predicted = model.transition(latent[part].to(model.device), windows.actions(part).to(model.device))
        after = latent[(part + 1).clamp(max=len(latent) - 1)]  # no window reads the error of an episode's last row
        wrong.append((predicted.float() - after.to(model.device)).pow(2).sum((1, 2)))
    window = len(windows.steps) - 1
    return gather(torch.cat(wrong)).cpu().unfold(0, window, 1)[windows.starts].mean(1)


class HardWindows(Callback):
    """share: of the chance of a window, what goes by its error; 0 draws uniformly, and so does the first epoch of every stage,
    of a training in rounds the first round. Errors are computed once an epoch, or round."""

    def __init__(self, windows: Windows, share: float) -> None:
        self.windows, self.share = windows, share

    def on_train_epoch_start(self, trainer, model) -> None:
        self.windows.chances = None
        # an untrained model is wrong about everything, and so is one that learns by another objective from now on
        if self.share == 0 or self.windows.hold_all or trainer.current_epoch == 0:
            return
        model.eval()
        with trainer.precision_plugin.forward_context():
            errors = window_errors(model, self.windows)
        model.on_train_epoch_start()  # back into the stage's mode
        if errors.sum() > 0:
            self.windows.chances = (1 - self.share) / len(errors) + self.share * errors / errors.sum()
