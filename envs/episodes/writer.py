"""Writes an episode file block by block; an interrupted file is continued."""

import errno
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
from filelock import FileLock

from envs.episodes.blocks import DAMAGED, FORMAT, INDEX, blocks_of, check_column, checksum, digest, verified_blocks
from envs.problem import Problem

CHUNK = 100_000  # bytes that are unpacked at once, so that a window of large frames is read without the rest of its episode
_CODEC = dict(hdf5plugin.Blosc(cname="zstd", clevel=1, shuffle=hdf5plugin.Blosc.NOSHUFFLE))
_LARGE, _CODEC_OF_LARGE = 10_000, dict(hdf5plugin.Zstd(clevel=1))  # bytes of a row; it finds again what the frame before shows


def part_of(path: Path) -> Path:
    """Where the file of this path lies until it is finished."""
    return path.with_name(path.name + ".part")


class EpisodeWriter:
    """Appends blocks of episodes to `<path>.part` and renames it to `path` when finished.

    Holds `<path>.lock` while open, so a second writer waits. Every block is flushed with the digests of its columns:
    a later writer with the same header keeps the whole blocks it finds and goes on from `blocks_done`.
    """

    def __init__(self, path: str | Path, header: Mapping) -> None:
        self.path = Path(path)
        self.header = json.dumps(dict(header), sort_keys=True)
        self._part = part_of(self.path)
        self._lock = FileLock(str(self.path) + ".lock")
        self._file: h5py.File | None = None
        self._blocks: list[dict] = []

    def __enter__(self) -> "EpisodeWriter":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except OSError as error:
            raise Problem(f"cannot write {self.path}: {error.strerror or error}; choose another data_dir=") from error
        try:
            if self._part.exists() and not self._part.is_file():
                raise OSError(errno.EINVAL, "it is not a regular file")
            if not self._reopen():
                self._part.unlink(missing_ok=True)
                self._file = h5py.File(self._part, "w")
                self._file.attrs["header"] = self.header
                self._file.attrs["blocks"] = "[]"
        except BlockingIOError as error:
            self._lock.release()
            raise Problem(
                f"{self._part} is open in another program; close it there, and give the same command again"
            ) from error
        except OSError as error:
            self._lock.release()
            raise Problem(f"cannot write {self._part}: {error.strerror or error}; choose another data_dir=") from error
        except BaseException:
            self._lock.release()
            raise
        return self

    def _reopen(self) -> bool:
        """Take up an interrupted file if it is ours and every block of it is whole."""
        if self._part.is_symlink() or not self._part.exists():  # a link would have somebody's own file go on
            return False
        try:
            self._file = h5py.File(self._part, "r+")
        except OSError as error:
            if error.errno is None:  # what HDF5 says of a file that is damaged
                return False
            raise  # it cannot be opened now, and may be whole
        try:
            if self._file.attrs["header"] != self.header:
                raise ValueError("header")
            self._blocks = blocks_of(self._file)
            rows = sum(block["rows"] for block in self._blocks)
            episodes = sum(block["episodes"] for block in self._blocks)
            for name in self._file:
                check_column(self._file, name)  # all, before the first is changed
            for name, column in self._file.items():
                column.resize(episodes if name in INDEX else rows, axis=0)
            for name, column in self._file.items():
                for _ in verified_blocks(column, name, self._blocks):  # one in memory at a time
                    pass
            return True
        except DAMAGED:
            self._file.close()
            self._file, self._blocks = None, []
            return False

    @property
    def blocks_done(self) -> int:
        return len(self._blocks)

    @property
    def episodes_done(self) -> int:
        return sum(block["episodes"] for block in self._blocks)

    def append(self, columns: Mapping[str, np.ndarray], lengths: np.ndarray) -> None:
        """columns: name -> (rows, ...), episodes one after the other; lengths (episodes,) in rows, summing to rows; none of a
        block whose episodes could not be had."""
        lengths = np.asarray(lengths, np.int32)
        offset = sum(block["rows"] for block in self._blocks)
        index = {"ep_len": lengths, "ep_offset": (offset + np.cumsum(lengths) - lengths).astype(np.int64)}
        try:
            for name, values in {**columns, **index}.items():
                if name not in self._file:
                    row = values.dtype.itemsize * math.prod(values.shape[1:])
                    fit = max(8, CHUNK // max(1, row))
                    chunk = 256 if name in INDEX else min(fit, int(lengths.max(initial=0)) or fit)
                    codec = _CODEC_OF_LARGE if row > _LARGE else _CODEC
                    self._file.create_dataset(
                        name, (0, *values.shape[1:]), values.dtype, maxshape=(None, *values.shape[1:]),
                        chunks=(chunk, *values.shape[1:]), **codec,
                    )  # fmt: skip
                column = self._file[name]
                start = len(column)
                column.resize(start + len(values), axis=0)
                if len(values):
                    column[start:] = values
            digests = {name: digest(values) for name, values in {**columns, **index}.items()}
            self._blocks.append({"rows": int(lengths.sum()), "episodes": len(lengths), "digests": digests})
            self._file.attrs["blocks"] = json.dumps(self._blocks)
            self._file.flush()
        except OSError as error:
            full = error.errno == errno.ENOSPC or "No space left" in str(error)
            why = "the disk is full" if full else str(error)
            raise Problem(
                f"cannot go on writing {self._part}: {why}; free some space or choose another data_dir=, then give the "
                f"same command again ({self.blocks_done} blocks are kept)"
            ) from error

    def finish(self) -> None:
        """Seal the file with its checksum and give it its name."""
        self._file.attrs["format"] = FORMAT
        self._file.attrs["versions"] = json.dumps({"numpy": np.__version__, "h5py": h5py.__version__})
        self._file.attrs["checksum"] = checksum(self.header, self._blocks)
        self._file.close()
        self._file = None
        os.replace(self._part, self.path)

    def __exit__(self, *_) -> None:
        try:
            if self._file is not None:
                self._file.close()
                if not self._blocks:
                    self._part.unlink(missing_ok=True)  # nothing to go on from
        except (OSError, RuntimeError):
            pass  # a full disk shows up again on close; the first sentence has already said it
        finally:
            self._file = None
            self._lock.release()
