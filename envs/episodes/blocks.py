"""The blocks of an episode file and their digests. Every column is compared with its digests before it is returned."""

import hashlib
import json
from collections.abc import Iterator

import h5py
import numpy as np

DAMAGED = (OSError, KeyError, ValueError, TypeError, RuntimeError)  # what h5py and json raise over a file of another make
FORMAT = 2  # version of the layout
INDEX = ("ep_len", "ep_offset")


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array)).hexdigest()[:32]


def checksum(header: str, blocks: list[dict]) -> str:
    return hashlib.sha256((header + json.dumps(blocks, sort_keys=True)).encode()).hexdigest()


def blocks_of(file: h5py.File) -> list[dict]:
    """The list of blocks in a file's attributes."""
    blocks = json.loads(file.attrs["blocks"])
    if not isinstance(blocks, list) or not all(map(_is_block, blocks)):
        raise ValueError("no list of blocks")
    return blocks


def _is_block(block) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("digests"), dict):
        return False
    return all(isinstance(block.get(key), int) and block[key] >= 0 for key in ("rows", "episodes"))


def check_column(file: h5py.File, name: str) -> None:
    """A column lies in the file itself: a link, or storage of its own elsewhere, would let a writer change another file."""
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"'{name}' is a link to elsewhere")
    column = file[name]
    if not isinstance(column, h5py.Dataset):
        raise ValueError(f"'{name}' is not a column")
    if column.external is not None or column.is_virtual:
        raise ValueError(f"'{name}' is kept in another file")


def verify(file: h5py.File, blocks: list[dict], only: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
    """Read the columns and compare every block with its digest; returns what was read."""
    columns = {}
    for name in only or tuple(file):
        check_column(file, name)
        columns[name] = file[name][:]
        for _ in verified_blocks(columns[name], name, blocks):
            pass
    return columns


def verified_blocks(values, name: str, blocks: list[dict]) -> Iterator[np.ndarray]:
    """The blocks of a column, a dataset or what was read of it, each compared with its digest."""
    start, per_block = 0, "episodes" if name in INDEX else "rows"
    for number, block in enumerate(blocks):
        part = values[start : start + block[per_block]]
        if digest(part) != block["digests"][name]:
            raise ValueError(f"column '{name}', block {number}")
        start += block[per_block]
        yield part
    if start != len(values):
        raise ValueError(f"column '{name}' has {len(values)} rows, its blocks {start}")
