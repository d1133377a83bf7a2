"""Worker processes that end when their parent process ends, also when it is killed."""

import ctypes
import os
import signal
import sys

_PARENT_DEATH_SIGNAL = 1  # of prctl(2)


def die_with_parent() -> None:
    """Called first in a worker. Linux only: elsewhere the workers of a killed parent go on waiting."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == 1:  # the parent ended before prctl was called
            os._exit(1)
