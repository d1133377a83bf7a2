"""Layers that read every cell of a picture by itself, computed once for each distinct cell: a board repeats few of them.

Of the 14,475 cells of a batch of chemistry 46 are distinct, of physics five percent. Values, gradients and batch statistics are
those of all cells, up to rounding.
"""

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from models.layers.patches import patches_of
from models.layers.sync_norm import normed_by
from models.processes import count

FEW = 1024  # cells, below which finding the distinct ones takes longer than computing all
SHARE = 4  # cells must be so many times as many as distinct ones


@lru_cache
def _multipliers(numbers: int) -> Tensor:
    """Odd numbers below 2^63, always the same: (numbers,)."""
    return 2 * torch.randint(2**62, (numbers,), generator=torch.Generator().manual_seed(0)) + 1


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Rows of bytes (N, F), F a multiple of 4 -> one row for each that is distinct (U, F), which of them each is (N,), and how
    often each is there (U,). Rows are sorted by a hash; None where two that differ share one, which hardly ever happens."""
    words = rows.view(torch.int32)
    _, which, counts = (words.long() @ _multipliers(words.shape[1])).unique(return_inverse=True, return_counts=True)
    one = torch.empty_like(counts).scatter_(0, which, torch.arange(len(rows)))
    found = words.index_select(0, one)
    return (found.view(torch.uint8), which, counts) if torch.equal(found.index_select(0, which), words) else None


def _norm_of_all(norm: _BatchNorm, x: Tensor, counts: Tensor) -> Tensor:
    """A batch norm in training whose rows stand for so many each: x (U, C, 1, 1), counts (U,)  ->  (U, C, 1, 1)."""
    values, cells = x.flatten(1).float(), counts.sum()
    share = (counts / cells)[:, None]
    mean = (values * share).sum(0)
    variance = ((values - mean).pow(2) * share).sum(0)
    return normed_by(norm, x, mean, variance, cells)


def of_each_cell(layers: Sequence[nn.Module], obs: Tensor, cell: int) -> Tensor:
    """What layers make of frames (B, 3, H, W), uint8 or float in [0, 1]  ->  (B, C, H / cell, W / cell).

    cell: pixels along a side, an even number.  layers: the first is a convolution whose kernel and stride are `cell`; none
    of the others sees more than one cell, and norms have weights and running statistics that follow by `momentum`. All
    cells are computed where few repeat, in training by several processes, which share batch statistics, and on a GPU, on
    which that is little work.
    """
    cells = len(obs) * (obs.shape[2] // cell) * (obs.shape[3] // cell)
    shared = count() > 1 and any(layer.training for layer in layers)
    if obs.dtype == torch.uint8 and obs.device.type == "cpu" and cells >= FEW and not shared:
        patches = patches_of(obs, cell)
        found = distinct_rows(patches.flatten(0, 2))
        if found and SHARE * len(found[0]) <= cells:
            rows, which, counts = found
            x = rows.view(-1, cell, cell, 3).permute(0, 3, 1, 2)
            for layer in layers:
                x = _norm_of_all(layer, x, counts) if isinstance(layer, _BatchNorm) and layer.training else layer(x)
            every = x.flatten(1).float().index_select(0, which)  # its gradient is a sum of thousands: in single precision
            return every.view(*patches.shape[:3], -1).permute(0, 3, 1, 2)
    for layer in layers:
        obs = layer(obs)
    return obs
