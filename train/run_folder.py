"""Creates, resumes or rejects a run folder, and compares its world with its config."""

import os
import shutil
import socket
from pathlib import Path

from filelock import FileLock, Timeout
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from configs.overrides import DECIDE_NO_WEIGHT
from configs.sizes import BESIDE
from envs.problem import Problem
from envs.spec import EnvSpec
from envs.whole_files import write_whole
from eval.runs import AGENT, CLONE, MODEL, differences, freeze, load_config
from train.checkpoint_files import clear_parts, drop_damaged
from train.distributed import node_of

LOCK = ".lock"  # in a run folder: held by the command that writes in it
PATIENCE = 2  # seconds: workers of a killed command may hold the lock a moment longer than it
_LOCKS = (LOCK, ".results.lock")  # other commands may wait on them: a new file of the same name would be another lock


def choose_folder(cfg: DictConfig, parts: tuple[str, ...] = MODEL) -> tuple[Path, DictConfig]:
    """The run folder and its frozen config, new or resumed; raises Problem on any other folder. Writes and deletes nothing.

    parts: groups that a config of such a run must have.
    """
    if cfg.get("resume"):
        folder = Path(str(cfg.resume))  # a folder may be called 5
        before = load_config(folder)
        if node_of(before) == 0:
            _refuse_held(folder)
        return folder, _with_named(before, cfg)
    if "data_dir" in cfg:
        cfg.data_dir = str(Path(cfg.data_dir).resolve())  # the run finds its data from any directory
    if OmegaConf.select(cfg, "env.world.scm"):
        cfg.env.world.scm = str(Path(cfg.env.world.scm).resolve())
    folder, frozen = Path(cfg.runs_dir) / str(cfg.name), freeze(cfg)
    if "trainer" in frozen and node_of(frozen) > 0:
        return folder, frozen  # the first machine opens it
    _refuse_held(folder)
    found = _agreed(folder, frozen, cfg.overwrite, parts)
    return folder, found if found is frozen else _with_named(found, frozen)


def _with_named(before: DictConfig, now: DictConfig) -> DictConfig:
    """The config of a run that is taken up, with what the command line says of keys that decide no weight.

    Raises Problem on another row: scores that were made under the first one would be entered under it.
    """
    for word in HydraConfig.get().overrides.task if HydraConfig.initialized() else ():
        key = word.partition("=")[0].lstrip("+")
        value = OmegaConf.select(now, key)
        if key == "row" and value != before.get("row"):
            raise Problem(f"run '{before.name}' was begun as row {before.get('row')}, got row={value}; leave row= out, or "
                          f"choose another name=")  # fmt: skip
        if key.partition(".")[0] in DECIDE_NO_WEIGHT:
            value = str(Path(value).resolve()) if key == "data_dir" else value
            OmegaConf.update(before, key, value, merge=False, force_add=True)
    OmegaConf.resolve(before)  # a logger names its group after the env of the run
    return before


def _agreed(folder: Path, frozen: DictConfig, overwrite: bool, parts: tuple[str, ...]) -> DictConfig:
    """The config of the run in a folder, `frozen` if there is none; raises Problem on another experiment or other contents."""
    held = {p.name for p in folder.iterdir() if p.suffix != ".part"}.difference(_LOCKS) if folder.exists() else set()
    if held == {"checkpoints"} and not any((folder / "checkpoints").iterdir()):
        held = set()  # a start that was interrupted before it wrote its config
    strange = Problem(f"{folder} holds something that is not a run; choose another name= or runs_dir=")
    if held and "config.yaml" not in held:
        raise strange
    try:
        before = load_config(folder, parts) if held else None  # raises on a config.yaml that is none of ours
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


def _refuse_held(folder: Path) -> None:
    """Raise Problem on a locked folder, as `open_folder` does, but before data are collected; makes no file."""
    if (folder / LOCK).exists():
        with _lock(folder):
            pass


def _lock(folder: Path):
    """Lock a run folder, or raise Problem where it is held for longer than `PATIENCE`."""
    path = folder / LOCK
    try:
        holder = path.read_text().strip() if path.exists() else ""  # read before: some releases of filelock empty the file
        return FileLock(path).acquire(timeout=PATIENCE)
    except Timeout:
        who = f"another command ({holder})" if holder else "another command"
        raise Problem(f"{folder} is in use by {who}; wait until it ends, or choose another name=") from None


def open_folder(folder: Path, cfg: DictConfig, overwrite: bool):
    """Make the folder, or resume it, after all checks.  -> its lock: `with` releases it at the end

    The lock lies in the folder. `overwrite` empties the folder and does not remove it: another command waits on the same file.
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
    kind = MODEL if "model" in cfg else CLONE if "cloning" in cfg else AGENT
    _agreed(folder, cfg, overwrite, kind)  # again: another command may have used it meanwhile
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
            if load_config(folder, kind) != cfg:  # what does not decide the science may be named anew
                write_whole(folder / "config.yaml", OmegaConf.to_yaml(cfg))
            if "loss" in cfg:
                drop_damaged(folder, cfg)
            if (folder / "checkpoints" / "model.ckpt").exists():
                print("it is trained, and is scored alone; after a change of its code train it anew, with overwrite=true")
            return
        write_whole(folder / "config.yaml", OmegaConf.to_yaml(cfg))
    except OSError as error:
        raise Problem(f"cannot write {folder}: {error.strerror}; choose another runs_dir=") from error


def check_world(cfg: DictConfig, world) -> None:
    """Raise Problem if observation or spec of the world differ from the config; agents and old runs have no spec."""
    if world.observation != cfg.env.observation:
        raise Problem(
            f"env.world.observation={world.observation} and env.observation={cfg.env.observation} differ; "
            f"set env.observation= alone"
        )
    if not OmegaConf.is_dict(cfg.get("spec")):
        return
    asked = OmegaConf.to_container(cfg.spec)
    spec = EnvSpec.from_dict({key: value for key, value in asked.items() if key not in BESIDE})
    if differs := spec.difference(world.spec):
        raise Problem(f"the spec of run '{cfg.name}' is another than that of its env '{cfg.env.name}' ({differs}); train again "
                      f"under another name")  # fmt: skip
