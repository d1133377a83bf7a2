"""Memory of the process: what is freed is kept, and how much it was at most.

Every training step frees and allocates the same tens of megabytes. glibc returns large blocks to the kernel at once, and every
new one costs page faults. This matters on CPUs only. With another C library nothing changes.
"""

import ctypes
import resource
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h


def keep_freed_memory() -> None:
    """Make glibc reuse blocks of up to 1 GiB."""
    if sys.platform.startswith("linux"):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, 1 << 30)
            mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)


def peak_bytes() -> int:
    """The most memory that this process has held so far; processes that it started are not counted."""
    unit = 1 if sys.platform == "darwin" else 1024  # what the kernel counts in
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
