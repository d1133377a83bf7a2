"""Worker processes: how many the machine lends, and that they end when their parent process ends, also when it is killed."""

import ctypes
import multiprocessing
import os
import signal
import sys

_PARENT_DEATH_SIGNAL = 1  # of prctl(2)


def cores() -> int:
    """How many this process may use: fewer than the machine has under taskset, Slurm or in a container."""
    lent = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(lent(0)) if lent else os.cpu_count() or 1


def die_with_parent() -> None:
    """Called first in a worker. Linux only: elsewhere the workers of a killed parent go on waiting."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        parent = multiprocessing.parent_process()  # by its number it cannot be told: the command is process 1 of a container
        if parent is not None and not parent.is_alive():  # it ended before prctl was called
            os._exit(1)
