"""Ceilings are stored beside the data: asked twice, measured once, and a broken file is replaced."""

import json
import threading
import time

import pytest

import eval.planning.ceilings
from envs.chemistry import ChemistryWorld
from eval.planning.ceilings import ceilings

CHAIN = ChemistryWorld()


@pytest.fixture
def counted(monkeypatch):
    """Replaces `measure` by one that counts its calls."""
    calls = []

    def fake(world, file, horizons, episodes, counterfactuals):
        calls.append((tuple(horizons), episodes, counterfactuals))
        return {f"ceiling/hits@1/h{h}": 100 / 3 + len(calls) for h in horizons}

    monkeypatch.setattr(eval.planning.ceilings, "measure", fake)
    return calls


@pytest.fixture
def file(tmp_path):
    """A data file of which only the path is asked."""

    class File:
        path = tmp_path / "data.h5"

    return File()


def test_ceilings_are_kept_beside_the_data(counted, file):
    """Asked twice, measured once: the second answer is the first, from a file that is not written again."""
    first = ceilings(CHAIN, file, [1, 5], 100, 20)
    path = file.path.with_name("data.h5.ceilings.json")
    stamp = path.stat().st_mtime_ns
    assert first == {"ceiling/hits@1/h1": 34.3333, "ceiling/hits@1/h5": 34.3333}
    assert ceilings(CHAIN, file, [1, 5], 100, 20) == first and len(counted) == 1
    assert path.stat().st_mtime_ns == stamp
    assert {p.name for p in path.parent.iterdir()} == {path.name, f"{path.name}.lock"}


def test_runs_side_by_side_lose_nothing(file, monkeypatch):
    """What another run measures while this one does, of the same data and other steps, was overwritten."""
    answers, together = {}, threading.Barrier(2)

    def measure(world, file, horizons, *_):
        time.sleep(0.05)
        return {f"ceiling/hits@1/h{h}": float(h) for h in horizons}

    def asks(h):
        together.wait()
        answers[h] = ceilings(CHAIN, file, [h], 100, 20)

    monkeypatch.setattr(eval.planning.ceilings, "measure", measure)
    runs = [threading.Thread(target=asks, args=(h,)) for h in (1, 5)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    kept = json.loads(file.path.with_name("data.h5.ceilings.json").read_text())
    assert len(kept) == 2 and answers == {1: {"ceiling/hits@1/h1": 1.0}, 5: {"ceiling/hits@1/h5": 5.0}}


def test_what_an_older_code_measured_is_measured_anew(counted, file, monkeypatch):
    ceilings(CHAIN, file, [1], 100, 20)
    monkeypatch.setattr(eval.planning.ceilings, "VERSION", -1)
    ceilings(CHAIN, file, [1], 100, 20)
    assert len(counted) == 2


def test_another_question_is_measured_and_both_are_kept(counted, file):
    """Other horizons, episodes or counterfactuals are measured anew and the earlier answers stay."""
    questions = [([1], 100, 20), ([1, 5], 100, 20), ([1], 50, 20), ([1], 100, 10)]
    answers = [ceilings(CHAIN, file, *q) for q in questions]
    assert len(counted) == 4 and len({json.dumps(a) for a in answers}) == 4
    assert [ceilings(CHAIN, file, *q) for q in questions] == answers and len(counted) == 4


def test_a_broken_file_is_measured_anew(counted, file):
    """Half a file of ceilings is replaced by a whole one."""
    path = file.path.with_name("data.h5.ceilings.json")
    path.write_text('{"horizons 1, epis')
    answer = ceilings(CHAIN, file, [1], 100, 20)
    assert len(counted) == 1 and list(json.loads(path.read_text()).values()) == [answer]
