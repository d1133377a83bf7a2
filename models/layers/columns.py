"""Columns of a table by their names, each number with its unit."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

Columns = Mapping[str, Sequence[float]]  # name -> the unit of each of its numbers, in the order of a row


def units_of(columns: Columns, shape: Sequence[int]) -> Tensor:
    """The units of a row (F,). ValueError where observations of this shape are no tables of these columns."""
    units = torch.tensor([unit for name in columns for unit in columns[name]], dtype=torch.float32)
    if len(shape) != 2 or shape[1] != len(units):
        raise ValueError(f"this model reads a table (N, {len(units)}) of {', '.join(columns)}, "
                         f"and an observation has shape {tuple(shape)}; "
                         f"set model=modular loss=infonce, or env.observation=objects where there is one")  # fmt: skip
    return units
