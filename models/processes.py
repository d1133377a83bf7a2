"""One batch over several processes: how many they are, which one this is, and what the others hold. Alone, nothing happens.

Gradients of a gathered tensor go back to the process that its rows came from. So where every process computes a loss
whose mean over processes is the loss of the whole batch, the mean of their gradients is its gradient.
"""

import torch
import torch.distributed as dist
from torch import Tensor


def count() -> int:
    """How many processes share a batch."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Which of them this is; 0 is the one that writes and prints."""
    return dist.get_rank() if count() > 1 else 0


def mine(rows: Tensor) -> Tensor:
    """This process's share of rows that everybody holds: consecutive, sizes differ by one at most."""
    return rows.tensor_split(count())[rank()]


def gather(rows: Tensor) -> Tensor:
    """The rows of all processes in their order, (n, ...) of each -> (sum of n, ...); n may differ."""
    return rows if count() == 1 else _Gather.apply(rows)


def agreed(value: Tensor) -> Tensor:
    """What process 0 holds, for all of them: random draws must be the same everywhere."""
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
