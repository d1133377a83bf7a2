"""Weights in files: written whole, read only where they match their digest, put only into their own architecture."""

import errno
import hashlib
import io
import zipfile
from pathlib import Path

import torch

from envs.problem import Problem
from models.world_model import WorldModel


def digest(state: dict) -> str:
    """Of names and bytes of all weights: a flipped bit would otherwise be scored without complaint."""
    sha = hashlib.sha256()
    for name, weights in state.items():
        sha.update(name.encode() + weights.detach().cpu().contiguous().numpy().tobytes())
    return sha.hexdigest()


def write_checkpoint(content: dict, path: Path) -> None:
    """torch.save, whole or not at all: beside its final name first, so that no other disk takes part in it.

    The archive holds a CRC-32 of every record, the pickled structure included; `read_checkpoint` compares them.
    """
    part, buffer = path.with_name(f"{path.name}.part"), io.BytesIO()
    torch.save(content, buffer)  # into memory: on a full disk torch would fail in its own words, which name no file
    try:
        part.write_bytes(buffer.getbuffer())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def save_weights(model: WorldModel, path: Path, **told: int) -> None:
    """Weights, their digest and what else is told of them, written whole or not at all."""
    state = model.state_dict()
    write_checkpoint({"state_dict": state, "digest": digest(state), **told}, path)


def read_checkpoint(path: Path) -> dict:
    """What a checkpoint holds, ours or Lightning's; a missing or damaged one is told in a sentence. Runs nothing of it.

    Raises Problem where the file is at fault, and OSError or MemoryError where reading failed and the file may be whole.
    """
    run = next((p.parent for p in path.parents if p.name == "checkpoints"), path.parent)
    again = f"finish the run with: python train/fit.py resume={run}"
    if path.stem.startswith("round-"):
        again = "ask another round, as a run that goes on writes no round anew"
    if not path.exists():
        raise Problem(f"{path} does not exist; {again}")
    damaged = Problem(f"{path} is damaged: its weights do not match their digest; remove it and {again}")
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:  # torch itself would read most flipped bits without a word
                raise damaged
        found = torch.load(path, map_location="cpu", weights_only=True)
        if found.get("digest", None) not in (None, digest(found["state_dict"])):
            raise damaged
    except Problem:
        raise
    except Exception as error:  # a damaged archive can raise nearly anything
        passing = isinstance(error, OSError) and error.errno != errno.EINVAL  # EINVAL: an archive that points before its start
        if passing or isinstance(error, MemoryError):
            if passing and error.filename is None:
                error.filename = str(path)  # a failed read does not say of what
            raise  # the disk, the memory or a limit, not the file: a checkpoint of weeks may be whole
        kind = type(error).__name__
        raise Problem(f"{path} is not a readable checkpoint ({kind}); remove it and {again}") from error
    return found


def load_weights(model: WorldModel, path: Path) -> dict:
    """Put the weights of a checkpoint into a model; a checkpoint of another architecture is refused.  -> all that it holds"""
    found = read_checkpoint(path)
    state, own = found["state_dict"], model.state_dict()
    differing = sorted(k for k in own.keys() | state.keys() if k not in own or k not in state or own[k].shape != state[k].shape)
    if differing:
        def shape(weights):
            return tuple(weights[differing[0]].shape) if differing[0] in weights else "nothing"

        raise Problem(
            f"{path} holds another architecture: {len(differing)} weights differ, first {differing[0]} "
            f"(config expects {shape(own)}, checkpoint has {shape(state)}); use the config.yaml it was trained with, or, "
            f"where its code has changed, train it anew: train/fit.py with overwrite=true"
        )
    model.load_state_dict(state)
    return found
