"""Collect the episodes of one split, of several, or of all: what a world records -> episode files.

    python envs/collect.py env=physics5 split=train
    python envs/collect.py env=physics5_shuffled split=test
    python envs/collect.py env=physics3 split=test-v2 env.splits.test-v2.episodes=500
    python envs/collect.py env=voe_barrier split=test,test-surprising
    python envs/collect.py env=voe_barrier split=all

Seeded, resumable block by block, idempotent: a finished file with the same header is kept.
"""

import shlex
import shutil
import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import lists, main

    lists("split")
    sys.exit(main("collect", "envs.collect:run", __doc__))  # what stands below is imported for the work alone

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from rich.progress import track

from envs.episodes import DESCRIBES, Column, EpisodeFile, EpisodeWriter, part_of
from envs.problem import Problem, nearest
from envs.protocols import OlderFiles, Simulator, Source

BLOCK_ROWS = 10_000
WHOLE = "whole numbers", [np.integer]  # what a column may hold: in words, and types of numpy
NUMBERS = "numbers", [np.number, np.bool_]
FINAL = "final"  # the split that is scored once for a frozen setting (eval/runs/final.py)
EVERY_SPLIT = ("drop_invalid", "block_rows")  # keys of an env that are asked of all its splits


def header(world: Source, plan: dict, name: str) -> dict:
    """The header of a file: what decides its bytes, which a reader compares, and what describes it (`DESCRIBES`).

    plan: of a split, as `plan_of` gives it.  name: of the split.
    """
    try:
        own, *_ = world.header(), world.spec, world.observation, world.row_bytes
    except AttributeError as error:
        raise Problem(f"{type(world).__name__} has no {error.name}; set it, as envs/protocols.py says of Source") from error
    if own is None:
        raise Problem(
            f"{type(world).__name__} has no header() that gives anything; write it, as envs/protocols.py says of Source"
        )
    return {
        **own,
        **plan,
        "split": name,
        "columns": sorted(_columns(world, plan)),
        "spec": world.spec.to_dict(),
        "row_bytes": world.row_bytes,
    }


def plan_of(env: dict, split: str) -> dict:
    """What a world records for a split: the keys of the split, and the keys of the env that hold for every split."""
    if split not in env["splits"]:
        raise Problem(f"env '{env['name']}' has no split '{split}': {nearest(split, env['splits'])}")
    plan = env["splits"][split] | {key: env[key] for key in EVERY_SPLIT if key in env}
    for key in ("episodes", "length", "seed"):
        if key not in plan:
            raise Problem(f"split '{split}' of env '{env['name']}' does not say {key}; a split has episodes, length and seed, "
                          f"it has {', '.join(plan)}; set +env.splits.{split}.{key}=")  # fmt: skip
    check_seed(env, split)
    for key in ("episodes", "length"):
        if plan[key] < 1:
            raise Problem(f"split '{split}' of env '{env['name']}' needs {key} >= 1, got {plan[key]}; "
                          f"set env.splits.{split}.{key}=")  # fmt: skip
    return plan


def check_seed(env: dict, split: str) -> None:
    """Raise Problem where a split of another name would have the episodes of `final`."""
    seed, kept = env["splits"][split]["seed"], (env["splits"].get(FINAL) or {}).get("seed")
    if split.partition("-")[0] != FINAL and seed == kept:
        raise Problem(f"split '{split}' of env '{env['name']}' has the seed of split '{FINAL}', {seed}, whose episodes nobody "
                      f"trains or chooses on; set env.splits.{split}.seed= to another, and train anew")  # fmt: skip


