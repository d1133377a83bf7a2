"""Worker processes that end with the process that started them, however that one ended."""

import ctypes
import os
import signal
import sys

_PARENT_DEATH_SIGNAL = 1  # of prctl(2)


def die_with_parent() -> None:
    """Called first thing in a worker. Linux tells; elsewhere a killed parent leaves its workers waiting."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == 1:  # it was gone before it could be told
            os._exit(1)
