"""What collecting data refuses, in one sentence and with nothing half-written: nothing to collect, disks, folders."""

import errno
import shutil
from collections import namedtuple
from pathlib import Path

import h5py
import numpy as np
import pytest

import envs.collect
from envs.collect import collect, splits_of
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.protocols import Source
from envs.spec import Action, EnvSpec, Observation

WORLD = PhysicsWorld(3)
LENGTH = 5


def plan(episodes=20, length=LENGTH, seed=1):
    return {"name": "physics3", "drop_invalid": True,
            "splits": {"train": {"episodes": episodes, "length": length, "seed": seed, "mode": "train"}}}  # fmt: skip


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"length": 0}])
def test_nothing_to_collect(tmp_path, wrong):
    """Zero episodes or actions: the key to set, and no file."""
    key = next(iter(wrong))
    with pytest.raises(Problem, match=f"needs {key} >= 1, got 0; set env.splits.train.{key}="):
        collect(plan(**wrong), WORLD, "train", tmp_path, quiet=True)
    assert not list(tmp_path.iterdir())


def test_a_split_that_does_not_say_its_length(tmp_path):
    """A misspelt key ended in a KeyError."""
    env = plan()
    env["splits"]["train"]["lenght"] = env["splits"]["train"].pop("length")
    with pytest.raises(
        Problem, match=r"does not say length; .* it has episodes, seed, mode, lenght.*; set \+env.splits.train.length="
    ):
        collect(env, WORLD, "train", tmp_path, quiet=True)


class Discs(Source):
    """Says that it shows pictures of 4 x 4 and has two numbers as its action; what it records is given to it."""

    observation, row_bytes = "pixels", 50
    spec = EnvSpec({"pixels": Observation("pixels", (4, 4, 3))}, Action(2), 1)

    def __init__(self, **columns):
        self.columns = columns

    def header(self):
        return {"world": "Discs"}

    def record(self, split, rng, episodes):
        rows = split["length"] + 1
        return {name: np.repeat(one[None], episodes * rows, 0) for name, one in self.columns.items()}, np.full(episodes, rows)


def test_a_simulator_records_states(tmp_path, monkeypatch):
    """It trained to the end, and its scores told the user to collect the same file again."""
    record = PhysicsWorld.record

    def without(self, split, rng, episodes):
        columns, lengths = record(self, split, rng, episodes)
        return {name: column for name, column in columns.items() if name != "state"}, lengths

    monkeypatch.setattr(PhysicsWorld, "record", without)
    with pytest.raises(Problem, match="PhysicsWorld is a Simulator and recorded no column 'state'.*rows as pack"):
        collect(plan(), WORLD, "train", tmp_path, quiet=True)
    assert not list(tmp_path.glob("*.h5"))


PICTURE, ACTION = np.zeros((4, 4, 3), np.uint8), np.zeros(2, np.float32)


@pytest.mark.parametrize("columns, said", [
    ({"pixels": PICTURE[0], "action": ACTION},
     r"recorded column 'pixels' as uint8 \(4, 3\), its spec says uint8 \(4, 4, 3\); mend"),
    ({"pixels": PICTURE / 255, "action": ACTION}, r"recorded column 'pixels' as float64 \(4, 4, 3\), its spec says uint8"),
    ({"frames": PICTURE, "action": ACTION}, "recorded frames, action, and its spec has a column 'pixels'"),
    ({"pixels": PICTURE}, "recorded pixels, and its spec has a column 'action'"),
    ({"pixels": PICTURE, "action": np.array(1)}, r"recorded column 'action' as int64 \(\), its spec says numbers \(2,\)"),
])  # fmt: skip
def test_what_a_world_records_is_what_its_spec_says(tmp_path, columns, said):
    """All of these were written; the reader refused the file, and its remedy collected the same again."""
    env = {"name": "discs", "splits": {"train": {"episodes": 2, "length": 3, "seed": 0}}}
    with pytest.raises(Problem, match=f"Discs {said}"):
        collect(env, Discs(**columns), "train", tmp_path, quiet=True)
    assert not list(tmp_path.iterdir())


