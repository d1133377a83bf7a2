"""Which list the next participant gets, so that every version of a trial is rated equally often."""

from collections.abc import Mapping


def complement(index: int) -> int:
    """The list with the same trials in their other versions."""
    return index ^ 1


def next_list(taken: Mapping[int, str], lists: int) -> int | None:
    """The list to hand out; None where all are held.

    taken: list -> state of who holds it, open or accepted. The list of somebody who was rejected, withdrew or ran out of time
    is not in it, so that exactly this list is handed out again.  lists: how many there are.
    The complement of a held list comes first, the lowest of several, then the lowest free list.
    """
    free = [index for index in range(lists) if index not in taken]
    return min(free, key=lambda index: (complement(index) not in taken, index), default=None)
