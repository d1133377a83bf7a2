"""The board, 5x5 by default: sprites on 10-pixel cells, colour maps, and the batched renderer to uint8 frames.

Shared by the grid worlds. Pixels follow reference section 1: polygons are filled including their border, so they are
11x11 and spill one pixel row and column into the next cells; later objects cover earlier ones.
"""

from functools import lru_cache

import numpy as np

GRID = 5
CELL = 10

DISK, TRIANGLE, SQUARE, DIAMOND, CROSS, PENTAGON, PARALLELOGRAM, SCALENE, RING, HOURGLASS = range(10)
SHAPE_NAMES = (
    "disk", "triangle", "square", "diamond", "cross", "pentagon", "parallelogram", "scalene", "ring", "hourglass"
)  # fmt: skip

# Corners as (row, column) offsets from the cell's upper left pixel.
_CORNERS = {
    TRIANGLE: [(0, 5), (10, 0), (10, 10)],
    SQUARE: [(0, 0), (10, 0), (10, 10), (0, 10)],
    DIAMOND: [(0, 5), (5, 0), (10, 5), (5, 10)],
    CROSS: [(4, 0), (6, 0), (6, 4), (10, 4), (10, 6), (6, 6), (6, 10), (4, 10), (4, 6), (0, 6), (0, 4), (4, 4)],
    PENTAGON: [(5, 0), (10, 2), (10, 7), (5, 10), (0, 5)],
    PARALLELOGRAM: [(0, 0), (10, 5), (10, 10), (0, 5)],
    SCALENE: [(0, 5), (10, 0), (5, 10)],
    HOURGLASS: [(0, 0), (0, 10), (10, 0), (10, 10)],
}


def _inside(row: int, column: int, corners: list[tuple[int, int]]) -> bool:
    """True if the pixel lies within the polygon or on its border (even-odd rule, exact integers)."""
    inside = False
    for (r0, c0), (r1, c1) in zip(corners, corners[1:] + corners[:1]):
        cross = (r1 - r0) * (column - c0) - (c1 - c0) * (row - r0)
        if cross == 0 and min(r0, r1) <= row <= max(r0, r1) and min(c0, c1) <= column <= max(c0, c1):
            return True
        if (r0 > row) != (r1 > row) and (cross > 0) == (r1 > r0):
            inside = not inside
    return inside


def sprite(shape: int) -> np.ndarray:
    """The pixels of one shape as a mask (11, 11) bool over its cell and the spill row and column."""
    if shape in (DISK, RING):
        hole = 9 if shape == RING else 0
        return np.array([[hole <= (r - 5) ** 2 + (c - 5) ** 2 < 25 for c in range(11)] for r in range(11)])
    return np.array([[_inside(r, c, _CORNERS[shape]) for c in range(11)] for r in range(11)])


@lru_cache(maxsize=None)
def _pixels(shape: int, width: int) -> np.ndarray:
    """Flat indices of a shape's pixels on a canvas `width` wide when its cell is the upper left one."""
    rows, columns = np.nonzero(sprite(shape))
    return rows * width + columns


def render(
    positions: np.ndarray, shapes: np.ndarray, colors: np.ndarray, board: int = GRID, grey: np.ndarray | None = None
) -> np.ndarray:
    """Draw boards of `board` x `board` cells.

    positions (B, N, 2) int (row, column), negative for an object that is not there; shapes (B, N) int;
    colors (B, N, 3) in [0, 1]; grey (B,) uint8 behind them, none: black  ->  (B, 10 board, 10 board, 3) uint8.
    """
    size = board * CELL
    width = size + 1  # the canvas keeps the row and column that sprites spill into, and drops them at the end
    positions, shapes = np.asarray(positions, np.int64), np.asarray(shapes)
    rgb = np.rint(np.asarray(colors) * 255).astype(np.uint32)
    paint = rgb[..., 0] | rgb[..., 1] << 8 | rgb[..., 2] << 16  # one 32-bit store per pixel
    batch, num_objects = shapes.shape
    chunk = min(256, max(batch, 1))  # boards per pass: the canvas stays in the cache
    corner = (positions[..., 0] * width + positions[..., 1]) * CELL
    corner += (np.arange(batch) % chunk * width**2)[:, None]
    frames = np.empty((batch, size, size, 3), np.uint8)
    canvas = np.empty((chunk, width, width), np.uint32)
    flat = canvas.reshape(-1)
    for start in range(0, batch, chunk):
        part = slice(start, min(start + chunk, batch))
        drawn = canvas[: part.stop - start]
        drawn[:] = 0 if grey is None else (grey[part].astype(np.uint32) * 0x010101)[:, None, None]
        for i in range(num_objects):
            there = positions[part, i, 0] >= 0
            for shape in np.unique(shapes[part, i]):
                k = np.flatnonzero((shapes[part, i] == shape) & there)[:, None]
                flat[corner[part, i][k] + _pixels(int(shape), width)] = paint[part, i][k]
        drawn = drawn[:, :size, :size]
        for channel in range(3):
            frames[part, ..., channel] = drawn >> np.uint32(8 * channel) & np.uint32(255)
    return frames


@lru_cache(maxsize=None)
def color_table(name: str) -> np.ndarray:
    """A matplotlib colour map as a table (entries, 3) in [0, 1]: 256 entries for gradients, 8-12 for palettes."""
    import matplotlib  # only its colour tables are needed, and only here

    cmap = matplotlib.colormaps[name]
    return cmap(np.arange(cmap.N))[:, :3]
