"""Blocks as the decoder gives them back: how many millimetres beside the true ones,
and whether their poses alone name the outcome."""

from typing import NamedTuple

import numpy as np
import torch

from envs.frames import frame_ids
from envs.protocols import Blocks
from eval.probes.probe import Row, bounds, probe
from eval.ranking import hits_at_k, ranks
from eval.rollouts import decode_frames

MEDIAN, MEAN, POSE = "test/block_error/median/", "test/block_error/mean/", "test/block_pose_hits@1/"
RESOLUTION = 2e-3  # metres: poses that are equal to it are one outcome; .06 rad turn a block of 65 mm as far
MOVED = "moved"  # the event of an episode in which a block moves


class BlockError(NamedTuple):
    """Over the blocks that were counted. median, mean: millimetres, nan of none.  moved: how many there were."""

    median: float
    mean: float
    moved: int


def millimetres(predicted: np.ndarray, true: np.ndarray, moved: np.ndarray) -> BlockError:
    """predicted, true (B, N, 3): positions, metres.  moved (B,) or (B, N) bool: which to count."""
    predicted, true = np.asarray(predicted, float), np.asarray(true, float)
    if predicted.shape != true.shape or predicted.shape[-1] != 3:
        raise ValueError(f"positions are two arrays (B, N, 3) of one shape, got {predicted.shape} and {true.shape}")
    moved = np.asarray(moved, bool)
    counted = np.broadcast_to(moved if moved.ndim == 2 else moved[:, None], true.shape[:2])
    error = 1000 * np.linalg.norm(predicted - true, axis=-1)[counted]
    if not len(error):
        return BlockError(float("nan"), float("nan"), 0)
    return BlockError(float(np.median(error)), float(error.mean()), len(error))


def pose_ranks(predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Ranks (B,) by the poses of the blocks alone (B, N, 9), metres.

    Velocities take no part: their noise would name outcomes.
    """
    return ranks(torch.from_numpy(predicted), torch.from_numpy(true), groups=frame_ids(true, RESOLUTION))


def _why_not(run) -> str | None:
    if len(run.world.shown.shape) != 2:
        return f"reads blocks off a table, and models are shown {run.world.observation}"
    return "asks a decoder, and the model has none" if run.model.decoder is None else None


@probe(
    needs=(Blocks,),
    unless=_why_not,
    rows=(
        Row(MEDIAN, "block error, median, mm", higher_is_better=False, percent=False, horizons=()),
        *bounds(MEDIAN, ("floor/copy/block_error/median/", "copy the start", "floor")),
        Row(MEAN, "block error, mean, mm", higher_is_better=False, percent=False, horizons=()),
        *bounds(MEAN, ("floor/copy/block_error/mean/", "copy the start", "floor")),
        Row(POSE, "H@1 of the pose of all blocks, to 2 mm", horizons=()),
        *bounds(POSE, ("floor/copy/block_pose_hits@1/", "copy the start", "floor")),
    ),
)  # fmt: skip
def block_error(run, data) -> dict[str, float]:
    """Millimetres and H@1 over the episodes in which a block moves, where the data tell, of the model and of copying. Of
    several blocks those that stand still in such an episode count as well.

    Candidates of H@1 are the outcomes of all episodes.
    """
    metrics, world, start = {}, run.world, data.obs[:, 0]
    for h in data.horizons:
        true = data.obs[:, h]
        if not world.blocks(true).shape[1]:
            return {}  # this task has none
        moved = data.events(h).get(MOVED, np.ones(len(true), bool))
        for name, guess in (("test", decode_frames(run.model, data.predicted(h)).numpy()), ("floor/copy", start)):
            error = millimetres(world.positions(guess), world.positions(true), moved)
            ranked = pose_ranks(world.poses(guess), world.poses(true))
            metrics |= {
                f"{name}/block_error/median/h{h}": error.median, f"{name}/block_error/mean/h{h}": error.mean,
                f"{name}/block_pose_hits@1/h{h}": hits_at_k(ranked[moved]),
            }  # fmt: skip
    return metrics
