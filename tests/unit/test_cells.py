"""Layers of cells, computed once for each distinct cell: values, gradients and batch statistics are those of all cells."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import models.layers.cells as cells
from models.encoders import BoardMaps, SlotEncoder
from models.layers.cells import distinct_rows, of_each_cell
from models.layers.patches import PatchConv2d
from models.layers.sync_norm import share_statistics


def boards(count: int, kinds: int, board: int = 5, seed: int = 0) -> torch.Tensor:
    """Frames (count, 3, 10 board, 10 board) of so many kinds of cells, uint8, in memory as files give them."""
    generator = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 256, (kinds, 10, 10, 3), generator=generator, dtype=torch.uint8)
    frames = kind[torch.randint(0, kinds, (count, board, board), generator=generator)]
    return frames.permute(0, 1, 3, 2, 4, 5).reshape(count, 10 * board, 10 * board, 3).permute(0, 3, 1, 2)


def trained_once(module: nn.Module, frames: torch.Tensor) -> dict[str, torch.Tensor]:
    """Outputs in training and after it, gradients of all parameters, and statistics."""
    out = module.train()(frames)
    (out.flatten(1) * torch.linspace(-1, 1, out[0].numel())).sin().sum().backward()
    found = {"out": out.detach(), **{name: p.grad for name, p in module.named_parameters()}, **dict(module.named_buffers())}
    with torch.no_grad():
        return found | {"later": module.eval()(frames)}


@pytest.mark.parametrize("size, board, kinds", [("patch", 5, 40), ("patch", 7, 12), ("small", 5, 40), ("patch", 5, 1)])
def test_distinct_cells_stand_for_all(size, board, kinds):
    """Against all cells in double precision, of which sums over all cells in single precision are ten times farther away."""
    torch.manual_seed(0)
    module, frames = BoardMaps(4, board, size, channels=8), boards(60, kinds, board)
    exact = trained_once(copy.deepcopy(module).double(), frames.double() / 255)
    found = trained_once(module, frames)
    assert found.keys() == exact.keys()
    far = 5e-6 * max(1.0, *(float(values.abs().max()) for values in exact.values()))
    for name, values in exact.items():
        assert (
            values.shape == found[name].shape and torch.allclose(found[name].double(), values.double(), rtol=0, atol=far)
        ), name


def test_most_cells_are_not_computed():
    """It is what makes it fast; where hardly any cell is there twice, all are."""
    seen = []
    layer = PatchConv2d(3, 2, 10)
    layer.register_forward_hook(lambda layer, asked, out: seen.append(len(asked[0])))
    for kinds, expected in ((7, 7), (4000, 60)):  # cells, then frames
        assert of_each_cell([layer], boards(60, kinds), 10).shape == (60, 2, 5, 5)
        assert seen.pop() == expected
    of_each_cell([layer], boards(4, 2), 10)  # too few
    of_each_cell([layer], boards(60, 7).float() / 255, 10)
    assert seen == [4, 60]


def test_processes_that_share_statistics_compute_all(monkeypatch):
    """How often a cell is there is known of the own share of the batch alone."""
    seen, norm = [], nn.BatchNorm2d(2)
    layer = PatchConv2d(3, 2, 10)
    layer.register_forward_hook(lambda layer, asked, out: seen.append(len(asked[0])))
    monkeypatch.setattr(cells, "count", lambda: 2)
    of_each_cell([layer, norm], boards(60, 7), 10)
    layer.eval(), norm.eval()
    of_each_cell([layer, norm], boards(60, 7), 10)
    assert seen == [60, 7]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 90), st.integers(1, 80), st.booleans(), st.integers(0, 10**6))
def test_rows_are_told_apart(kinds, count, words, one_byte_apart, seed):
    """Also where they differ in one byte."""
    generator = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 256, (kinds, 4 * words), generator=generator, dtype=torch.uint8)
    if one_byte_apart:
        kind = kind[:1].repeat(kinds, 1)
        kind[torch.arange(kinds), torch.randint(0, 4 * words, (kinds,), generator=generator)] += (
            torch.arange(kinds).to(torch.uint8)
        )
    rows = kind[torch.randint(0, kinds, (count,), generator=generator)]
    found, which, counts = distinct_rows(rows)  # of one byte apart, none share a hash, whose multipliers are odd
    assert torch.equal(found[which], rows) and torch.equal(counts, which.bincount())
    assert len(found) == len(rows.unique(dim=0))


def test_cells_that_share_a_hash_are_told_apart(monkeypatch):
    """By computing all of them."""
    seen, layer = [], PatchConv2d(3, 2, 10)
    layer.register_forward_hook(lambda layer, asked, out: seen.append(len(asked[0])))
    monkeypatch.setattr(cells, "_multipliers", lambda numbers: torch.zeros(numbers, dtype=torch.long))
    assert distinct_rows(torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5]], dtype=torch.uint8)) is None
    of_each_cell([layer], boards(60, 7), 10)
    assert seen == [60]


def test_norms_that_processes_could_share_are_norms():
    """In one process they are as torch's own."""
    torch.manual_seed(0)
    module, frames = BoardMaps(4, size="patch", channels=8), boards(60, 40)
    shared = share_statistics(copy.deepcopy(module))
    here, there = (trained_once(one, frames) for one in (module, shared))
    assert all(torch.equal(here[name], there[name]) for name in here)


def test_features_at_a_point_are_those_of_all_cells():
    torch.manual_seed(0)
    encoder, frames = SlotEncoder(BoardMaps(3, size="patch", channels=8), 16, 64, appearance=4), boards(60, 30)

    class Means(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = copy.deepcopy(encoder)

        def forward(self, frames):
            return self.encoder(frames).mean

    of_all, found = trained_once(Means(), frames.float() / 255), trained_once(Means(), frames)
    far = 1e-4 * max(1.0, *(float(values.abs().max()) for values in of_all.values()))
    for name, values in of_all.items():
        assert torch.allclose(found[name], values, rtol=0, atol=far), name


def test_gradients_are_summed_in_single_precision():
    """A cell of an empty board stands for thousands, whose sum bfloat16 would cut off at 256."""
    layer = PatchConv2d(3, 1, 10)
    with torch.autocast("cpu", torch.bfloat16):
        of_each_cell([layer], boards(200, 1), 10).sum().backward()
    assert layer.bias.grad.item() == pytest.approx(5000, rel=0.01)
