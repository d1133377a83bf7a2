"""The episode file: T + 1 rows, the same bytes when resumed, never half-written, never wrongly read."""

import hashlib
import shutil
from collections import namedtuple

import h5py
import numpy as np
import pytest
from filelock import FileLock, Timeout

import envs.collect
from envs.collect import collect
from envs.episodes import FORMAT, EpisodeFile, EpisodeWriter
from envs.physics import PhysicsWorld
from envs.problem import Problem

WORLD = PhysicsWorld(3)
LENGTH = 5


def plan(episodes=20, length=LENGTH, seed=1):
    return {"name": "physics3", "drop_invalid": True,
            "splits": {"train": {"episodes": episodes, "length": length, "seed": seed, "mode": "train"}}}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    return collect(plan(), WORLD, "train", tmp_path, quiet=True)


def test_rows_and_columns(file):
    """T actions, T + 1 rows; action[t] leads from row t to row t + 1 and reward[t] is its consequence."""
    columns = file.read(*file.columns)
    assert len(file) == 20 and (file.ep_len == LENGTH + 1).all()
    assert file.ep_offset.tolist() == list(range(0, 20 * (LENGTH + 1), LENGTH + 1))
    assert all(len(values) == 20 * (LENGTH + 1) for values in columns.values())
    for start in file.ep_offset:
        for t in range(start, start + LENGTH):
            before, goal = WORLD.unpack(columns["state"][t : t + 1]), WORLD.unpack(columns["state"][t : t + 1])
            assert np.array_equal(WORLD.render(before)[0], columns["pixels"][t])
            after, invalid = WORLD.step(before, columns["action"][t : t + 1])
            assert not invalid.any()  # such actions are drawn anew, as published
            assert np.array_equal(WORLD.pack(after)[0], columns["state"][t + 1])
            goal.positions = columns["goal"][t : t + 1]
            assert columns["reward"][t] == pytest.approx(-WORLD.distance(after, goal)[0])


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def interrupt_after(monkeypatch, blocks):
    """Make the writer break when the next block would be written."""
    append = EpisodeWriter.append

    def broken(self, columns, lengths):
        if self.blocks_done == blocks:
            raise KeyboardInterrupt
        append(self, columns, lengths)

    monkeypatch.setattr(EpisodeWriter, "append", broken)
    return lambda: monkeypatch.setattr(EpisodeWriter, "append", append)


def test_resumed_file_has_the_same_bytes(tmp_path, monkeypatch):
    """Interrupted after two of four blocks and taken up again: every byte of every column and the checksum are the same."""
    whole, resumed = whole_and_resumed(tmp_path, monkeypatch)
    assert resumed.columns == whole.columns
    for name, values in whole.read(*whole.columns).items():
        again = resumed.read(name)[name]
        assert again.dtype == values.dtype and again.tobytes() == values.tobytes()
    with h5py.File(whole.path) as one, h5py.File(resumed.path) as two:
        assert dict(one.attrs) == dict(two.attrs)


def whole_and_interrupted(tmp_path, monkeypatch):
    """A split collected at once in one folder, and given up after two of its four blocks in another: (file, folder)."""
    monkeypatch.setattr(envs.collect, "BLOCK_ROWS", 5 * (LENGTH + 1))
    whole = collect(plan(), WORLD, "train", tmp_path / "a", quiet=True)
    restore = interrupt_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        collect(plan(), WORLD, "train", tmp_path / "b", quiet=True)
    restore()
    assert not list((tmp_path / "b").glob("*.h5")) and list((tmp_path / "b").glob("*.part"))
    return whole, tmp_path / "b"


def whole_and_resumed(tmp_path, monkeypatch):
    """The same split collected at once, and collected with an interruption after two of four blocks."""
    whole, folder = whole_and_interrupted(tmp_path, monkeypatch)
    done = []
    monkeypatch.setattr(envs.collect, "_block", lambda *a, block=envs.collect._block: done.append(1) or block(*a))
    resumed = collect(plan(), WORLD, "train", folder, quiet=True)
    assert len(done) == 2  # the finished half was kept
    assert not list(folder.glob("*.part"))
    return whole, resumed


