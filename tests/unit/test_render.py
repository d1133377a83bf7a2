"""Frames against pictures drawn independently with scikit-image."""

import numpy as np
import pytest

from envs.grid import SHAPE_NAMES, render, sprite

draw = pytest.importorskip("skimage.draw")
CORNERS = {  # from the description of the published renderer, not from our table
    "triangle": [(0, 5), (10, 0), (10, 10)],
    "square": [(0, 0), (10, 0), (10, 10), (0, 10)],
    "diamond": [(0, 5), (5, 0), (10, 5), (5, 10)],
    "cross": [(4, 0), (6, 0), (6, 4), (10, 4), (10, 6), (6, 6), (6, 10), (4, 10), (4, 6), (0, 6), (0, 4), (4, 4)],
    "pentagon": [(5, 0), (10, 2), (10, 7), (5, 10), (0, 5)],
    "parallelogram": [(0, 0), (10, 5), (10, 10), (0, 5)],
    "scalene": [(0, 5), (10, 0), (5, 10)],
}
AREA = {
    "disk": 69,
    "triangle": 61,
    "square": 121,
    "diamond": 61,
    "cross": 57,
    "pentagon": 72,
    "parallelogram": 61,
    "scalene": 46,
}


def paint(frame, name, row, column, color):
    """The same shape by scikit-image, clipped at the frame."""
    if name == "disk":
        pixels = draw.disk((10 * row + 5, 10 * column + 5), 5, shape=(50, 50))
    else:
        corners = np.array(CORNERS[name]) + (10 * row, 10 * column)
        pixels = draw.polygon(corners[:, 0], corners[:, 1], shape=(50, 50))
    frame[pixels] = color


@pytest.mark.parametrize("shape", range(8), ids=SHAPE_NAMES[:8])
def test_every_shape_in_every_cell(shape):
    """All 25 cells, so the clipping at the lower and right edge too."""
    cells = np.array([(r, c) for r in range(5) for c in range(5)])
    frames = render(cells[:, None], np.full((25, 1), shape), np.tile([1.0, 0.4, 0.2], (25, 1, 1)))
    for frame, (row, column) in zip(frames, cells):
        expected = np.zeros((50, 50, 3), np.uint8)
        paint(expected, SHAPE_NAMES[shape], row, column, (255, 102, 51))
        assert np.array_equal(frame, expected), f"{SHAPE_NAMES[shape]} at {row, column}"


@pytest.mark.parametrize("shape", range(8), ids=SHAPE_NAMES[:8])
def test_area(shape):
    """Pixel counts as published."""
    assert sprite(shape).sum() == AREA[SHAPE_NAMES[shape]]


def test_every_shape_is_its_own():
    """No two of the ten sprites are the same pixels, nor nearly: a shape names an object."""
    masks = [sprite(shape) for shape in range(len(SHAPE_NAMES))]
    for i, one in enumerate(masks):
        assert all((one != other).sum() >= 11 for other in masks[:i])


def test_edges_are_clipped_not_wrapped():
    """A square in the last corner loses its spill row and column and nothing appears at the opposite edge."""
    frame = render(np.array([[(4, 4)]]), np.array([[2]]), np.ones((1, 1, 3)))[0]
    assert (frame[40:, 40:] == 255).all()
    assert frame.any(-1).sum() == 100


def test_later_objects_cover_earlier_ones():
    """Neighbouring squares share a column: it belongs to the one drawn last."""
    positions, shapes = np.array([[(1, 1), (1, 2)]]), np.array([[2, 2]])
    colors = np.array([[(1.0, 0, 0), (0, 1.0, 0)]])
    frame = render(positions, shapes, colors)[0]
    assert frame[15, 20].tolist() == [0, 255, 0]
    frame = render(positions[:, ::-1], shapes, colors[:, ::-1])[0]
    assert frame[15, 20].tolist() == [255, 0, 0]


def test_many_random_boards():
    """Two passes of the batched renderer equal object-by-object painting."""
    rng = np.random.default_rng(0)
    cells = np.stack(np.divmod(rng.random((300, 25)).argsort(1)[:, :5], 5), -1)
    shapes, colors = rng.integers(0, 8, (300, 5)), rng.integers(0, 256, (300, 5, 3))
    frames = render(cells, shapes, colors / 255)
    for b in range(300):
        expected = np.zeros((50, 50, 3), np.uint8)
        for i in range(5):
            paint(expected, SHAPE_NAMES[shapes[b, i]], *cells[b, i], colors[b, i])
        assert np.array_equal(frames[b], expected)


def test_empty_batch():
    """No boards, no frames."""
    assert render(np.zeros((0, 3, 2), int), np.zeros((0, 3), int), np.zeros((0, 3, 3))).shape == (0, 50, 50, 3)
