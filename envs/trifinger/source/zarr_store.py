"""Arrays of a Zarr group (format 2) in an LMDB folder, the storage of the published TriFinger episodes.

The package zarr does not read them: from version 3 on it has no LMDB store. Needs the extra: pip install '.[offline]'.
"""

import json
from itertools import product
from pathlib import Path
from typing import Self

import numpy as np

from envs.problem import Problem, lacking

COMPRESSORS = ("blosc", "zstd", "zlib", "gzip", "lz4", "lzma", "bz2")  # no others: to decode a pickle runs its code


class ZarrStore:
    """with ZarrStore(folder) as store: store.rows("observations", 0, 750). A Problem where the folder cannot be read."""

    def __init__(self, folder: Path) -> None:
        try:
            import lmdb
            import numcodecs
        except ModuleNotFoundError as error:
            raise lacking(error.name, "published TriFinger", "offline") from error
        self._file, self._codec = folder / "data.mdb", numcodecs.get_codec
        try:
            self._store = lmdb.open(str(folder), readonly=True, lock=False, create=False)
            pages = self._store.info()["last_pgno"] + 1
        except lmdb.Error as error:
            raise self._damaged(f"LMDB says: {error}") from error
        need, got = pages * self._store.stat()["psize"], self._file.stat().st_size
        if got < need:  # to read beyond the end of the file would kill the process
            self._store.close()
            raise self._damaged(f"it needs {need} bytes and has {got}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self._store.close()

    def _damaged(self, why: str) -> Problem:
        return Problem(f"{self._file} is damaged or no Zarr group ({why}); download it again")

    def _bytes(self, key: str) -> bytes | None:
        with self._store.begin() as reading:
            return reading.get(key.encode())

    def _about(self, name: str) -> dict:
        """What the group says of an array, checked."""
        said = self._bytes(f"{name}/.zarray")
        if said is None:
            raise self._damaged(f"it has no array '{name}'")
        try:
            about = json.loads(said)
            shape, chunks, dtype = tuple(about["shape"]), tuple(about["chunks"]), np.dtype(about["dtype"])
            compressor, order, fill = about["compressor"] or {"id": None}, about["order"], dtype.type(about["fill_value"] or 0)
            known = compressor["id"] in (None, *COMPRESSORS) and not about["filters"] and order in ("C", "F")
            whole = all(isinstance(size, int) and size > 0 for size in (*shape, *chunks)) and len(shape) == len(chunks) > 0
        except (ValueError, TypeError, KeyError) as error:
            raise self._damaged(f"of array '{name}' it says {said[:80]!r}") from error
        if not known or not whole or dtype.kind not in "biuf":
            raise self._damaged(f"array '{name}' is no plain array of numbers")
        return {"shape": shape, "chunks": chunks, "dtype": dtype, "order": order, "fill": fill, "compressor": compressor,
                "separator": str(about.get("dimension_separator", "."))}  # fmt: skip

    def shape(self, name: str) -> tuple[int, ...]:
        """Of an array."""
        return self._about(name)["shape"]

    def rows(self, name: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Rows `start` to `stop` of an array, all by default; no chunk but theirs is read."""
        about = self._about(name)
        shape, chunks = about["shape"], about["chunks"]
        stop = shape[0] if stop is None else min(stop, shape[0])
        found = np.empty((stop - start, *shape[1:]), about["dtype"])
        across = (range(-(-size // chunk)) for size, chunk in zip(shape[1:], chunks[1:]))
        for place in product(range(start // chunks[0], -(-stop // chunks[0])), *across):
            chunk = self._chunk(name, place, about)
            low = [number * size for number, size in zip(place, chunks)]
            first, last = max(low[0], start), min(low[0] + chunks[0], stop)
            ends = [min(a + size, full) for a, size, full in zip(low, chunks, shape)]
            rest = tuple(slice(a, b) for a, b in zip(low[1:], ends[1:]))
            inside = tuple(slice(b - a) for a, b in zip(low[1:], ends[1:]))  # the last chunk may go beyond the array
            found[(slice(first - start, last - start), *rest)] = chunk[(slice(first - low[0], last - low[0]), *inside)]
        return found

    def _chunk(self, name: str, place: tuple[int, ...], about: dict) -> np.ndarray:
        key = f"{name}/{about['separator'].join(map(str, place))}"
        stored, size = self._bytes(key), int(np.prod(about["chunks"])) * about["dtype"].itemsize
        if stored is None:  # a chunk that is not stored holds the fill value alone
            return np.full(about["chunks"], about["fill"], about["dtype"])
        try:
            plain = stored if about["compressor"]["id"] is None else self._codec(about["compressor"]).decode(stored)
        except Exception as error:  # each compressor has its own
            raise self._damaged(f"chunk '{key}' cannot be decoded") from error
        if memoryview(plain).nbytes != size:
            raise self._damaged(f"chunk '{key}' needs {size} bytes and has {memoryview(plain).nbytes}")
        return np.frombuffer(plain, about["dtype"]).reshape(about["chunks"], order=about["order"])
