"""Batch norm over a batch that several processes share: statistics of all rows, on GPUs and on CPUs.

torch's own SyncBatchNorm refuses CPU tensors. This one is plain arithmetic, so tests on CPUs cover what GPUs compute.
"""

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from models.processes import count, gather


def normed_by(norm: _BatchNorm, x: Tensor, mean: Tensor, variance: Tensor, rows: Tensor) -> Tensor:
    """x (B, C, ...) as a batch norm in training gives it whose batch has these statistics, (C,) each; its running ones follow.

    norm: one with weights and running statistics, which follow by a fixed share (`momentum`).  rows: of the whole batch.
    """
    with torch.no_grad():
        norm.num_batches_tracked += 1
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance * rows / (rows - 1), norm.momentum)
    scale = norm.weight * (variance + norm.eps).rsqrt()
    shape = (-1, *[1] * (x.ndim - 2))
    centred = x.float() - mean.view(shape)  # first: a mean may be large beside what varies around it
    return (centred * scale.view(shape) + norm.bias.view(shape)).to(x.dtype)


class SharedBatchNorm(_BatchNorm):
    """(B, C, ...) -> the same shape. Weights, buffers and their names are those of the layer that it replaces."""

    def _check_input_dim(self, x: Tensor) -> None:
        pass  # any number of trailing axes

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or count() == 1:
            return super().forward(x)
        values = x.float()
        variance, mean = torch.var_mean(values, [0, *range(2, x.ndim)], correction=0)
        rows = torch.full_like(mean, x.numel() / x.shape[1])
        means, variances, rows = gather(torch.stack([mean, variance, rows])[None]).unbind(1)  # (processes, C) each
        total = rows.sum(0)
        mean = (means * rows / total).sum(0)
        variance = ((variances + (means - mean).pow(2)) * rows / total).sum(0)  # within processes and between them
        return normed_by(self, x, mean, variance, total)


def share_statistics(model: nn.Module) -> nn.Module:
    """Every batch norm of a model in its shared form; all other modules stay as they are."""
    for module in model.modules():
        if type(module) in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
            module.__class__ = SharedBatchNorm  # the same parameters and buffers, another forward
    return model
