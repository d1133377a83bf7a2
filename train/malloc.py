"""Keep freed memory in the process: a training step frees and asks for the same tens of megabytes again and again.

glibc hands large blocks back to the kernel at once, and every new one is paid for in page faults. CPU training only;
where the C library has no such knob, nothing changes.
"""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h


def keep_freed_memory() -> None:
    """Ask glibc to reuse blocks of up to 1 GiB in place of returning them."""
    if sys.platform.startswith("linux"):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, 1 << 30)
            mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
