"""The replay buffer of an agent between two segments: plain arrays in one .npz, written whole, read without pickles.

It holds what the buffer holds, at most `algo.learner.buffer_size` transitions.
"""

import warnings
from pathlib import Path

import numpy as np
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from envs.problem import Problem

_COLUMNS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_OF_EPISODES = ("ep_start", "ep_length")  # of a buffer that relabels goals


def replay_path(folder: Path, steps: int) -> Path:
    """Of a run, after so many steps."""
    return folder / "checkpoints" / f"replay-{steps}.npz"


def _arrays(buffer: ReplayBuffer) -> dict[str, np.ndarray]:
    """Name -> (transitions of an environment, environments, ...), the arrays themselves."""
    found = {}
    for name in (*_COLUMNS, *(_OF_EPISODES if isinstance(buffer, HerReplayBuffer) else ())):
        column = getattr(buffer, name)
        parts = {f"{name}/{key}": array for key, array in column.items()} if isinstance(column, dict) else {name: column}
        found |= parts
    return found


def write_replay(buffer: ReplayBuffer, path: Path) -> None:
    """Write the whole buffer, or nothing."""
    if isinstance(buffer, HerReplayBuffer):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the next segment begins new episodes, as is meant
            buffer.truncate_last_trajectory()
    held = buffer.buffer_size if buffer.full else buffer.pos
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            np.savez(file, pos=buffer.pos, **{name: array[:held] for name, array in _arrays(buffer).items()})
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_replay(buffer: ReplayBuffer, path: Path) -> None:
    """Fill an empty buffer. A Problem where the file is not one of its kind."""
    try:
        with np.load(path, allow_pickle=False) as file:
            pos, held = _ends(file, buffer.buffer_size)
            for name, array in _arrays(buffer).items():  # one after the other: a buffer may hold gigabytes
                array[:held] = _column(file, name, (held, *array.shape[1:]))
        buffer.pos, buffer.full = pos, held == buffer.buffer_size
        if isinstance(buffer, HerReplayBuffer):
            buffer._current_ep_start[:] = pos
    except FileNotFoundError:
        raise Problem(f"{path} is missing, and the agent beside it learned from it; train again with overwrite=true") from None
    except Exception as error:  # a damaged archive can raise nearly anything
        raise Problem(
            f"{path} is no replay buffer of this training ({type(error).__name__}); train again with overwrite=true"
        ) from error


def _ends(file, size: int) -> tuple[int, int]:
    """Where a buffer of this size is written next, behind its last row or over the oldest of a full one,
    and how many it holds.
    """
    pos, held = file["pos"], len(file["actions"])
    if pos.shape != () or pos.dtype.kind != "i" or not (pos == held < size or 0 <= pos < held == size):
        raise ValueError("pos")
    return int(pos), held


def _column(file, name: str, shape: tuple[int, ...]) -> np.ndarray:
    column = file[name]
    if column.shape != shape or not np.isfinite(column).all():
        raise ValueError(name)
    if name in _OF_EPISODES and not ((column >= 0) & (column <= len(column))).all():
        raise ValueError(name)
    return column


def remove_replays(folder: Path, but: Path | None = None) -> None:
    """Remove the buffers of a run that no segment begins from any more."""
    for path in (folder / "checkpoints").glob("replay-*.npz"):
        if path != but:
            path.unlink()
