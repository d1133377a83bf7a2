"""Rows of the main table of equal effort with answers to every question, as train/fit.py and eval/score.py enter them."""

import json
from pathlib import Path

import numpy as np
import pytest

from eval.effort.filled import Filled
from eval.effort.jobs import table_name
from eval.effort.settings import rows_of
from eval.effort.studies import studies
from eval.runs.answers import Answers

ENV, MAIN = "physics3", studies()["causes"]


@pytest.fixture
def cfg(tmp_path):
    return {"ledger": str(tmp_path / "ledger")}


def entered(cfg, row, seed, **found):
    """An entry of the main table as train/fit.py and eval/score.py write it."""
    place = Path(cfg["ledger"]) / ENV
    place.mkdir(parents=True, exist_ok=True)
    name = table_name(MAIN, "", row, ENV, ["loss.window=1"], seed)
    entry = {"run": name, "row": row.name, "env": ENV, "seed": seed, "rounds": [], "scores": {}} | found
    (place / f"{name}-0.json").write_text(json.dumps(entry))


@pytest.fixture
def answered(cfg, monkeypatch):
    """Two rows of three seeds with answers, which hardly differ: the second is right where the first is, and on some more."""
    monkeypatch.setattr("eval.effort.studies.choice", lambda *_: {"overrides": ["loss.window=1"]})
    monkeypatch.setattr("eval.effort.filled.choice", lambda *_: None)
    rows, draw = rows_of(["edge + InfoNCE", "edge + SIGReg"]), np.random.default_rng(0)
    base = draw.random(1000) < 0.6
    for seed in range(3):
        first = base ^ (draw.random(1000) < 0.005)
        for row, right in zip(rows, (first, first | (np.arange(1000) < 100))):
            kept = {key: Answers.of(of) for key, of in (("test/cf_hits@1/mean/h10", right), ("test/hits@1/h10", right),
                    *((f"floor/copy/{name}/h10", draw.random(1000) < 0.2) for name in ("hits@1", "cf_hits@1/mean")))}
            final = {"metrics": {key: 100 * float(one.right.mean()) for key, one in kept.items()},
                     "answers": {key: one.packed() for key, one in kept.items()}}  # fmt: skip
            plans = {"zero-shot": {"metrics": {"plan/success/h10": 40.0 + seed}, "protocol": {}}}
            usual = {"metrics": {"plan/success/h10": 50.0 + seed}}
            entered(cfg, row, seed, scores={"final": final, "select": usual}, plans=plans)
    return [Filled.of(MAIN, "", row, ENV, cfg | {"seeds": 3}) for row in rows]
