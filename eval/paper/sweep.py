"""Many runs of other commands: what is done is skipped, what is missing runs side by side, one thread each.

Whoever works on a run holds its lock, the children too: a killed sweep's orphan still has it until it ends. So two sweeps
that want the same runs share them, and a run is never written by two, on one machine or on several: `flock` holds on local
disks and on NFS v4, not on NFS v3 mounted without locks.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from envs.problem import Problem

ROOT = Path(__file__).resolve().parents[2]
POLL_S = 1.0  # between looks at runs that somebody else is at


@dataclass(frozen=True)
class Job:
    """name: of the run; left: the command lines of our scripts that are still to be run, one after the other, or Problem where
    what there is of the run is damaged."""

    name: str
    left: Callable[[], list[tuple[str, ...]]]


def missing(jobs: Iterable[Job]) -> list[Job]:
    """The jobs that are not done, or of which nobody can tell."""
    return [job for job in jobs if steps_of(job) != []]


def steps_of(job: Job) -> list[tuple[str, ...]] | None:
    """What is left of it; None where what there is of it is damaged, which whoever runs it is told."""
    try:
        return job.left()
    except Problem:
        return None


def _interrupt(*_) -> None:
    """SIGTERM ends a sweep as Ctrl-C does: its children are stopped first."""
    raise KeyboardInterrupt


def run_jobs(jobs: list[Job], workers: int, folder: Path, say: Callable[[str], None] = print) -> dict[str, str]:
    """Run jobs, `workers` at a time; what they print goes to <folder>/<name>.log.  -> name of each failed job: why.

    Interrupted or terminated, all children are stopped first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sweep = _Sweep(deque(jobs), len(jobs), folder, say)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        before = signal.signal(signal.SIGTERM, _interrupt)
    else:
        before = None
    try:
        with ThreadPoolExecutor(workers) as pool:
            try:
                for future in [pool.submit(sweep.work) for _ in range(workers)]:
                    future.result()
            except BaseException:
                sweep.stop()
                raise
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    return sweep.failed


class _Sweep:
    """What the workers of one sweep share."""

    def __init__(self, queue: deque, count: int, folder: Path, say: Callable[[str], None]) -> None:
        self.queue, self.count, self.folder, self.say = queue, count, folder, say
        self.running: set[subprocess.Popen] = set()
        self.failed: dict[str, str] = {}
        self.waited: set[str] = set()  # what somebody else was found at: told once
        self.stopping, self.finished, self.start = False, 0, time.monotonic()

    def work(self) -> None:
        """Take jobs until there are none; one that somebody else is at goes to the end of the queue."""
        while not self.stopping:
            try:
                job = self.queue.popleft()
            except IndexError:
                return
            with open(self.folder / f".{job.name}.lock", "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self.queue.append(job)
                    if job.name not in self.waited:
                        self.waited.add(job.name)
                        self.say(f"waiting for {job.name}: another worker is at it")
                    time.sleep(POLL_S)
                    continue
                try:
                    why = self._run(job, lock.fileno())
                except Problem as problem:  # what there is of this run is damaged: no reason to stop the others
                    why = str(problem)
            if self.stopping:
                return
            if why:
                self.failed[job.name] = why
            self.finished += 1
            seconds = time.monotonic() - self.start
            self.say(f"{self.finished}/{self.count}  {job.name}  {'failed' if why else 'done'}  {seconds:.0f} s")

    def _run(self, job: Job, lock: int) -> str | None:
        """Why a job failed, or none."""
        path, steps = self.folder / f"{job.name}.log", job.left()
        if not steps:
            return None  # somebody else did it meanwhile: the log is theirs
        with open(path, "w") as log:
            for step in steps:
                if self.stopping:
                    return None
                command = [sys.executable, str(ROOT / step[0]), *step[1:]]
                child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=_one_thread(), pass_fds=[lock])
                self.running.add(child)
                if self.stopping:  # between the look above and now
                    child.terminate()
                code = child.wait()
                self.running.discard(child)
                if code == -signal.SIGKILL:
                    return "it was killed, perhaps as memory was short; run fewer at a time: jobs="
                if code:
                    said = path.read_text(errors="replace").strip().splitlines()
                    return said[-1] if said else f"exit code {code}"
        return "it ended without its results" if job.left() else None

    def stop(self) -> None:
        self.stopping = True
        for child in list(self.running):
            child.terminate()


def _one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "WANDB_MODE": os.environ.get("WANDB_MODE", "offline")}
