"""Reads a finished episode file: its header, its columns, its episodes and windows."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import h5py
import hdf5plugin  # noqa: F401  its import registers the codec of the columns
import numpy as np

from envs.episodes.blocks import DAMAGED, FORMAT, INDEX, blocks_of, check_column, checksum, verified_blocks, verify
from envs.problem import Problem
from envs.spec import EnvSpec

DESCRIBES = ("spec", "row_bytes")  # keys of a header that tell of the data and decide no byte of them


class Column(NamedTuple):
    """What a column may hold: numbers of one kind, of one shape in each row, whole ones below a limit (none: any).

    kind: of numpy's dtype, u, i, f or b. Numbers of kind f are finite.
    """

    shape: tuple[int, ...]
    kind: str
    below: int | None = None

    def mismatch(self, values: np.ndarray) -> str | None:
        """How values (rows, ...) differ from what the column may hold; None where they do not."""
        if values.shape[1:] != self.shape or values.dtype.kind != self.kind:
            return f"{values.dtype} of shape {values.shape[1:]} in place of kind {self.kind} and {self.shape}"
        if self.kind == "f" and not np.isfinite(values).all():
            return "numbers that are not finite"
        if self.below is not None and values.size and not 0 <= values.min() <= values.max() < self.below:
            return f"numbers from {values.min()} to {values.max()} in place of 0 to {self.below - 1}"
        return None


class EpisodeFile:
    """A finished episode file. Columns are read whole, checked against their digests, and kept by the caller.

    remedy: how to make the file again; the end of every error.  allowed: what columns may hold, checked besides their
    digests: a reader would fail on other numbers much later.  spec: of the columns, for files whose header has none (older
    ones).  made_from: columns that the file lacks and that follow from others, name -> (their names, function of them).
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
        """The columns of the file that a column is made from, and the function that makes it."""
        if name in self.columns or name in INDEX:
            return (name,), lambda values: values
        if name not in self.made_from:
            raise self._broken(f"it has no column '{name}', it holds {', '.join(self.columns)}")
        return self.made_from[name]

    def damaged(self, error: Exception) -> Problem:
        """The error for data that cannot be read."""
        return self._broken(f"its data are damaged ({error})")

    def _check_allowed(self, name: str, values: np.ndarray) -> None:
        mismatch = self._allowed[name].mismatch(values) if name in self._allowed else None
        if mismatch:
            raise self._broken(f"its column '{name}' holds {mismatch}")

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

        count: see `starts`.
        """
        rows = self.starts(steps, count)[:, None] + np.arange(steps + 1)
        columns = self.read(*names)
        if (np.diff(rows.ravel()) == 1).all():  # whole episodes: nothing is copied
            part = slice(rows[0, 0], rows[-1, -1] + 1)
            return [columns[name][part].reshape(*rows.shape, *columns[name].shape[1:]) for name in names]
        return [columns[name][rows] for name in names]

    def starts(self, steps: int, count: int | None = None) -> np.ndarray:
        """First rows (W,) of windows of `steps` actions.

        count: how many windows, at most. The first of each episode, where there are so many episodes (none: of all); where
        there are fewer, each gives as many more, spread evenly over it, and the last ones none where that is more than `count`.
        """
        keep = np.flatnonzero(self.ep_len > steps)[:count]
        if not len(keep):
            raise self._broken(f"no episode of it is {steps} actions long, the longest has {int(self.ep_len.max()) - 1}")
        each = 1 if count is None else -(-count // len(keep))
        firsts = self.ep_offset[keep]
        if each > 1:
            fits = (self.ep_len[keep] - steps).tolist()  # first rows of a window
            spread = [start + np.unique(np.linspace(0, n - 1, min(each, n)).astype(int)) for start, n in zip(firsts, fits)]
            firsts = np.concatenate(spread)
        return firsts[:count]
