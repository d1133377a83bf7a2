"""Collect the episodes of one split: random policy + world -> episode file.

    python envs/collect.py env=physics5 split=train
    python envs/collect.py env=physics5_shuffled split=test
    python envs/collect.py env=physics3 split=test-v2 env.splits.test-v2.episodes=500

Seeded, resumable block by block, idempotent: a finished file with the same header is kept.
"""

import shlex
import shutil
import sys
from dataclasses import fields
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("collect", "envs.collect:run", __doc__))  # what stands below is imported for the work alone

import hashlib
import json

import numpy as np
from rich.progress import track

from envs.boards import World, draw_goal
from envs.episodes import Column, EpisodeFile, EpisodeWriter
from envs.problem import Problem, nearest

GOAL_STEPS = 10  # the recorded reward is minus the distance to a goal this many random actions from the start
BLOCK_ROWS = 10_000


def header(world: World, split: dict, name: str, drop_invalid: bool) -> dict:
    """What decides the bytes of a file, and so what a reader must find in it."""
    parameters = {f.name: getattr(world, f.name) for f in fields(world) if f.init and f.metadata.get("identity", True)}
    return {
        "world": type(world).__name__,
        **parameters,
        **getattr(world, "identity", {}),
        "split": name,
        "mode": split["mode"],
        "episodes": split["episodes"],
        "length": split["length"],
        "seed": split["seed"],
        "drop_invalid": drop_invalid,
        "renderer": "grid-1",
    }


def _block(world, mode, episodes, length, rng, drop_invalid) -> dict[str, np.ndarray]:
    """Columns of `episodes` random episodes, (episodes, length + 1, ...)."""
    boards = world.reset(episodes, rng, mode)
    goal = draw_goal(world, boards, rng, GOAL_STEPS, may_equal_start=True)
    state = np.empty((episodes, length + 1, *world.pack(boards).shape[1:]), np.float32)
    action = np.zeros((episodes, length + 1), np.int64)
    reward = np.zeros((episodes, length + 1), np.float32)
    for t in range(length):
        state[:, t] = world.pack(boards)
        choice = rng.integers(0, world.spec.action_size, episodes)
        noise = world.noise(episodes, rng)
        after, invalid = world.step(boards, choice, noise)
        while drop_invalid and invalid.any():  # as published: a push that needs a second push is never recorded
            choice[invalid] = rng.integers(0, world.spec.action_size, invalid.sum())
            after, invalid = world.step(boards, choice, noise)
        boards = after
        action[:, t] = choice
        reward[:, t] = world.reward(boards, goal)
    state[:, length] = world.pack(boards)
    flat = state.reshape(-1, *state.shape[2:])
    pixels = world.render(world.unpack(flat)).reshape(episodes, length + 1, *world.spec.obs_shape)
    goals = np.repeat(world.target(goal)[:, None], length + 1, 1)
    return {"pixels": pixels, "action": action, "reward": reward, "state": state, "goal": goals}


def collect(env: dict, world: World, split: str, data_dir: str | Path, quiet: bool = False) -> EpisodeFile:
    """The episode file of a split, collected if it is not there.

    env: the resolved `env` config (name, splits, drop_invalid).  Raises Problem on an unknown or empty split, a full
    disk, a folder that cannot be written, or a file that does not hold what its name says.
    """
    if split not in env["splits"]:
        raise Problem(f"env '{env['name']}' has no split '{split}': {nearest(split, env['splits'])}")
    plan = env["splits"][split]
    for key in ("episodes", "length"):
        if plan[key] < 1:
            raise Problem(f"split '{split}' of env '{env['name']}' needs {key} >= 1, got {plan[key]}; "
                          f"set env.splits.{split}.{key}=")  # fmt: skip
    about = header(world, plan, split, env["drop_invalid"])
    mark = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]
    path = Path(data_dir) / f"{env['name']}-{split}-{mark}.h5"
    remedy = f"remove it and give the same command again: rm {shlex.quote(str(path))}"
    allowed = _columns(world, plan["mode"])
    if hasattr(world, "save_beside"):
        path.parent.mkdir(parents=True, exist_ok=True)
        world.save_beside(path)
    if path.exists():
        return EpisodeFile(path, about, remedy, allowed)

    length, per_block = plan["length"], max(1, BLOCK_ROWS // (plan["length"] + 1))
    _check_space(path, plan["episodes"] * (length + 1))
    starts = range(0, plan["episodes"], per_block)
    with EpisodeWriter(path, about) as writer:
        if path.exists():  # somebody else finished it while we waited for the lock
            return EpisodeFile(path, about, remedy, allowed)
        todo = list(enumerate(starts))[writer.blocks_done :]
        if writer.blocks_done and not quiet:
            print(f"resuming {path} after {writer.blocks_done} of {len(starts)} blocks")
        for number, start in track(todo, f"collecting {env['name']} {split}", disable=quiet):
            episodes = min(per_block, plan["episodes"] - start)
            rng = np.random.default_rng([plan["seed"], number])  # per block, so that a resumed file has the same bytes
            columns = _block(world, plan["mode"], episodes, length, rng, env["drop_invalid"])
            columns = {name: values.reshape(-1, *values.shape[2:]) for name, values in columns.items()}
            writer.append(columns, np.full(episodes, length + 1))
        writer.finish()
    return EpisodeFile(path, about, remedy, allowed)


def _columns(world: World, mode: str) -> dict[str, Column]:
    """What the columns that are read again may hold."""
    state = world.pack(world.reset(1, np.random.default_rng(0), mode)).shape[1:]
    return {"pixels": Column(world.spec.obs_shape, "u"), "action": Column((), "i", world.spec.action_size),
            "reward": Column((), "f"), "state": Column(state, "f")}  # fmt: skip


def _check_space(path: Path, rows: int) -> None:
    """Refuse before the first row if the disk cannot hold the compressed file (about 150 bytes a row, doubled)."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    need, disk = rows * 300, shutil.disk_usage(folder)
    if disk.total and disk.free < need:  # a disk of no size, as /proc, is no disk: it says itself why it cannot be written
        raise Problem(f"the disk of {path.parent} is full: {path.name} needs about {need / 1e6:.1f} MB, "
                      f"{disk.free / 1e6:.1f} MB are free; free some space or choose another data_dir=")  # fmt: skip


def run(cfg) -> None:
    """The command."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    env = OmegaConf.to_container(cfg.env, resolve=True)
    file = collect(env, instantiate(cfg.env.world), cfg.split, cfg.data_dir)
    size, columns = file.path.stat().st_size / 1e6, ", ".join(file.columns)
    print(f"{file.path}: {len(file)} episodes of {file.ep_len[0] - 1} actions, {size:.1f} MB, columns {columns}")
