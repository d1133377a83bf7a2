"""The episode file: one HDF5 file, one dataset per column, header and checksum, never half-written.

An episode of T actions has T+1 rows; `action[t]` leads from row t to row t+1 and `reward[t]` is its consequence; both
are padding in the last row. Rows of all episodes follow one another; `ep_len` and `ep_offset` (both in rows) say where
each begins, the layout that `stable_worldmodel.data` reads. Episodes may differ in length. The header of collected data
holds the spec of the columns (`envs/spec.py`) and the bytes of a row on the disk.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import h5py
import hdf5plugin
import numpy as np
from filelock import FileLock

from envs.file_blocks import DAMAGED, INDEX, blocks_of, check_column, checksum, digest, verified_blocks, verify
from envs.problem import Problem
from envs.spec import EnvSpec

FORMAT = 2
DESCRIBES = ("spec", "row_bytes")  # keys of a header that tell of the data and decide no byte of them
CHUNK = 100_000  # bytes that are unpacked at once, so that a window of large frames is read without the rest of its episode
_CODEC = dict(hdf5plugin.Blosc(cname="zstd", clevel=1, shuffle=hdf5plugin.Blosc.NOSHUFFLE))
_LARGE, _CODEC_OF_LARGE = 10_000, dict(hdf5plugin.Zstd(clevel=1))  # bytes of a row; it finds again what the frame before shows


class Column(NamedTuple):
    """What a column may hold: numbers of one kind, of one shape in each row, whole ones below a limit (none: any).

    kind: of numpy's dtype, u, i, f or b. Numbers of kind f are finite.
    """

    shape: tuple[int, ...]
    kind: str
    below: int | None = None

    def fault(self, values: np.ndarray) -> str | None:
        """Why these values (rows, ...) are others; None where they are not."""
        if values.shape[1:] != self.shape or values.dtype.kind != self.kind:
            return f"{values.dtype} of shape {values.shape[1:]} in place of kind {self.kind} and {self.shape}"
        if self.kind == "f" and not np.isfinite(values).all():
            return "numbers that are not finite"
        if self.below is not None and values.size and not 0 <= values.min() <= values.max() < self.below:
            return f"numbers from {values.min()} to {values.max()} in place of 0 to {self.below - 1}"
        return None


class EpisodeWriter:
    """Appends blocks of episodes to `<path>.part` and renames it to `path` when finished.

    Holds `<path>.lock` while open, so a second writer waits. Every block is flushed with the digests of its columns:
    a later writer with the same header keeps the whole blocks it finds and goes on from `blocks_done`.
    """

    def __init__(self, path: str | Path, header: Mapping) -> None:
        self.path = Path(path)
        self.header = json.dumps(dict(header), sort_keys=True)
        self._part = self.path.with_name(self.path.name + ".part")
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
            if self._file.attrs["header"] != self.header:
                raise ValueError("header")
            self._blocks = blocks_of(self._file)
            rows = sum(block["rows"] for block in self._blocks)
            episodes = sum(block["episodes"] for block in self._blocks)
            for name in self._file:
                check_column(self._file, name)  # all, before the first is changed
            for name, column in self._file.items():
                column.resize(episodes if name in INDEX else rows, axis=0)
            verify(self._file, self._blocks)
            return True
        except DAMAGED:
            if self._file is not None:
                self._file.close()
            self._file, self._blocks = None, []
            return False

    @property
    def blocks_done(self) -> int:
        return len(self._blocks)

    def append(self, columns: Mapping[str, np.ndarray], lengths: np.ndarray) -> None:
        """columns: name -> (rows, ...), episodes one after the other; lengths (episodes,) in rows, summing to rows."""
        lengths = np.asarray(lengths, np.int32)
        offset = sum(block["rows"] for block in self._blocks)
        index = {"ep_len": lengths, "ep_offset": (offset + np.cumsum(lengths) - lengths).astype(np.int64)}
        try:
            for name, values in {**columns, **index}.items():
                if name not in self._file:
                    fit = max(8, CHUNK // max(1, values[:1].nbytes))
                    chunk = 256 if name in INDEX else min(fit, int(lengths.max()))
                    codec = _CODEC_OF_LARGE if values[:1].nbytes > _LARGE else _CODEC
                    self._file.create_dataset(
                        name, (0, *values.shape[1:]), values.dtype, maxshape=(None, *values.shape[1:]),
                        chunks=(chunk, *values.shape[1:]), **codec,
                    )  # fmt: skip
                column = self._file[name]
                start = len(column)
                column.resize(start + len(values), axis=0)
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


class EpisodeFile:
    """A finished episode file. Columns are read whole, checked against their digests, and kept by the caller.

    remedy: how the file is made anew; it ends every complaint.  allowed: what columns may hold, where more than their
    digests is to be asked; a file with other numbers would end a reader far from here.  spec: of the columns, where the
    header says none: a file of before, or of another make.  made_from: columns that the file lacks and that follow from
    others, name -> (their names, function of them).
    """

    def __init__(
        self, path: str | Path, header: Mapping | None = None, remedy: str = "collect it again",
        allowed: Mapping[str, Column] | None = None, spec: EnvSpec | None = None,
    ) -> None:  # fmt: skip
        self.path, self._remedy, self._allowed, self.spec = Path(path), remedy, allowed or {}, spec
        self.made_from: dict[str, tuple[tuple[str, ...], Callable[..., np.ndarray]]] = {}
        if self.path.exists() and not self.path.is_file():
            raise self._broken("it is not a regular file")  # a pipe would be waited for
        try:
            with h5py.File(self.path, "r") as file:
                version, sealed, text = file.attrs["format"], file.attrs["checksum"], file.attrs["header"]
                self.header, self._blocks = json.loads(text), blocks_of(file)
                if not isinstance(self.header, dict):
                    raise ValueError("no header")
                whole = sealed == checksum(text, self._blocks)
                if version == FORMAT and whole:
                    self.ep_len, self.ep_offset = verify(file, self._blocks, INDEX).values()
                    rows = sum(block["rows"] for block in self._blocks)
                    begins = np.cumsum(self.ep_len) - self.ep_len
                    if (self.ep_len < 1).any() or self.ep_len.sum() != rows or not np.array_equal(begins, self.ep_offset):
                        raise ValueError("episodes that do not follow one another")
                self.columns = tuple(name for name in file if name not in INDEX)
        except FileNotFoundError as error:
            raise Problem(f"{self.path} does not exist; make it with: {remedy}") from error
        except DAMAGED as error:
            raise self._broken("it is truncated or not an episode file") from error
        if version != FORMAT:
            raise self._broken(f"it has format version {version}, this code reads {FORMAT}")
        if not whole:
            raise self._broken("its checksum does not match its contents")
        if header is not None:
            expected = json.loads(json.dumps(dict(header)))
            keys = (set(expected) | set(self.header)).difference(DESCRIBES)
            differ = [key for key in sorted(keys) if expected.get(key) != self.header.get(key)]
            sides = "; ".join(f"{key}: expected {expected.get(key)}, file has {self.header.get(key)}" for key in differ)
            if differ:
                raise self._broken(f"it was recorded under another configuration ({sides})")
        if "spec" in self.header:
            try:
                self.spec = EnvSpec.from_dict(self.header["spec"])
            except Problem as problem:
                raise self._broken(f"the spec in its header is none ({problem})") from problem
        if header is not None and "spec" in header and self.spec is not None:
            differs = EnvSpec.from_dict(header["spec"]).difference(self.spec)
            if differs:
                raise self._broken(f"it was recorded under another spec ({differs})")

    def _broken(self, why: str) -> Problem:
        return Problem(f"{self.path} cannot be used: {why}; {self._remedy}")

    def __len__(self) -> int:
        return len(self.ep_len)

    def read(self, *names: str) -> dict[str, np.ndarray]:
        """The named columns, whole and verified: name -> (rows, ...). None named: all that the file holds."""
        sources = {name: self.source(name) for name in names or self.columns}
        try:
            with h5py.File(self.path, "r") as file:
                stored = dict.fromkeys(one for needed, _ in sources.values() for one in needed)
                columns = verify(file, self._blocks, tuple(stored))
        except DAMAGED as error:
            raise self.damaged(error) from error
        for name, values in columns.items():
            self._check_allowed(name, values)
        return {name: make(*(columns[one] for one in needed)) for name, (needed, make) in sources.items()}

    def blocks(self, name: str) -> Iterator[np.ndarray]:
        """A column that the file holds, verified and read in parts: (rows, ...) of some episodes at a time."""
        try:
            with h5py.File(self.path, "r") as file:
                check_column(file, name)
                for values in verified_blocks(file[name], name, self._blocks):
                    self._check_allowed(name, values)
                    yield values
        except DAMAGED as error:
            raise self.damaged(error) from error

    def source(self, name: str) -> tuple[tuple[str, ...], Callable[..., np.ndarray]]:
        """Where a column comes from: the columns that the file holds, and what is made of them."""
        if name in self.columns or name in INDEX:
            return (name,), lambda values: values
        if name not in self.made_from:
            raise self._broken(f"it has no column '{name}', it holds {', '.join(self.columns)}")
        return self.made_from[name]

    def damaged(self, error: Exception) -> Problem:
        """What to say of data that cannot be read."""
        return self._broken(f"its data are damaged ({error})")

    def _check_allowed(self, name: str, values: np.ndarray) -> None:
        fault = self._allowed[name].fault(values) if name in self._allowed else None
        if fault:
            raise self._broken(f"its column '{name}' holds {fault}")

    def episodes(self, *names: str, steps: int = 1, count: int | None = None) -> list[np.ndarray]:
        """The named columns by episodes, (E, T + 1, ...) each: the first `count` episodes (None: all) of `steps` actions or
        more, cut to the shortest of them."""
        columns = self.read(*names)
        keep = np.flatnonzero(self.ep_len > steps)[:count]
        if not len(keep):
            raise self._broken(f"no episode of it is {steps} actions long, the longest has {int(self.ep_len.max()) - 1}")
        rows = int(self.ep_len[keep].min())
        if (self.ep_len == rows).all():
            return [columns[name].reshape(len(self), rows, *columns[name].shape[1:])[: len(keep)] for name in names]
        index = self.ep_offset[keep][:, None] + np.arange(rows)
        return [columns[name][index] for name in names]

    def windows(self, *names: str, steps: int, count: int | None = None) -> list[np.ndarray]:
        """The named columns of windows of `steps` actions, (W, steps + 1, ...) each, in the order of the episodes.

        count: how many windows, at most. The first of each episode, where there are so many episodes (none: of all); where
        there are fewer, each gives as many more, spread evenly over it.
        """
        keep = np.flatnonzero(self.ep_len > steps)[:count]
        if not len(keep):
            raise self._broken(f"no episode of it is {steps} actions long, the longest has {int(self.ep_len.max()) - 1}")
        each = 1 if count is None else -(-count // len(keep))
        fits = (self.ep_len[keep] - steps).tolist()  # first rows of a window
        firsts = [start + np.unique(np.linspace(0, n - 1, min(each, n)).astype(int)) for start, n in zip(self.ep_offset[keep], fits)]
        rows = np.concatenate(firsts)[:count, None] + np.arange(steps + 1)
        columns = self.read(*names)
        return [columns[name][rows] for name in names]
