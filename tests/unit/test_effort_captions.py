"""Captions of tables of equal effort: in which precision, on what machines, and what rows were told."""

import pytest

from eval.effort.filled import Filled
from eval.effort.settings import causes, rows_of
from eval.effort.studies import studies
from eval.effort.table import caption

ENV, MAIN = "physics3", studies()["causes"]


@pytest.fixture
def cfg():
    return {"seeds": 2}


def test_precisions_are_told(cfg):
    """A minute of single precision holds fewer updates; one caption for all, and by their names where rows differ."""
    def filled(name, precision):
        entry = {"scores": {}, "rounds": [], "plans": {}, "setting": {"trainer": {"precision": precision}}}
        return Filled(MAIN, "", rows_of(name)[0], ENV, None, {0: entry})

    edge, sigreg = "edge + InfoNCE", "edge + SIGReg"
    assert "trainer.precision=32-true; every row" in caption([filled(edge, "32-true"), filled(sigreg, "32-true")], cfg)
    told = caption([filled(edge, "32-true"), filled(sigreg, "bf16-mixed")], cfg)
    assert "trainer.precision=32-true of edge + InfoNCE; bf16-mixed of edge + SIGReg; every row" in told


def test_machines_are_told(cfg):
    def filled(name, *machines):
        entries = {seed: {"scores": {}, "rounds": [], "plans": {}} | ({"machine": one} if one else {}) for seed, one in enumerate(machines)}
        return Filled(MAIN, "", rows_of(name)[0], ENV, None, entries)

    one, other, gpu = ({"processor": "one", "cores": 2}, {"processor": "other", "cores": 4}, {"processor": "other", "cores": 4, "gpu": "a GPU"})
    assert "; trained on one; every row" in caption([filled("edge + InfoNCE", one, one), filled("edge + SIGReg", one)], cfg)
    assert "; trained on one (2), other (1), a GPU (1); every row" in caption([filled("edge + InfoNCE", one, other), filled("edge + SIGReg", gpu, one)], cfg)
    assert "trained on" not in caption([filled("edge + InfoNCE", None)], cfg)


def test_privileges_are_told(cfg):
    rows = [Filled(MAIN, "", row, ENV, None, {}) for row in rows_of(["slot attention + InfoNCE", "edge + InfoNCE, small encoder"])]
    assert "told: what a row knows beforehand, objects: how many there are, cells: where the cells of the board lie; " in caption(rows, cfg)
    assert all(set(row.told) <= set(causes()["privileges"]) for row in rows_of(None))
