"""A column of an episode file that stays on the disk: rows are read on demand."""

import os
from collections.abc import Iterator

import h5py
import numpy as np

from envs.episodes.file import EpisodeFile

CACHE = 64 * 2**20  # bytes of unpacked episodes that a reader keeps


class OnDisk:
    """Rows of a column by their numbers; the whole column is never in memory.

    `blocks` compares what it reads with the digests of the file, so that one walk over it verifies the column.
    """

    def __init__(self, file: EpisodeFile, name: str) -> None:
        self._file = file
        (self._source,), self._make = file.source(name)  # what models are shown is made of one column at most
        self._rows: h5py.Dataset | None = None
        self._process = 0

    def __len__(self) -> int:
        return int(self._file.ep_len.sum())

    def blocks(self) -> Iterator[np.ndarray]:
        """The rows from first to last, (rows, ...) of some episodes at a time, verified."""
        for values in self._file.blocks(self._source):
            yield self._make(values)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows of these numbers, in their order; each run of neighbours is read at once."""
        wanted, order = np.unique(rows, return_inverse=True)
        runs = np.split(wanted, np.flatnonzero(np.diff(wanted) != 1) + 1) if len(wanted) else []
        try:
            found = [self._opened()[run[0] : run[-1] + 1] for run in runs] or [self._opened()[:0]]
        except (OSError, KeyError, ValueError) as error:
            raise self._file.damaged(error) from error
        return self._make(np.concatenate(found))[order.reshape(-1)]

    def _opened(self) -> h5py.Dataset:
        """The dataset, opened by each process for itself."""
        if self._rows is None or self._process != os.getpid():
            self._rows, self._process = h5py.File(self._file.path, "r", rdcc_nbytes=CACHE)[self._source], os.getpid()
        return self._rows
