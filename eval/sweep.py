"""Many runs of other commands: what is done is skipped, what is missing runs side by side, one thread each.

A job holds a lock while it runs, so two sweeps that want the same run share the work; a killed sweep goes on where it was.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Job:
    """name: of the run folder; steps: command lines of our scripts, one after the other; done: whether nothing is left."""

    name: str
    steps: tuple[tuple[str, ...], ...]
    done: Callable[[], bool]


def missing(jobs: Iterable[Job]) -> list[Job]:
    """The jobs that are not done."""
    return [job for job in jobs if not job.done()]


def run_jobs(jobs: list[Job], workers: int, folder: Path, say: Callable[[str], None] = print) -> dict[str, str]:
    """Run jobs, `workers` at a time; what they print goes to <folder>/<name>.log.  -> name of each failed job: its last line.

    Interrupted, all children are stopped first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    running: set[subprocess.Popen] = set()
    stopping, failed, start = [], {}, time.monotonic()

    def work(job: Job) -> None:
        with FileLock(folder / f".{job.name}.lock"):  # another sweep's job: wait, and find it done
            if stopping or job.done():
                return
            code = 0
            with open(folder / f"{job.name}.log", "w") as log:
                for step in job.steps:
                    command = [sys.executable, str(ROOT / step[0]), *step[1:]]
                    child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=_one_thread())
                    running.add(child)
                    code = child.wait()
                    running.discard(child)
                    if code:
                        break
        if code and not stopping:
            said = (folder / f"{job.name}.log").read_text().strip().splitlines()
            failed[job.name] = said[-1] if said else f"exit code {code}"
        finished.append(job)
        say(f"{len(finished)}/{len(jobs)}  {job.name}  {'failed' if code else 'done'}  {time.monotonic() - start:.0f} s")

    finished: list[Job] = []
    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in [pool.submit(work, job) for job in jobs]:
                future.result()
        except BaseException:
            stopping.append(True)
            for child in list(running):
                child.terminate()
            raise
    return failed


def _one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "WANDB_MODE": os.environ.get("WANDB_MODE", "offline")}
