"""Workers end with their parent, and with nothing else."""

import multiprocessing
import os
from types import SimpleNamespace

import pytest

from envs import workers
from envs.workers import cores, die_with_parent


@pytest.mark.parametrize("alive", [True, False])
def test_a_worker_ends_where_its_parent_has_ended(monkeypatch, alive):
    """The parent was taken for dead where it is process 1, as the command of a container is:
    all work in processes died there."""
    ended = []
    # or these tests die with theirs
    monkeypatch.setattr(workers.ctypes, "CDLL", lambda name: SimpleNamespace(prctl=lambda *what: None))
    monkeypatch.setattr(os, "getppid", lambda: 1)
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: alive))
    die_with_parent()
    assert ended == ([] if alive else [1])


def test_cores_are_those_that_are_lent(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")  # macOS: every training ended there in an error, after it was trained
    assert cores() == 64
