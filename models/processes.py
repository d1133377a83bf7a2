"""One batch over several processes: their number, the rank of this one, and gathering. A single process gathers nothing.

Gradients of a gathered tensor go back to the process that its rows came from. If the mean of the processes' losses is the
loss of the whole batch, the mean of their gradients is therefore its gradient.
"""

import torch
import torch.distributed as dist
from torch import Tensor


def count() -> int:
    """Number of processes that share a batch."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """The number of this process; process 0 writes and prints."""
    return dist.get_rank() if count() > 1 else 0


def own_rows(rows: Tensor) -> Tensor:
    """This process's share of rows that all processes hold: consecutive; sizes differ by one at most."""
    return rows.tensor_split(count())[rank()]


def gather(rows: Tensor) -> Tensor:
    """The rows of all processes in their order, (n, ...) of each -> (sum of n, ...); n may differ."""
    return rows if count() == 1 else _Gather.apply(rows)


def agreed(value: Tensor) -> Tensor:
    """The value of process 0, on all processes: random draws must be equal."""
    if count() > 1:
        dist.broadcast(value, 0)
    return value


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows: Tensor) -> Tensor:
        sizes = [torch.zeros(1, dtype=torch.long, device=rows.device) for _ in range(count())]
        dist.all_gather(sizes, torch.tensor([len(rows)], device=rows.device))
        ctx.sizes = torch.cat(sizes).tolist()
        padded = rows.new_zeros(max(ctx.sizes), *rows.shape[1:])  # gloo gathers equal shapes only
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in ctx.sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, ctx.sizes)])

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(gradient)  # the losses of all processes look at these rows
        return gradient.split(ctx.sizes)[rank()]
