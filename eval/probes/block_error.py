"""How far predicted blocks are from the true ones, in millimetres."""

from typing import NamedTuple

import numpy as np


class BlockError(NamedTuple):
    """Over blocks that moved. median, mean: millimetres, nan where none moved.  moved: how many there were."""

    median: float
    mean: float
    moved: int


def block_error(predicted_objects: np.ndarray, true_objects: np.ndarray, moved: np.ndarray) -> BlockError:
    """predicted_objects, true_objects (B, N, 3): positions, metres.  moved (B,) or (B, N) bool: which to count."""
    predicted, true = np.asarray(predicted_objects, float), np.asarray(true_objects, float)
    if predicted.shape != true.shape or predicted.shape[-1] != 3:
        raise ValueError(f"positions are two arrays (B, N, 3) of one shape, got {predicted.shape} and {true.shape}")
    moved = np.asarray(moved, bool)
    counted = np.broadcast_to(moved if moved.ndim == 2 else moved[:, None], true.shape[:2])
    error = 1000 * np.linalg.norm(predicted - true, axis=-1)[counted]
    if not len(error):
        return BlockError(float("nan"), float("nan"), 0)
    return BlockError(float(np.median(error)), float(error.mean()), len(error))
