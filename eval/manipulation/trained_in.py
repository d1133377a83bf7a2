"""What an agent was trained in: its archive says it, and an environment that is otherwise is refused."""

import json
import zipfile
from pathlib import Path

import yaml

from envs.problem import Problem

_HEADER = "trained_in.json"
_FITS = ("task", "skip_frame", "action_mode", "normalized", "entries")  # what an environment must have as the archive says it
_OF_A_RUN = ("task", "skip_frame")  # what the config of a run says of it


def layout(env) -> dict:
    """What an agent that was trained in this environment is for."""
    base = env.unwrapped
    own = {"task": base.task.name, "skip_frame": base.skip_frame, "entries": base.entries()}
    return own | {key: base.settings[key] for key in ("action_mode", "normalized")}


def add_header(archive: zipfile.ZipFile, header: dict) -> None:
    """header: what `layout` gives, and whatever else is to be kept."""
    archive.writestr(_HEADER, json.dumps(header))


def read_header(archive: zipfile.ZipFile, path: Path) -> dict:
    """What an archive says it was trained in; of one of before, what the run it lies in says; {} where nothing does.

    Whatever zip and json raise over a damaged one.
    """
    if _HEADER not in archive.namelist():
        return _of_run(path)
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or not header.keys() >= set(_FITS):
        raise ValueError(f"{_HEADER} lacks one of {', '.join(_FITS)}")
    return header


def _of_run(path: Path) -> dict:
    """By the config of a run of train/manipulation.py; tasks may observe as many numbers each."""
    config = path.absolute().parents[1] / "config.yaml"
    try:
        held = yaml.safe_load(config.read_text()) if path.parent.name == "checkpoints" and config.exists() else {}
        return {key: held[key] for key in _OF_A_RUN if key in held}
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):  # of somebody else
        return {}


def check_fits(path: Path, header: dict, env) -> None:
    """A Problem where the environment is another than the agent was trained in."""
    own = layout(env)
    for key in _FITS:
        if key in header and header[key] != own[key]:
            if key == "entries":
                raise Problem(f"{path} was trained on observations of {len(header[key])} numbers in another order than here")
            raise Problem(f"{path} was trained with {key}={header[key]}, here it is {own[key]}; give {key}={header[key]}")
