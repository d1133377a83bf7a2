"""Recorded numbers: data to the byte, losses to rounding, a tiny training run to what rounding grows into."""

import json

import pytest
from figures import PARTS, RECORD

RECORDED = json.loads(RECORD.read_text())


def test_data_is_what_it_was():
    """Every split of every preset holds the recorded bytes: another draw or another pixel is another benchmark."""
    assert PARTS["data"]() == RECORDED["data"]


def test_losses_are_what_they_were():
    """Every term of every stage of every model, within float32 rounding of another machine."""
    assert PARTS["losses"]() == pytest.approx(RECORDED["losses"], rel=2e-3, abs=1e-5)


def test_training_is_what_it_was(command_here):
    """Three epochs: rounding may differ by machine and grows, so percentages may differ by one point."""
    assert PARTS["training"](command_here) == pytest.approx(RECORDED["training"], abs=1.0)