def test_a_world_without_a_part_is_told_which(tmp_path):
    """A Protocol's own methods give None."""
    env = {"name": "discs", "splits": {"train": {"episodes": 2, "length": 3, "seed": 0}}}
    for part in ("header", "record", "row_bytes"):
        bare = type("Bare", (Source,),
                    {name: one for name, one in vars(Discs).items() if name in {"header", "record", "row_bytes"} - {part}}
                    | {"spec": Discs.spec, "observation": "pixels",
                       "columns": {"pixels": PICTURE, "action": ACTION}})  # fmt: skip
        with pytest.raises(Problem, match=f"Bare has no {part}.*as envs/protocols.py says of Source"):
            collect(env, bare(), "train", tmp_path, quiet=True)


def test_unknown_split(tmp_path):
    """The nearest name is offered."""
    with pytest.raises(Problem, match="did you mean 'train'"):
        collect(plan(), WORLD, "trian", tmp_path, quiet=True)


@pytest.mark.parametrize(("asked", "names"), [
    ("test", ["test"]), (["test", "train"], ["train", "test"]), ("all", ["train", "valid", "test"]),
    (["test", "test"], ["test"]),
])  # fmt: skip
def test_splits_are_collected_in_the_order_of_the_env(asked, names):
    env = plan()
    env["splits"] = {name: env["splits"]["train"] for name in ("train", "valid", "test")}
    assert splits_of(env, asked) == names


def test_no_split_of_several_is_collected_if_one_is_unknown(root, command_here, tmp_path):
    """Commas name several without -m, as -m would: a job each. Here one command collects them, or none."""
    small = [f"env.splits.{name}.{key}=2" for name in ("train", "valid", "test") for key in ("episodes", "length")]
    bad = command_here(root / "envs/collect.py", "split=valid,tset", f"data_dir={tmp_path}", *small, cwd=tmp_path)
    assert bad.returncode == 1 and "has no split 'tset': did you mean 'test'?" in bad.stderr and not list(tmp_path.iterdir())
    done = command_here(root / "envs/collect.py", "split=valid,test", f"data_dir={tmp_path}", *small, cwd=tmp_path)
    assert done.returncode == 0 and {"valid", "test"} == {p.stem.split("-")[1] for p in tmp_path.glob("*.h5")}, done.stderr
    for nothing in ([], None):
        with pytest.raises(Problem, match="split= is a split of env 'physics3', several or all, got"):
            splits_of(plan(), nothing)


def test_disk_too_small(tmp_path, monkeypatch):
    """Refused before the first row."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 100, 0))
    with pytest.raises(Problem, match="disk of .* is full.*data_dir="):
        collect(plan(), WORLD, "train", tmp_path / "new", quiet=True)
    assert not (tmp_path / "new").exists()


def test_disk_fills_up(tmp_path, monkeypatch):
    """ENOSPC in the middle: a sentence, no file of the final name, the finished blocks kept and used."""
    monkeypatch.setattr(envs.collect, "BLOCK_ROWS", 5 * (LENGTH + 1))
    setitem, writes = h5py.Dataset.__setitem__, []

    def full(self, *args):
        writes.append(1)
        if len(writes) > 15:  # 11 columns a block: in the middle of the second
            raise OSError(errno.ENOSPC, "No space left on device")
        setitem(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(h5py.Dataset, "__setitem__", full)
        with pytest.raises(Problem, match=r"the disk is full.*same command again \(1 blocks are kept\)"):
            collect(plan(), WORLD, "train", tmp_path / "b", quiet=True)
    assert not list((tmp_path / "b").glob("*.h5"))
    file = collect(plan(), WORLD, "train", tmp_path / "b", quiet=True)
    whole = collect(plan(), WORLD, "train", tmp_path / "a", quiet=True)
    for name, values in whole.read(*whole.columns).items():
        assert np.array_equal(file.read(name)[name], values)


def test_unwritable_folder(tmp_path, monkeypatch):
    """A folder that cannot be made or written: a sentence with the key to change."""
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(Problem, match="cannot write .*Permission denied.*choose another data_dir="):
        collect(plan(), WORLD, "train", tmp_path / "b", quiet=True)


def test_unwritable_file(tmp_path, monkeypatch):
    """The folder exists but the file in it cannot be opened: the same sentence, and the lock is free."""
    real = h5py.File

    def refuse(path, mode="r", *args, **kwargs):
        if mode != "r":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, mode, *args, **kwargs)

    monkeypatch.setattr(h5py, "File", refuse)
    with pytest.raises(Problem, match="cannot write .*Permission denied.*choose another data_dir="):
        collect(plan(), WORLD, "train", tmp_path, quiet=True)