def test_damaged_part_is_started_anew(tmp_path, monkeypatch):
    """A half-written file that cannot be trusted is thrown away, not continued."""
    whole, folder = whole_and_interrupted(tmp_path, monkeypatch)
    part = next(folder.glob("*.part"))
    part.write_bytes(part.read_bytes()[:1000])
    assert digest(collect(plan(), WORLD, "train", folder, quiet=True).path) == digest(whole.path)


def test_an_interrupted_file_that_is_open_elsewhere_stays(tmp_path, monkeypatch):
    """Whoever looked into it made the command begin anew without a word: hours were lost."""
    _, folder = whole_and_interrupted(tmp_path, monkeypatch)
    part = next(folder.glob("*.part"))
    before, opened = digest(part), h5py.File

    def locked(path, mode="r"):  # in the words of HDF5, whose locks tests go without
        if mode == "r+":
            raise BlockingIOError(11, "Unable to synchronously open file (unable to lock file, errno = 11)")
        return opened(path, mode)

    with (
        monkeypatch.context() as patch,
        pytest.raises(Problem, match="is open in another program; close it there, and give the same command"),
    ):
        patch.setattr(h5py, "File", locked)
        collect(plan(), WORLD, "train", folder, quiet=True)
    assert digest(part) == before and len(collect(plan(), WORLD, "train", folder, quiet=True)) == 20


def test_what_an_interrupted_file_holds_needs_no_room(tmp_path, monkeypatch):
    """The disk was full, space was freed for what was missing, and the command asked for that of the whole file."""
    _, folder = whole_and_interrupted(tmp_path, monkeypatch)
    need, held = 20 * (LENGTH + 1) * WORLD.row_bytes, next(folder.glob("*.part")).stat().st_size
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10 * need, 9 * need, max(0, need - held)))
    assert held > 0 and len(collect(plan(), WORLD, "train", folder, quiet=True)) == 20


def test_a_block_may_hold_nothing(tmp_path):
    """Where none of its episodes can be had; it counts as done."""
    columns, none = ({"action": np.arange(float(n)), "seen": np.zeros((n, 50, 50))} for n in (3, 0))
    for order in ((none, columns), (columns, none)):
        path = tmp_path / f"{len(order[0]['action'])}.h5"
        with EpisodeWriter(path, {"a": 1}) as writer:
            for part in order:
                writer.append(part, [len(part["action"])] if len(part["action"]) else [])
            assert writer.blocks_done == 2 and writer.episodes_done == 1
            writer.finish()
        file = EpisodeFile(path)
        assert file.ep_len.tolist() == [3] and file.read("action")["action"].tolist() == [0, 1, 2]
        with h5py.File(path) as raw:
            assert raw["seen"].chunks[0] < 1000, "after a first block without episodes chunks held 100,000 rows"


def test_finished_file_is_kept(file, monkeypatch):
    """The same command again reads the file and draws nothing."""
    monkeypatch.setattr(envs.collect, "_block", None)
    before = digest(file.path)
    assert len(collect(plan(), WORLD, "train", file.path.parent, quiet=True)) == 20
    assert digest(file.path) == before


def test_another_configuration_is_another_file(file):
    """Seed, length and world are in the name."""
    other = collect(plan(seed=2), WORLD, "train", file.path.parent, quiet=True)
    assert other.path != file.path
    assert collect(plan(), PhysicsWorld(3, object_order="shuffled"), "train", file.path.parent, quiet=True).path != file.path


REMAKE = r"remove it and give the same command again: rm \S*\.h5$"


def again(file):
    return collect(plan(), WORLD, "train", file.path.parent, quiet=True).read("pixels", "action", "state")