def _block(
    world: Source, plan: dict, rng: np.random.Generator, start: int, episodes: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Some episodes as a world records them: columns (rows, ...) and lengths in rows, checked against each other.

    start: number of the first episode in the split, for worlds whose trials are numbered.
    """
    columns, lengths = world.record({**plan, "start": start}, rng, episodes)
    lengths = np.asarray(lengths)
    for name, values in columns.items():
        if len(values) != lengths.sum():
            raise Problem(f"{type(world).__name__} recorded {len(values)} rows of column '{name}' for episodes of "
                          f"{lengths.sum()} rows in all; mend its record()")  # fmt: skip
    return columns, lengths


def splits_of(env: dict, asked: str | Sequence[str]) -> list[str]:
    """Names of splits, in the order of the env.  asked: one, several, or "all".  Raises Problem unless all of them exist."""
    names = [asked] if isinstance(asked, str) else list(asked or ())
    if not names:
        raise Problem(
            f"split= is a split of env '{env['name']}', several or all, got {asked}; known: {', '.join(env['splits'])}"
        )
    if names == ["all"]:
        return list(env["splits"])
    for name in names:
        plan_of(env, name)
    return [name for name in env["splits"] if name in names]


def collect(env: dict, world: Source, split: str, data_dir: str | Path, quiet: bool = False) -> EpisodeFile:
    """The episode file of a split, collected if it is missing.

    env: the resolved `env` config: its name, its splits, and keys that hold for all of them (`EVERY_SPLIT`). A split has
    episodes, length in actions (at most, where episodes differ), seed, and what its world asks besides. `stored_as` names,
    for a split, another one whose file is read in its place.  Raises Problem on an unknown or empty split, a full disk, a
    folder that cannot be written, or a file that does not hold what its name says.
    """
    plan_of(env, split)
    stored = env.get("stored_as", {}).get(split, split)
    if stored.partition("-")[0] == FINAL and split.partition("-")[0] != FINAL:
        raise Problem(f"split '{split}' of env '{env['name']}' is stored as '{stored}', whose episodes nobody trains or "
                      f"chooses on; set env.stored_as.{split}= to another")  # fmt: skip
    file = _collect(env, world, stored, data_dir, quiet)
    file.header["split"] = split  # a reader asks for the split by the name that its env gives it
    return file


def _collect(env: dict, world: Source, split: str, data_dir: str | Path, quiet: bool) -> EpisodeFile:
    """The file of a split under its own name."""
    plan = plan_of(env, split)
    about = header(world, plan, split)
    path, before = (path_of(env, one, data_dir) for one in (about, _of_before(about)))
    allowed = _columns(world, plan)
    world.save_beside(path)
    if not path.exists() and before.exists():
        file = EpisodeFile(before, _of_before(about), _remedy(before), allowed, world.spec)
        file.made_from |= world.derived() if isinstance(world, OlderFiles) else {}
        return file
    remedy = _remedy(path)
    if path.exists():
        return EpisodeFile(path, about, remedy, allowed)

    per_block = max(1, plan.get("block_rows", BLOCK_ROWS) // (plan["length"] + 1))
    _check_space(path, plan["episodes"] * (plan["length"] + 1), about["row_bytes"])
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
            writer.append(*_block(world, plan, rng, start, episodes))
        writer.finish()
    return EpisodeFile(path, about, remedy, allowed)


def path_of(env: dict, about: dict, data_dir: str | Path) -> Path:
    """Where a file of an env with the header `about` lies, collected or not."""
    return Path(data_dir) / f"{env['name']}-{about['split']}-{_digest(about)}.h5"


def _digest(about: dict) -> str:
    """Digest of all of a header that decides the bytes of a file."""
    decides = {key: value for key, value in about.items() if key not in DESCRIBES}
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:8]


def _of_before(about: dict) -> dict:
    """The header of an older file of the same data, which has no spec, no `objects` and no events."""
    return {key: value for key, value in about.items() if key not in ("columns", *DESCRIBES)}


def _remedy(path: Path) -> str:
    return f"remove it and give the same command again: rm {shlex.quote(str(path))}"


def _columns(world: Source, plan: dict) -> dict[str, Column]:
    """What columns may hold: the shapes and types of a short episode, and actions below their size.

    Raises Problem on a world that records nothing, or other columns than its spec says.
    """
    recorded = world.record({**plan, "length": 1, "start": 0}, np.random.default_rng(0), 1)
    if recorded is None:
        raise Problem(
            f"{type(world).__name__} has no record() that gives anything; write it, as envs/protocols.py says of Source"
        )
    sample, _ = recorded
    _check_recorded(world, sample)
    action = world.spec.action
    limits = {"action": action.size} if action.discrete else {}
    return {name: Column(v.shape[1:], v.dtype.kind, limits.get(name)) for name, v in sample.items()}


def check_columns(env: dict, world: Source, asked: set[str]) -> None:
    """Raise Problem where a world does not record columns that are asked for, before an episode is collected."""
    lacking = sorted(asked - _columns(world, plan_of(env, "train")).keys()) if asked else []
    if lacking:
        raise Problem(f"env '{env['name']}' records no {', '.join(lacking)}, from which this loss learns; choose an env that "
                      f"does, such as env=voe_barrier, or another loss=")  # fmt: skip


def _check_recorded(world: Source, sample: dict[str, np.ndarray]) -> None:
    """Raise Problem where what models are shown, or the action, is not recorded as the spec says."""
    shown, action = world.shown, world.spec.action
    asked = {
        shown.column: (shown.shape, ("uint8", ["uint8"]) if len(shown.shape) == 3 and shown.values == "binary" else NUMBERS),
    }
    if action.size:
        asked["action"] = ((), WHOLE) if action.discrete else ((action.size,), NUMBERS)
    if isinstance(world, Simulator) and "state" not in sample:
        raise Problem(f"{type(world).__name__} is a Simulator and recorded no column 'state', which it is asked to go on from; "
                      f"return one from record(), rows as pack() gives them")  # fmt: skip
    for column, (shape, (said, types)) in asked.items():
        if column not in sample:
            raise Problem(f"{type(world).__name__} recorded {', '.join(sample)}, and its spec has a column '{column}'; "
                          f"mend its record() or its spec")  # fmt: skip
        values = sample[column]
        if values.shape[1:] != tuple(shape) or not any(np.issubdtype(values.dtype, one) for one in types):
            raise Problem(f"{type(world).__name__} recorded column '{column}' as {values.dtype} {values.shape[1:]}, "
                          f"its spec says {said} {tuple(shape)}; mend its record() or its spec")  # fmt: skip


def _check_space(path: Path, rows: int, row_bytes: int) -> None:
    """Refuse before the first row if the disk cannot hold the compressed file."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    part = part_of(path)  # what is there need not be written again
    need, disk = max(0, rows * row_bytes - (part.stat().st_size if part.is_file() else 0)), shutil.disk_usage(folder)
    if disk.total and disk.free < need:  # a disk of no size, as /proc, is no disk: it says itself why it cannot be written
        raise Problem(f"the disk of {path.parent} is full: {path.name} needs about {need / 1e6:.1f} MB, "
                      f"{disk.free / 1e6:.1f} MB are free; free some space or choose another data_dir=")  # fmt: skip


def _span(file: EpisodeFile) -> str:
    """10, or 3 to 50 where episodes differ."""
    short, long = int(file.ep_len.min()) - 1, int(file.ep_len.max()) - 1
    return str(long) if short == long else f"{short} to {long}"


def run(cfg) -> None:
    """The command."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    env = OmegaConf.to_container(cfg.env, resolve=True)
    names, world = splits_of(env, cfg.split), instantiate(cfg.env.world)
    for name in names:
        _report(collect(env, world, name, cfg.data_dir))


def _report(file: EpisodeFile) -> None:
    """What a file holds, on the terminal."""
    size, columns = file.path.stat().st_size / 1e6, ", ".join(file.columns)
    print(f"{file.path}: {len(file)} episodes of {_span(file)} actions, {size:.1f} MB, columns {columns}")
    steps = int((file.ep_len - 1).sum())
    for name in [name for name in file.columns if name.startswith("event_")]:
        print(
            f"{name.removeprefix('event_').replace('_', ' ')}: {100 * file.read(name)[name].sum() / steps:.1f} % of the steps"
        )
