"""How a training starts: its folder is new, taken up again or refused, and its world is what the config says."""

import os
import shutil
import socket
from pathlib import Path

from filelock import FileLock, Timeout
from omegaconf import DictConfig, OmegaConf

from configs.sizes import BESIDE
from envs.problem import Problem
from envs.spec import EnvSpec
from envs.whole_files import write_whole
from eval.runs import AGENT, MODEL, differences, freeze, load_config
from train.checkpoint_files import clear_parts, drop_damaged
from train.distributed import node_of

LOCK = ".lock"  # in a run folder: held by the command that writes it
_LOCKS = (LOCK, ".results.lock")  # that others may wait on: a file of the same name, made anew, would be another lock


def choose_folder(cfg: DictConfig, parts: tuple[str, ...] = MODEL) -> tuple[Path, DictConfig]:
    """The run folder and its frozen config: new, taken up again, or refused. Writes and deletes nothing.

    parts: what a config of such a run must have.
    """
    if cfg.get("resume"):
        folder = Path(str(cfg.resume))  # a folder may be called 5
        before = load_config(folder)
        if node_of(before) == 0:
            _refuse_held(folder)
        return folder, before
    if "data_dir" in cfg:
        cfg.data_dir = str(Path(cfg.data_dir).resolve())  # the run finds its data from any directory
    if OmegaConf.select(cfg, "env.world.scm"):
        cfg.env.world.scm = str(Path(cfg.env.world.scm).resolve())
    folder, frozen = Path(cfg.runs_dir) / str(cfg.name), freeze(cfg)
    if "trainer" in frozen and node_of(frozen) > 0:
        return folder, frozen  # the first machine opens it
    _refuse_held(folder)
    return folder, _agreed(folder, frozen, cfg.overwrite, parts)


def _agreed(folder: Path, frozen: DictConfig, overwrite: bool, parts: tuple[str, ...]) -> DictConfig:
    """The config of the run that a folder holds, if it is the same experiment, else `frozen`; other contents are refused."""
    held = {p.name for p in folder.iterdir() if p.suffix != ".part"}.difference(_LOCKS) if folder.exists() else set()
    if held == {"checkpoints"} and not any((folder / "checkpoints").iterdir()):
        held = set()  # a start that was cut off before it had written its config
    strange = Problem(f"{folder} holds something that is not a run; choose another name= or runs_dir=")
    if held and "config.yaml" not in held:
        raise strange
    try:
        before = load_config(folder, parts) if held else None  # refuses somebody else's config.yaml
    except Problem:
        if "checkpoints" not in held:
            raise strange from None
        raise
    if before is not None and not overwrite:
        differing = differences(before, frozen)
        if differing:
            raise Problem(
                f"{folder} holds a run with another configuration ({differing}); choose name=... or set overwrite=true"
            )
        return before
    return frozen


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, before the data are collected for it."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        raise Problem(f"cannot write {folder}: {there} is not a folder; choose another runs_dir=")
    if not os.access(there, os.W_OK | os.X_OK):
        raise Problem(f"cannot write {folder}: {there} may not be written; choose another runs_dir=")


def _refuse_held(folder: Path) -> None:
    """Tell at once, before data are collected, what `open_folder` would tell; makes no file."""
    if (folder / LOCK).exists():
        with _lock(folder):
            pass


def _lock(folder: Path):
    """Hold a run folder, or raise Problem. A killed command's workers may hold it a moment longer than itself."""
    path = folder / LOCK
    try:
        holder = path.read_text().strip() if path.exists() else ""  # before: some releases of filelock empty the file
        return FileLock(path).acquire(timeout=2)
    except Timeout:
        who = f"another command ({holder})" if holder else "another command"
        raise Problem(f"{folder} is in use by {who}; wait until it ends, or choose another name=") from None


def open_folder(folder: Path, cfg: DictConfig, overwrite: bool):
    """Make the folder, or take it up; every check has been passed by now.  -> its lock: `with` releases it at the end

    The lock lies in the folder, which `overwrite` empties and does not remove: another command waits on the same file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = _lock(folder)
        (folder / LOCK).write_text(f"process {os.getpid()} on {socket.gethostname()}")
    except OSError as error:
        raise Problem(f"cannot write {folder}: {error.strerror}; choose another runs_dir=") from error
    try:
        _fill(folder, cfg, overwrite)
    except BaseException:
        held.lock.release()
        raise
    return held


def _fill(folder: Path, cfg: DictConfig, overwrite: bool) -> None:
    _agreed(folder, cfg, overwrite, MODEL if "model" in cfg else AGENT)  # again: somebody may have been here meanwhile
    if overwrite:
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in _LOCKS:
                path.unlink()
    clear_parts(folder)
    try:
        (folder / "checkpoints").mkdir(exist_ok=True)
        if (folder / "config.yaml").exists():
            print(f"taking up {folder}")
            if "loss" in cfg:
                drop_damaged(folder, cfg)
            return
        write_whole(folder / "config.yaml", OmegaConf.to_yaml(cfg))
    except OSError as error:
        raise Problem(f"cannot write {folder}: {error.strerror}; choose another runs_dir=") from error


def check_world(cfg: DictConfig, world) -> None:
    """What the world shows and how large it is must be what the run's config says; agents and runs of before say no spec."""
    if world.observation != cfg.env.observation:
        raise Problem(
            f"env.world.observation={world.observation} and env.observation={cfg.env.observation} differ; set env.observation= alone"
        )
    if not OmegaConf.is_dict(cfg.get("spec")):
        return
    said = OmegaConf.to_container(cfg.spec)
    spec = EnvSpec.from_dict({key: value for key, value in said.items() if key not in BESIDE})
    if differs := spec.difference(world.spec):
        raise Problem(f"the spec of run '{cfg.name}' is another than that of its env '{cfg.env.name}' ({differs}); train again "
                      f"under another name")  # fmt: skip
