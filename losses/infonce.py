"""InfoNCE over squared distances, with current and same-episode frames among the negatives; our default objective.

The hinge of C-SWM separates different episodes; planning needs to separate the states of *one* episode. Here every frame of
every window in the batch is a candidate, so the current frame and its neighbours in time are hard negatives without extra
encoding. Processes that share a batch share the encoding, which costs most; each compares all rows.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from losses.objective import LossTerms, encode_windows, gives, step_windows
from models.abilities import KeepsStatistics
from models.interfaces import Batch
from models.processes import gather


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(N, F), (M, F) -> (N, M), never negative."""
    return (a.pow(2).sum(-1)[:, None] + b.pow(2).sum(-1)[None] - 2 * a @ b.T).clamp(min=0)


def _at(batch: Batch, steps: Tensor) -> Batch:
    """The frames of some steps alone, ascending from 0, and every action up to the last of them."""
    kept = {"obs": batch.obs, "obs_id": batch.obs_id, "latent": batch.latent}
    kept = {name: values if values is None else values[:, steps] for name, values in kept.items()}
    return replace(batch, **kept, action=batch.action[:, : int(steps[-1])])


class InfoNCE:
    """Softmax over -distance^2 in both directions, plus the squared prediction error.

    forward: each prediction must find its true next frame among all frames of the batch; backward: each true next frame
    must find its prediction among all predictions; squared: |prediction - next|^2, summed over the latent. Candidates
    whose picture equals the true one are left out: they would be false negatives. Means over the batch's transitions.
    own_window: false leaves the frames of a prediction's own window, except the true one, out of its candidates, and the
    predictions of a frame's own window out of that frame's (for an ablation: then the current frame and its neighbours are no
    negatives).
    open_loop: inside a window the model is fed its own predictions.
    later: so many frames of a window after its first are encoded in training, another choice for every batch, and are all
    that is compared; needs open_loop. Frames of one window are much alike: the same encodings show more windows.
    """

    later: int | None = None  # also before __init__: what a loss needs can be asked of one that was not made

    def __init__(
        self, squared_weight: float = 1.0, own_window: bool = True, open_loop: bool = False, later: int | None = None
    ) -> None:
        if later is not None and not (isinstance(later, int) and later is not True and later >= 1 and open_loop):
            raise ValueError(f"later is a number of frames >= 1 that an open loop is compared at, got later={later!r} with "
                             f"open_loop={open_loop}; set loss.later=")  # fmt: skip
        self.squared_weight, self.own_window, self.open_loop, self.later = squared_weight, own_window, open_loop, later

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        yield from gives(self, model, "vectors")
        met = self.later is None or not isinstance(model.transition, KeepsStatistics)
        yield met, (f"{type(model.transition).__name__} learns its graph from every step of a window, and "
                    f"loss.later={self.later} leaves frames out; set loss.later=null")  # fmt: skip

    def _compared(self, batch: Batch) -> Tensor | None:
        """Steps of a window, ascending from 0; None: all. Drawn by the batch itself: a run that was interrupted draws the same,
        and so do all processes that share the batch."""
        steps = batch.action.shape[1]
        if self.later is None or self.later >= steps:
            return None
        drawn = torch.randperm(steps, generator=torch.Generator().manual_seed(int(gather(batch.obs_id).sum())))[: self.later]
        return torch.cat([drawn.new_zeros(1), 1 + drawn.sort().values])

    def __call__(self, model, batch: Batch) -> LossTerms:
        steps = self._compared(batch) if model.training else None
        if steps is not None:
            batch = _at(batch, steps)
        latent = encode_windows(model, batch)
        predicted = step_windows(model, latent, batch.action, self.open_loop)
        if steps is not None:
            predicted = predicted[:, steps[1:] - 1]
        with torch.autocast(latent.device.type, enabled=False):  # distances cancel: they need single precision
            obs_id = gather(batch.obs_id)
            windows, frames_each = obs_id.shape
            frames = gather(latent.float().flatten(2))  # (B, T+1, F)
            predicted = gather(predicted.float().flatten(2)).flatten(0, 1)  # (B T, F)
            logits = -squared_distances(predicted, frames.flatten(0, 1))
            twin = obs_id[:, 1:].flatten()[:, None] == obs_id.flatten()[None]
            if not self.own_window:
                window = torch.arange(windows, device=latent.device)
                twin |= window.repeat_interleave(frames_each - 1)[:, None] == window.repeat_interleave(frames_each)[None]
            rows = torch.arange(len(predicted), device=latent.device)
            true = torch.arange(windows * frames_each, device=latent.device).view(windows, frames_each)[:, 1:].flatten()
            twin[rows, true] = False
            logits = logits.masked_fill(twin, -torch.inf)
            # The columns of true frames by slicing: the gradient of an index is an order of magnitude slower.
            next_frames = logits.unflatten(1, (windows, frames_each))[:, :, 1:].flatten(1)
            squared = (predicted - frames[:, 1:].flatten(0, 1)).pow(2).sum(-1).mean()
            return {
                "forward": F.cross_entropy(logits, true),
                "backward": F.cross_entropy(next_frames.T, rows),
                "squared": self.squared_weight * squared,
            }
