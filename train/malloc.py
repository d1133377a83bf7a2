"""Keeps freed memory in the process: every training step frees and allocates the same tens of megabytes.

glibc returns large blocks to the kernel at once, and every new one costs page faults. This matters on CPUs only. With another
C library nothing changes.
"""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h


def keep_freed_memory() -> None:
    """Make glibc reuse blocks of up to 1 GiB."""
    if sys.platform.startswith("linux"):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, 1 << 30)
            mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
