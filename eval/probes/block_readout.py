"""Where blocks are, read off latents by one frozen read-out, the same for every model: millimetres beside the true places.

A decoder is learned for a loss of its own, and a model without one, or of pictures, tells no places. Here a small network
learns the places from the latents of frames of training, spread over all its episodes; then the model's predictions are read.
The few episodes of `valid` would not do: a read-out of 60 episodes erred by 36 mm on others where one of 800 erred by 26 and by
25 on its own.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from envs.episodes.on_disk import OnDisk
from envs.protocols import Blocks
from eval.probes.block_error import MOVED, millimetres
from eval.probes.probe import Row, bounds, no_forecast, probe
from eval.probes.readout import HIDDEN, STEPS, learned, scale, spread_rows
from eval.rollouts import decode_frames, encode_frames

MEDIAN, MEAN = "readout/block_error/median/", "readout/block_error/mean/"
_BEND = 0.1  # of the smooth L1 loss, in units of the places' spread

Places = Callable[[Tensor], np.ndarray]  # latents (B, K, D) -> centres of the blocks (B, N, 3), metres


def fit_places(latent: Tensor, true: np.ndarray) -> Places:
    """latent (M, K, D), true (M, N, 3)."""
    flat, target = latent.flatten(1).float(), torch.from_numpy(np.ascontiguousarray(true)).float().flatten(1)
    mean, spread = scale(flat)
    middle, unit = target.mean(0), target.std(0).clamp(min=1e-3)
    wanted = (target - middle) / unit

    def loss(out: Tensor, rows: Tensor) -> Tensor:
        return F.smooth_l1_loss(out, wanted[rows], beta=_BEND)

    net = learned((flat - mean) / spread, target.shape[1], HIDDEN, STEPS, loss)

    @torch.no_grad()
    def places(of: Tensor) -> np.ndarray:
        read = torch.cat([net((part - mean) / spread) for part in of.flatten(1).float().split(4096)])
        return (read * unit + middle).numpy().reshape(len(of), *true.shape[1:])

    return places


def read_places(run, data_dir) -> Places | None:
    """The read-out of a run, fitted on frames spread over its training split; None where there are no blocks."""
    file = run.file("train", data_dir)
    shown, tables = OnDisk(file, run.world.shown.column), OnDisk(file, "objects")
    rows = spread_rows(len(tables))
    true = run.world.positions(tables.take(rows))
    return fit_places(encode_frames(run.model, shown.take(rows)), true) if true.shape[1] else None


def places_of(run, data_dir) -> Places | None:
    """Where a model has blocks: as its decoder says where that decodes the table, else as the read-out says."""
    if run.model.decoder is None or len(run.world.shown.shape) != 2:
        return read_places(run, data_dir)
    return lambda latent: run.world.positions(decode_frames(run.model, latent).numpy())


@probe(
    needs=(Blocks,),
    unless=no_forecast,
    by_name=True,
    rows=(
        Row(MEDIAN, "block error, median, mm, read off predictions", higher_is_better=False, percent=False, horizons=()),
        *bounds(
            MEDIAN,
            (f"eyes/{MEDIAN}", "read off true outcomes", "comparison"),
            (f"floor/copy/{MEDIAN}", "read off the start", "floor"),
        ),
        Row(MEAN, "block error, mean, mm, read off predictions", higher_is_better=False, percent=False, horizons=()),
    ),
)  # fmt: skip
def block_readout(run, data) -> dict[str, float]:
    """Millimetres over the windows in which a block moves, of places read off predictions. Beside them medians of places read
    off the true outcomes (eyes), what seeing alone loses, and off the start (floor)."""
    read = read_places(run, data.data_dir)
    if read is None:
        return {}
    (tables,) = data.read("objects")
    metrics = {}
    for h in data.horizons:
        true = run.world.positions(tables[:, h])
        moved = data.events(h).get(MOVED, np.ones(len(true), bool))
        error, eyes, still = (millimetres(read(seen), true, moved) for seen in (data.predicted(h), data.target(h), data.start))
        metrics |= {f"{MEDIAN}h{h}": error.median, f"{MEAN}h{h}": error.mean, f"eyes/{MEDIAN}h{h}": eyes.median,
                    f"floor/copy/{MEDIAN}h{h}": still.median}  # fmt: skip
    return metrics
