"""Writes, reads and repairs the checkpoints of a stage.

A stage `<n>-<name>` keeps its states in checkpoints/<n>-<name>/ and, once it is finished, its best weights in
checkpoints/<n>-<name>.ckpt.
"""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from pytorch_lightning.plugins.io import TorchCheckpointIO

from envs.problem import Problem
from envs.whole_files import FORGOTTEN
from eval.runs.checkpoints import read_checkpoint, write_checkpoint

STATE = {"state_dict", "optimizer_states", "lr_schedulers", "loops", "callbacks", "epoch", "global_step"}
_HELD = ("config.", "metrics.csv.")  # files of the run folder that are written only under its lock


class WholeCheckpoints(TorchCheckpointIO):
    """Writes `<name>.part` in the same folder and renames it; reads tensors and plain values alone.

    Lightning's own class writes in the temporary folder. If that lies on another file system, its last step is a copy over
    the only checkpoint, and a kill during the copy loses the stage.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path, storage_options=None) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_checkpoint(checkpoint, path)

    def load_checkpoint(self, path, map_location=None, weights_only=None) -> dict[str, Any]:
        return read_checkpoint(Path(path))


def state_to_resume(working: Path) -> Path | None:
    """The state that a stage resumes from, its newest: the last, or the best where a kill came between the two;
    None if it has not begun.
    """
    there = [path for path in (working / "last.ckpt", working / "best.ckpt") if path.exists()]
    return max(there, key=lambda path: read_checkpoint(path)["epoch"]) if there[1:] else next(iter(there), None)


def clear_parts(folder: Path) -> None:
    """Remove the `.part` files of killed writers. The caller holds the folder's lock, since a part may belong to a live writer.

    Commands that score, plan and report write in the folder itself without the lock; their parts are removed when old.
    """
    for parent in (folder, *(p for p in (folder / "checkpoints").rglob("*") if p.is_dir()), folder / "checkpoints"):
        for part in parent.glob("*.part"):
            if not (part.is_symlink() or part.is_file()):  # a link that leads nowhere yet would be written through
                continue
            others = parent == folder and not part.is_symlink() and not part.name.startswith(_HELD)
            with suppress(FileNotFoundError):  # its writer has just renamed it
                if not others or time.time() - part.stat().st_mtime > FORGOTTEN:
                    part.unlink()


def forget_scores(folder: Path) -> None:
    """Remove what was measured of weights that are gone, before a run is trained from its beginning."""
    for path in (
        *folder.glob("results*.json"),
        *folder.glob("plan-*.json"),
        *folder.glob("checkpoints/round-*.ckpt"),
        folder / "metrics.csv",
    ):
        path.unlink(missing_ok=True)


def drop_damaged(folder: Path, cfg: DictConfig) -> None:
    """Rename damaged checkpoints of a resumed run to `<name>.damaged`: each stage resumes from its newest whole state.

    Every epoch draws from its own seed, so a stage that goes back some epochs, or begins again, ends at the same weights.
    """
    for number, stage in enumerate(cfg.loss.stages):
        working = folder / "checkpoints" / f"{number}-{stage.name}"
        finished = working.with_name(f"{working.name}.ckpt")
        if finished.exists():
            if fault := _fault(finished, {"state_dict"}):
                _set_aside(finished)
                _tell(f"{fault}; stage '{stage.name}' makes it anew")
        if not finished.exists():
            _drop_states(working, stage.name, "the weights of the stage before" if number else "the first weights")


def _drop_states(working: Path, stage: str, before: str) -> None:
    last, best = working / "last.ckpt", working / "best.ckpt"
    if not last.exists() and not best.exists():
        return
    if fault := _fault(best, STATE):  # the last state holds the best score without its weights
        _set_aside(last)  # first: alone it would be resumed
        _set_aside(best)
        _tell(f"{fault}; stage '{stage}' begins again from {before}")
    elif last.exists() and (fault := _fault(last, STATE)):
        _set_aside(last)
        _tell(f"{fault}; stage '{stage}' goes on from its best state, of epoch {read_checkpoint(best)['epoch'] + 1}")


def _fault(path: Path, keys: set[str]) -> str | None:
    """Why a checkpoint cannot be used, or None."""
    try:
        missing = keys - read_checkpoint(path).keys()
    except Problem as problem:
        return str(problem).split(";")[0]
    return f"{path} lacks {', '.join(sorted(missing))}" if missing else None


def _set_aside(path: Path) -> None:
    if path.exists():
        path.replace(path.with_name(f"{path.name}.damaged"))


def _tell(sentence: str) -> None:
    print(f"warning: {sentence}; what was there is kept as *.damaged", file=sys.stderr, flush=True)
