"""How a training starts: its folder is new, taken up again or refused, and its world is what the config says."""

import os
import shutil
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from envs.grid import CELL, GRID
from envs.problem import Problem
from eval.runs import MODEL, differences, freeze, load_config
from train.launch import node_of


def choose_folder(cfg: DictConfig, parts: tuple[str, ...] = MODEL) -> tuple[Path, DictConfig]:
    """The run folder and its frozen config: new, taken up again, or refused. Writes and deletes nothing.

    parts: what a config of such a run must have.
    """
    if cfg.get("resume"):
        return Path(cfg.resume), load_config(cfg.resume)
    if "data_dir" in cfg:
        cfg.data_dir = str(Path(cfg.data_dir).resolve())  # the run finds its data from any directory
    if OmegaConf.select(cfg, "env.world.scm"):
        cfg.env.world.scm = str(Path(cfg.env.world.scm).resolve())
    folder, frozen = Path(cfg.runs_dir) / str(cfg.name), freeze(cfg)
    if "trainer" in frozen and node_of(frozen) > 0:
        return folder, frozen  # the first machine opens it
    held = {p.name for p in folder.iterdir()} - {"config.part"} if folder.exists() else set()
    if held == {"checkpoints"} and not any((folder / "checkpoints").iterdir()):
        held = set()  # a start that was cut off before it had written its config
    if held and not {"config.yaml", "checkpoints"} <= held:
        raise Problem(f"{folder} holds something that is not a run; choose another name= or runs_dir=")
    before = load_config(folder, parts) if held else None  # refuses somebody else's config.yaml
    if before is not None and not cfg.overwrite:
        differing = differences(before, frozen)
        if differing:
            raise Problem(
                f"{folder} holds a run with another configuration ({differing}); choose name=... or set overwrite=true"
            )
        return folder, before
    return folder, frozen


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, before the data are collected for it."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        raise Problem(f"cannot write {folder}: {there} is not a folder; choose another runs_dir=")
    if not os.access(there, os.W_OK | os.X_OK):
        raise Problem(f"cannot write {folder}: {there} may not be written; choose another runs_dir=")


def open_folder(folder: Path, cfg: DictConfig, overwrite: bool) -> None:
    """Make the folder, or take it up; every check has been passed by now."""
    if overwrite and folder.exists():
        shutil.rmtree(folder)
    if (folder / "config.yaml").exists():
        print(f"taking up {folder}")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(cfg, folder / "config.part")
        (folder / "checkpoints").mkdir(exist_ok=True)
        (folder / "config.part").replace(folder / "config.yaml")
    except OSError as error:
        raise Problem(f"cannot write {folder}: {error.strerror}; choose another runs_dir=") from error


def check_world(cfg: DictConfig, world) -> None:
    """What models are sized by must be what the world has."""
    if (world.spec.num_objects, world.spec.action_size) != (cfg.env.num_objects, cfg.env.action_size):
        raise Problem(
            f"env '{cfg.env.name}' says {cfg.env.num_objects} objects and {cfg.env.action_size} actions, its world has "
            f"{world.spec.num_objects} and {world.spec.action_size}; set env.num_objects={world.spec.num_objects} "
            f"env.action_size={world.spec.action_size}"
        )
    if world.spec.obs_shape[0] != CELL * cfg.env.get("board", GRID):  # runs of before do not say
        raise Problem(
            f"env '{cfg.env.name}' says boards of {cfg.env.board} cells a side, its world draws frames of "
            f"{world.spec.obs_shape[0]} pixels; set env.board={world.spec.obs_shape[0] // CELL}"
        )
    if world.observation != cfg.env.observation:
        raise Problem(
            f"env.world.observation={world.observation} and env.observation={cfg.env.observation} differ; set env.observation= alone"
        )
    if world.observation == "state" and cfg.env.factors.state != world.factor_width:
        raise Problem(
            f"env '{cfg.env.name}' says that a state has {cfg.env.factors.state} numbers of each object, its world shows "
            f"{world.factor_width}; set env.factors.state={world.factor_width}"
        )
