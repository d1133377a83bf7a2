"""Episode files of another make: whatever stands in them, the answer is one sentence and a remedy that can be pasted."""

import json
import os
import shlex

import h5py
import numpy as np
import pytest

from envs.collect import collect
from envs.episodes import EpisodeWriter
from envs.episodes.blocks import checksum, digest
from envs.physics import PhysicsWorld
from envs.problem import Problem

WORLD = PhysicsWorld(3)
PLAN = {"name": "physics3", "drop_invalid": True,
        "splits": {"train": {"episodes": 4, "length": 5, "seed": 1, "mode": "train"}}}  # fmt: skip


def seal(h5, header=None, blocks=None):
    """Digests and checksum that fit what stands in the file now."""
    held = json.loads(h5.attrs["blocks"])
    held[0]["digests"] = {name: digest(column[:]) for name, column in h5.items()}
    h5.attrs["header"] = h5.attrs["header"] if header is None else json.dumps(header)
    h5.attrs["blocks"] = json.dumps(held if blocks is None else blocks)
    h5.attrs["checksum"] = checksum(h5.attrs["header"], json.loads(h5.attrs["blocks"]))


def put(h5, name, values):
    del h5[name]
    h5[name] = values


def grow(h5):
    for name in h5:
        values = h5[name][:]
        put(h5, name, np.concatenate([values, values[:2]]))


def a_group(h5):
    del h5["pixels"]
    h5.create_group("pixels")


CRAFTED = {
    "a header of 5": lambda h5: seal(h5, header=5),
    "a header of []": lambda h5: seal(h5, header=[]),
    "blocks of 5": lambda h5: seal(h5, blocks=5),
    "blocks of numbers": lambda h5: seal(h5, blocks=[1, 2]),
    "blocks of null": lambda h5: h5.attrs.update(blocks="null"),
    "a block of words": lambda h5: seal(h5, blocks=[{"rows": "24", "episodes": 4, "digests": {}}]),
    "a group as column": a_group,
    "more rows": grow,
    "actions that are none": lambda h5: put(h5, "action", np.full(24, 999)) or seal(h5),
    "actions below zero": lambda h5: put(h5, "action", np.full(24, -1)) or seal(h5),
    "halves of actions": lambda h5: put(h5, "action", np.full(24, 0.5)) or seal(h5),
    "smaller frames": lambda h5: put(h5, "pixels", h5["pixels"][:, :40, :40]) or seal(h5),
    "NaN in a state": lambda h5: put(h5, "state", h5["state"][:] * np.float32("nan")) or seal(h5),
    "an episode of no rows": lambda h5: put(h5, "ep_len", np.array([0, 12, 6, 6], np.int32)) or seal(h5),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_a_crafted_file_is_one_sentence_and_the_pasted_remedy_mends_it(case, tmp_path):
    """Such files ended in tracebacks, or were scored; and the remedy named another file where the folder has a space."""
    file = collect(PLAN, WORLD, "train", tmp_path / "my data", quiet=True)
    with h5py.File(file.path, "r+") as h5:
        CRAFTED[case](h5)
    with pytest.raises(Problem, match="cannot be used: .*; remove it and give the same command again: rm ") as told:
        collect(PLAN, WORLD, "train", tmp_path / "my data", quiet=True).read("pixels", "action", "state")
    command, path = shlex.split(str(told.value).rsplit(": ", 1)[1])
    assert (command, path) == ("rm", str(file.path))


@pytest.mark.parametrize("case", ["blocks of 5", "blocks of null", "blocks of numbers", "a group as column", "more rows"])
def test_a_crafted_part_is_started_anew(case, tmp_path):
    """A half-written file of another make once ended every further collection in a traceback."""
    file = collect(PLAN, WORLD, "train", tmp_path, quiet=True)
    part = file.path.rename(f"{file.path}.part")
    with h5py.File(part, "r+") as h5:
        CRAFTED[case](h5)
    assert len(collect(PLAN, WORLD, "train", tmp_path, quiet=True)) == 4 and not part.exists()


def a_link(h5, victim):
    h5["pixels"] = h5py.ExternalLink(victim, "data")


def a_name_within(h5, victim):
    h5["pixels"] = h5py.SoftLink("/state")


def storage_elsewhere(h5, victim):
    h5.create_dataset("pixels", (24, 8), "u1", maxshape=(None, 8), external=[(victim, 0, h5py.h5f.UNLIMITED)])


def a_view(h5, victim):
    layout = h5py.VirtualLayout((24, 8), "u1", maxshape=(None, 8))
    layout[:] = h5py.VirtualSource(victim, "data", (24, 8), "u1")
    h5.create_virtual_dataset("pixels", layout)


@pytest.mark.parametrize("craft", [a_link, a_name_within, storage_elsewhere, a_view])
@pytest.mark.parametrize("ending", ["", ".part"])
def test_a_column_that_lies_in_another_file_is_not_touched(craft, ending, tmp_path):
    """Seen: a half-written file whose column was a link cut the rows of the user's own file that it led to."""
    file, victim = collect(PLAN, WORLD, "train", tmp_path, quiet=True), tmp_path / "mine.h5"
    with h5py.File(victim, "w") as h5:
        h5.create_dataset("data", data=np.arange(800, dtype="u1").reshape(100, 8), maxshape=(None, 8), chunks=(10, 8))
    before = victim.read_bytes()
    path = file.path.rename(f"{file.path}{ending}")
    with h5py.File(path, "r+") as h5:
        del h5["pixels"]
        craft(h5, str(victim))
    if ending:
        assert len(collect(PLAN, WORLD, "train", tmp_path, quiet=True)) == 4  # made anew
    else:
        with pytest.raises(Problem, match="its data are damaged .'pixels' is "):
            collect(PLAN, WORLD, "train", tmp_path, quiet=True).read("pixels")
    assert victim.read_bytes() == before


def test_a_part_that_is_a_link_is_not_gone_on_with(tmp_path):
    """The file that it leads to is another's, however well it fits."""
    path = collect(PLAN, WORLD, "train", tmp_path, quiet=True).path
    mine = path.rename(tmp_path / "mine.h5")
    path.with_name(f"{path.name}.part").symlink_to(mine)
    before = mine.read_bytes()
    assert len(collect(PLAN, WORLD, "train", tmp_path, quiet=True)) == 4 and not path.is_symlink()
    assert mine.read_bytes() == before


@pytest.mark.parametrize("ending", ["", ".part"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(ending, tmp_path):
    """Opening a pipe waits until somebody writes into it, for ever."""
    path = collect(PLAN, WORLD, "train", tmp_path, quiet=True).path
    path.unlink()
    os.mkfifo(f"{path}{ending}")
    with pytest.raises(Problem, match="it is not a regular file"):
        collect(PLAN, WORLD, "train", tmp_path, quiet=True)


def test_a_second_collector_leaves_nothing_behind(tmp_path):
    """It waits for the lock, finds the file finished, and once left an empty .part for ever."""
    path = tmp_path / "x.h5"
    with EpisodeWriter(path, {}):
        path.touch()  # by the first collector
    assert not list(tmp_path.glob("*.part"))


def test_a_folder_on_no_disk_is_told_as_such(tmp_path):
    """/proc has no size; the sentence was that its disk is full, 0 of 0 MiB."""
    with pytest.raises((Problem, OSError)) as told:
        collect(PLAN, WORLD, "train", "/proc/x", quiet=True)
    assert "is full" not in str(told.value) and "/proc/x" in str(told.value)
