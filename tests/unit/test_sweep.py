"""Sweeps: what fails, is damaged or is killed is told, and does not stop the rest."""

import fcntl
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import eval.paper.sweep
from envs.problem import Problem
from eval.paper.sweep import Job, missing, run_jobs

HANG = 600  # seconds


def test_failures_are_told_and_do_not_stop_the_rest(tmp_path, monkeypatch):
    """The last line of a failed job comes back; the others are done."""
    monkeypatch.setattr(eval.paper.sweep, "ROOT", tmp_path)
    (tmp_path / "bad.py").write_text("import sys; print('so far'); sys.exit('error: no such thing')")
    (tmp_path / "good.py").write_text("import pathlib, sys; pathlib.Path(sys.argv[1]).touch()")
    target = tmp_path / "done"
    jobs = [
        Job("bad", lambda: [("bad.py",), ("good.py", str(tmp_path / "never"))]),
        Job("idle", lambda: [("good.py", str(tmp_path / "other"))]),
        Job("good", lambda: [] if target.exists() else [("good.py", str(target))]),
    ]
    failed = run_jobs(jobs, 1, tmp_path / "logs", lambda _: None)
    assert failed == {"bad": "error: no such thing", "idle": "it ended without its results"}
    assert target.exists() and not (tmp_path / "never").exists()


def test_a_run_that_is_killed_is_told_so(tmp_path, monkeypatch):
    """Seen: the kernel ended a run that took 22 GB, and the sweep gave as its reason the last line of its progress."""
    monkeypatch.setattr(eval.paper.sweep, "ROOT", tmp_path)
    (tmp_path / "big.py").write_text(
        "import os, signal; print('weight order  48 s', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    failed = run_jobs([Job("big", lambda: [("big.py",)])], 1, tmp_path / "logs", lambda _: None)
    assert failed == {"big": "it was killed, perhaps as memory was short; run fewer at a time: jobs="}


def test_a_run_whose_entry_is_damaged_does_not_stop_the_rest(tmp_path, monkeypatch):
    """One half-written file ended the whole command before anything was trained,
    and a sweep under way with all that it was training."""
    monkeypatch.setattr(eval.paper.sweep, "ROOT", tmp_path)
    (tmp_path / "good.py").write_text("import pathlib, sys; pathlib.Path(sys.argv[1]).touch()")
    target = tmp_path / "done"

    def damaged():
        raise Problem("x.json is no entry of a ledger")

    def afterwards():
        return damaged() if (tmp_path / "half").exists() else [("good.py", str(tmp_path / "half"))]

    jobs = [
        Job("damaged", damaged),
        Job("half", afterwards),
        Job("good", lambda: [] if target.exists() else [("good.py", str(target))]),
    ]
    assert missing(jobs) == jobs
    assert run_jobs(jobs, 1, tmp_path / "logs", lambda _: None) == dict.fromkeys(
        ("damaged", "half"), "x.json is no entry of a ledger"
    )
    assert target.exists()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_sweep(ending, tmp_path, request):
    """Told to end, it ends its children; killed outright, its orphan keeps the lock until it is through: never two at once."""
    request.addfinalizer((tmp_path / "go").touch)  # ends the child where the test fails
    (tmp_path / "slow.py").write_text(
        f"import time, pathlib, os; here = pathlib.Path({str(tmp_path)!r}); (here / f'on-{{os.getpid()}}').touch()\n"
        f"while not (here / 'go').exists(): time.sleep(.02)\n"
        f"(here / 'through').touch()"
    )
    code = (
        "import eval.paper.sweep, pathlib, signal; from eval.paper.sweep import *\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a suite started in the background ignores it
        f"eval.paper.sweep.ROOT = pathlib.Path({str(tmp_path)!r})\n"
        f"run_jobs([Job('one', lambda: [('slow.py',)])], 2, pathlib.Path({str(tmp_path / 'logs')!r}))"
    )
    sweep = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("on-*")):
        assert sweep.poll() is None
        time.sleep(0.02)
    sweep.send_signal(ending)
    assert sweep.wait(HANG) != 0
    (child,) = (int(path.name[3:]) for path in tmp_path.glob("on-*"))
    lock = open(tmp_path / "logs" / ".one.lock", "w")
    if ending is signal.SIGKILL:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (tmp_path / "go").touch()
        fcntl.flock(lock, fcntl.LOCK_EX)  # free as soon as the orphan ends
        assert (tmp_path / "through").exists()
    else:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert not Path(f"/proc/{child}").exists() and not (tmp_path / "through").exists()
