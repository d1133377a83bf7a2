"""Answers of the true world are asked once: kept where they took long, asked again where anything else was asked."""

from types import SimpleNamespace

import numpy as np
import pytest

from eval.probes import kept as module
from eval.probes.kept import kept


class Oracle:
    """Counts how often it is asked."""

    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return {"answer": np.arange(3)}


@pytest.fixture
def ask(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WORTH", 0)
    file = SimpleNamespace(header={"seed": 3}, path=tmp_path / "data.h5")
    oracle = Oracle()

    def asked(state=0.0, header=file.header, **about):
        file.header = header
        found = kept(file, "what_if", {"state": np.full(4, state)}, about, oracle)
        assert found["answer"].tolist() == [0, 1, 2]
        return oracle.times

    return asked


def test_the_same_is_asked_once(ask):
    assert [ask(horizon=1), ask(horizon=1)] == [1, 1]


def test_another_state_horizon_or_world_is_asked_anew(ask):
    assert [
        ask(horizon=1),
        ask(horizon=2),
        ask(1.0, horizon=1),
        ask(horizon=1, header={"seed": 4}),
        ask(horizon=1),
    ] == [1, 2, 3, 4, 4]


def test_a_damaged_answer_is_made_again(ask, tmp_path):
    ask()
    (path,) = tmp_path.glob("*.npz")
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    assert [ask(), ask()] == [2, 2]
    start = whole.index(b"answer.npy") + len("answer.npy") + 20  # of what is packed, after the sizes
    path.write_bytes(whole[:start] + bytes(byte ^ 255 for byte in whole[start : start + 20]) + whole[start + 20 :])
    assert [ask(), ask()] == [3, 3]


def test_what_takes_no_time_is_not_kept(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WORTH", 60)
    ask()
    assert not list(tmp_path.iterdir())
