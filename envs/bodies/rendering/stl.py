"""Meshes from binary STL files."""

from pathlib import Path

import numpy as np

_STL = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")])


def read_stl(path: Path) -> np.ndarray:
    """Triangles of a binary STL file, (n, 3, 3) metres."""
    raw = path.read_bytes()
    return np.frombuffer(raw[84:], _STL, count=int(np.frombuffer(raw[80:84], "<u4")[0]))["corners"].astype(float)
