"""Observations that stay on the disk: batches, names of frames and latents are those of observations in memory."""

import h5py
import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

import envs.collect
from envs.chemistry import ChemistryWorld
from envs.collect import collect
from envs.episodes.on_disk import OnDisk
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.spec import Observation
from train.datamodule import EpisodeData, Windows, streams

SPLIT = {"episodes": 12, "length": 9, "seed": 1, "mode": "train"}
ENV = {"name": "toy", "drop_invalid": False, "splits": {"train": SPLIT}}
WORLDS = {"pixels": PhysicsWorld(3), "state": ChemistryWorld(movement="dynamic")}


@pytest.fixture(scope="module", params=WORLDS)
def both(request, tmp_path_factory):
    """(the name of what is shown, the file of four blocks, windows in memory, windows on the disk)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envs.collect, "BLOCK_ROWS", 30)
        file = collect(ENV, world := WORLDS[request.param], "train", tmp_path_factory.mktemp("d"), quiet=True)
    build = lambda stream: Windows(file, world.spec, 3, 12, 7, True, request.param, stream)  # noqa: E731
    return request.param, file, build(False), build(True)


def test_streamed_batches_are_those_in_memory(both):
    """To the byte, in the same order, in every epoch."""
    _, _, here, there = both
    assert torch.equal(here.obs_id, there.obs_id) and len(here.obs) == len(there.obs) == 120
    for epoch in (0, 1):
        here.epoch = there.epoch = epoch
        for one, other in zip(here, there, strict=True):
            assert torch.equal(one.obs, other.obs) and one.obs.dtype == other.obs.dtype
            assert torch.equal(one.action, other.action) and torch.equal(one.obs_id, other.obs_id)


def test_streamed_rows_of_any_order(both):
    """Backwards, twice, far apart, or none."""
    name, file, here, there = both
    for rows in ([119, 118, 3, 3, 0, 60], [5], [], list(range(120))):
        rows = torch.tensor(rows, dtype=torch.long)
        assert torch.equal(here.frames(rows), there.frames(rows))
    assert there.frames(torch.tensor([], dtype=torch.long)).shape == (0, *here.frames(torch.arange(1)).shape[1:])


def test_streamed_latents_are_those_in_memory(both):
    """Each row that of its own frame, whatever the order in which frames were encoded."""

    class Sum:
        device = "cpu"

        def encode(self, obs):
            return obs.double().flatten(1).cumsum(1)[:, ::20].float()[:, None]

    _, _, here, there = both
    assert torch.equal(here.encode(Sum()), there.encode(Sum()))


def test_a_column_is_read_in_parts(both):
    """Blocks of three episodes, which together are the column."""
    name, file, here, _ = both
    column = WORLDS[name].spec.shown(name).column
    parts = list(OnDisk(file, column).blocks())
    assert [len(part) for part in parts] == [30] * 4 and np.array_equal(np.concatenate(parts), file.read(column)[column])


def test_when_observations_are_streamed(both):
    """By hand: 120 rows of 7500 bytes twice are 1.8 MB; real numbers are four bytes each."""
    _, file, _, _ = both
    picture, table = Observation("pixels", (50, 50, 3)), Observation("objects", (50, 150), "real")
    assert streams((file, file), picture, "auto", 0.0017) and not streams((file, file), picture, "auto", 0.0019)
    assert streams((file, file), table, "auto", 0.0071) and not streams((file, file), table, "auto", 0.0073)
    assert not streams((file,), picture, "auto", 0.0017) and streams((file,), picture, "auto", 0.0017, copies=2), (
        "each keeps all of it"
    )
    assert streams((file,), picture, True, 100) and not streams((file,), picture, False, 1e-9)


def test_what_does_not_fit_is_refused(both, monkeypatch):
    """The two files take 1.8 MB: kept in memory by hand on a machine with less, they are told before they are read."""
    _, file, _, _ = both
    picture = Observation("pixels", (50, 50, 3))
    monkeypatch.setattr("train.datamodule.machine_memory", lambda: 1_700_000)
    with pytest.raises(Problem, match="take 0.0 GB, and this machine has 0.0 GB; set data.stream=auto"):
        streams((file, file), picture, False, 8)
    assert streams((file, file), picture, True, 8)
    monkeypatch.setattr("train.datamodule.machine_memory", lambda: 1_900_000)
    assert not streams((file, file), picture, False, 8)
    with pytest.raises(Problem, match="take 0.0 GB in 2 processes, and this machine"):
        streams((file, file), picture, False, 8, copies=2)


def test_a_run_streams_as_its_config_says(both, compose):
    """And where it says nothing, as runs of before do not, it is what fits into memory."""
    name, file, _, _ = both
    cfg = compose("fit", "data.memory_gb=0.0001", "data.stream=auto")
    data = EpisodeData.of(cfg, file, file, WORLDS[name])
    data.cut(3, 12)
    assert data.train.streamed and data.valid.streamed
    before = OmegaConf.masked_copy(cfg, ["seed", "env"])
    assert not EpisodeData.of(before, file, file, WORLDS[name]).stream


def test_damage_is_told_before_training(both, tmp_path):
    """One number changed in place is found by its digest, as where the column is read at once."""
    name, _, _, _ = both
    world = WORLDS[name]
    file, column = collect(ENV, world, "train", tmp_path, quiet=True), world.spec.shown(name).column
    with h5py.File(file.path, "r+") as h5:
        h5[column][100] = h5[column][100] + 1
    with pytest.raises(Problem, match=f"data are damaged .column '{column}', block 0"):
        Windows(file, world.spec, 3, 12, 0, True, name, stream=True)


def test_large_rows_lie_in_small_chunks(tmp_path):
    """A window of 64-px frames was read by unpacking its whole episode: streaming took eighty times the time of memory."""
    from envs.episodes import EpisodeWriter

    rows = 101
    columns = {"pixels": np.zeros((rows, 64, 64, 3), np.uint8), "action": np.zeros(rows, np.int64)}
    with EpisodeWriter(tmp_path / "x.h5", {}) as writer:
        writer.append(columns, np.array([rows]))
        writer.finish()
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["pixels"].chunks[0] == 8 and file["action"].chunks[0] == rows


def test_an_epoch_that_is_left_early_leaves_no_reader(both):
    """The batch that was read ahead is dropped with the epoch, and the next epoch begins anew."""
    _, _, here, there = both
    here.epoch = there.epoch = 5
    for _ in there:
        break
    assert all(torch.equal(one.obs, other.obs) for one, other in zip(here, there, strict=True))
