"""Identities of observations: an integer for each, equal exactly where two observations are one outcome."""

import numpy as np


def frame_ids(obs: np.ndarray, resolution: float = 0.0) -> np.ndarray:
    """(N, ...) frames or tables -> (N,) int64: a 64-bit random linear hash of all bytes, the same in every process.

    resolution: of real numbers; those that are rounded to the same multiple of it are the same, 0: equal ones alone.
    """
    if resolution:
        obs = np.rint(np.asarray(obs, np.float64) / resolution).astype(np.int64)
    flat = np.ascontiguousarray(obs).reshape(len(obs), -1).view(np.uint8)
    if flat.shape[1] % 4:
        flat = np.pad(flat, ((0, 0), (0, -flat.shape[1] % 4)))
    words = flat.view(np.uint32)
    odd = np.random.default_rng(0).integers(0, 2**63, words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    ids = np.empty(len(words), np.uint64)
    for start in range(0, len(words), 512):  # a slice that stays in the cache
        ids[start : start + 512] = (words[start : start + 512] * odd).sum(1, dtype=np.uint64)
    return ids.view(np.int64)