def test_truncated_file_is_refused(file):
    """Half a file is no file; the sentence ends with the command."""
    data = file.path.read_bytes()
    file.path.write_bytes(data[: len(data) // 2])
    with pytest.raises(Problem, match=REMAKE):
        again(file)


def test_foreign_file_is_refused(file):
    """Something that is no HDF5 at all."""
    file.path.write_text("hello")
    with pytest.raises(Problem, match=f"not an episode file.*{REMAKE}"):
        again(file)


@pytest.mark.parametrize("column", ["pixels", "action", "state", "ep_len", "ep_offset"])
def test_changed_data_are_refused(file, column):
    """One number changed in place is found by its digest."""
    with h5py.File(file.path, "r+") as h5:
        h5[column][3] = h5[column][3] + 1
    with pytest.raises(Problem, match=f"('{column}', block 0|truncated).*{REMAKE}"):
        again(file)


def test_changed_digests_are_refused(file):
    """Whoever edits the digests must also forge the checksum."""
    with h5py.File(file.path, "r+") as h5:
        h5.attrs["blocks"] = h5.attrs["blocks"].replace("0", "1", 1)
    with pytest.raises(Problem, match=f"checksum does not match.*{REMAKE}"):
        again(file)


def test_changed_header_is_refused(file):
    """The checksum covers what the file says of itself, too."""
    with h5py.File(file.path, "r+") as h5:
        h5.attrs["header"] = h5.attrs["header"].replace('"seed": ', '"seed": 1')
    with pytest.raises(Problem, match="checksum does not match"):
        EpisodeFile(file.path)


def test_other_version_is_refused(file):
    """Both versions are named."""
    with h5py.File(file.path, "r+") as h5:
        h5.attrs["format"] = 99
    with pytest.raises(Problem, match=f"format version 99, this code reads {FORMAT}.*{REMAKE}"):
        again(file)


def test_other_env_is_refused(file):
    """A file renamed to another env's name is refused, both sides printed."""
    other = PhysicsWorld(3, object_order="shuffled")
    header = envs.collect.header(other, plan()["splits"]["train"] | {"drop_invalid": True}, "train")
    with pytest.raises(Problem, match="object_order: expected shuffled, file has by_weight.*remake it"):
        EpisodeFile(file.path, header, "remake it")


def test_missing_file_and_column(tmp_path, file):
    """A file or column that does not exist is named."""
    with pytest.raises(Problem, match="nothing.h5 does not exist; make it with: do this"):
        EpisodeFile(tmp_path / "nothing.h5", remedy="do this")
    with pytest.raises(Problem, match="tactile"):
        file.read("tactile")


def test_part_never_has_the_final_name(tmp_path, monkeypatch):
    """While blocks are written there is a .part and no file; afterwards a file and no .part."""
    monkeypatch.setattr(envs.collect, "BLOCK_ROWS", 5 * (LENGTH + 1))
    append, seen = EpisodeWriter.append, []

    def spy(self, *args):
        append(self, *args)
        seen.append((self.path.exists(), self._part.exists()))

    monkeypatch.setattr(EpisodeWriter, "append", spy)
    file = collect(plan(), WORLD, "train", tmp_path, quiet=True)
    assert seen == [(False, True)] * 4
    assert file.path.exists() and not list(tmp_path.glob("*.part"))


def test_lock_is_held_while_writing(tmp_path):
    """A second writer waits for the first, and the lock is free afterwards."""
    path = tmp_path / "x.h5"
    with EpisodeWriter(path, {}):
        with pytest.raises(Timeout):
            FileLock(str(path) + ".lock").acquire(timeout=0.05)
    FileLock(str(path) + ".lock").acquire(timeout=0.05).lock.release()


def test_stable_worldmodel_reads_it(file):
    """The file opens in stable_worldmodel.data and gives the same frames and actions."""
    data = pytest.importorskip("stable_worldmodel.data")
    try:
        dataset = data.HDF5Dataset(path=str(file.path), num_steps=LENGTH + 1)
    except TypeError:
        dataset = data.HDF5Dataset(name=file.path.stem, cache_dir=str(file.path.parent), num_steps=LENGTH + 1)
    ours = file.read("pixels", "action")
    item = dataset[0]
    frames = np.asarray(item["pixels"])
    if frames.shape[-1] != 3:
        frames = np.moveaxis(frames, 1, -1)
    assert np.array_equal(frames, ours["pixels"][: LENGTH + 1])
    assert np.array_equal(np.asarray(item["action"]).reshape(-1), ours["action"][: LENGTH + 1])
