"""What a file says of its columns: its spec, bytes per row, events; files of before; and episodes of unequal length."""

import json
from dataclasses import dataclass, field

import h5py
import numpy as np
import pytest
import torch

from envs.chemistry import ChemistryWorld
from envs.collect import _digest, _of_before, collect, header
from envs.episodes import EpisodeFile, EpisodeWriter
from envs.frames import frame_ids
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.spec import Action, EnvSpec, Observation
from eval.probes.data import Data
from eval.rollouts import actions_of
from eval.runs import Run
from eval.score import measure, probes_of
from eval.terminal import Steps
from train.datamodule import Windows

SPLIT = {"episodes": 6, "length": 8, "seed": 1, "mode": "train"}


def plan(drop_invalid=False, **split):
    return {"name": "toy", "drop_invalid": drop_invalid, "splits": {"test": {**SPLIT, **split}}}


def gathered(world, folder, **more):
    return collect(plan(**more), world, "test", folder, quiet=True)


def test_the_header_holds_the_spec_and_the_bytes_of_a_row(tmp_path):
    """Whoever opens the file knows its columns without a world."""
    world = PhysicsWorld(3)
    file = EpisodeFile(gathered(world, tmp_path).path)
    assert file.spec == world.spec and file.header["row_bytes"] == 280
    columns = file.read()
    for one in file.spec.observations.values():
        assert columns[one.column].shape[1:] == one.shape and columns[one.column].dtype == np.uint8


@pytest.mark.parametrize("world", [
    PhysicsWorld(5), PhysicsWorld(9, board=7), ChemistryWorld(10, 10, graph="full10", movement="dynamic"),
], ids=["physics", "large board", "chemistry"])  # fmt: skip
def test_a_row_takes_no_more_than_the_header_says(world, tmp_path):
    """The check of the disk counts on it."""
    file = gathered(world, tmp_path, episodes=100, length=20)
    assert file.path.stat().st_size < file.ep_len.sum() * file.header["row_bytes"]


def test_events_are_what_the_world_says_of_each_step(tmp_path):
    """In physics met, pushed, or a push that was invalid, and nothing in the last row, whose action is padding."""
    world = PhysicsWorld(5)
    file = gathered(world, tmp_path, episodes=400)
    events = {name: file.read(name)[name] for name in file.columns if name.startswith("event_")}
    assert sorted(events) == ["event_contact", "event_invalid_push", "event_push"]
    state, action = file.read("state", "action").values()
    boards = world.unpack(state)
    step = np.ones(len(state), bool)
    step[file.ep_offset + file.ep_len - 1] = False
    truth = {**world.events(boards, action), "invalid_push": world.step(boards, action)[1]}
    for name, seen in truth.items():
        assert np.array_equal(events[f"event_{name}"], seen & step) and events[f"event_{name}"].any()
        assert events[f"event_{name}"].dtype == bool
    quiet = gathered(world, tmp_path, episodes=50, drop_invalid=True)
    assert not quiet.read("event_invalid_push")["event_invalid_push"].any()
    assert "event_effect" in gathered(ChemistryWorld(), tmp_path).columns


# -- files of before ---------------------------------------------------------------------------------------------------


def of_before(file, about):
    """The same data as they were collected before: another header and name, no `objects`, no events. -> its path"""
    columns = file.read("pixels", "action", "reward", "state", "goal")
    path = file.path.with_name(f"toy-test-{_digest(about)}.h5")
    with EpisodeWriter(path, about) as writer:
        writer.append(columns, file.ep_len)
        writer.finish()
    file.path.unlink()
    return path


def test_a_file_of_before_is_read_with_the_spec_of_its_world(tmp_path):
    """It is not collected anew, and the table of objects, which it lacks, follows from its states."""
    world = PhysicsWorld(3)
    file = gathered(world, tmp_path, episodes=60)
    whole, wanted = file.read(), file.read("objects", "pixels")
    path = of_before(file, _of_before(header(world, SPLIT | {"drop_invalid": False, "episodes": 60}, "test")))
    again = gathered(world, tmp_path, episodes=60)
    assert again.path == path and "spec" not in again.header and again.spec == world.spec
    assert [p.name for p in tmp_path.glob("*.h5")] == [path.name]
    found = again.read("objects", "pixels")
    assert list(found) == list(wanted) and all(np.array_equal(found[name], wanted[name]) for name in wanted)
    part = Windows(again, world.spec, 2, 4, 0, True, "state")
    assert np.array_equal(part.obs.numpy(), wanted["objects"])
    events = [name for name in whole if name.startswith("event_") and name != "event_invalid_push"]
    found = again.read(*events)
    assert len(events) == 2 and all(np.array_equal(found[name], whole[name]) and whole[name].any() for name in events)
    with pytest.raises(Problem, match="has no column 'event_x', it holds action, goal, pixels, reward, state; remove it"):
        again.read("event_x")


def test_a_header_that_tells_more_is_the_same_file(tmp_path):
    """What only describes the data may be said otherwise: the name is the same, and so is the file."""
    world = PhysicsWorld(3)
    file = gathered(world, tmp_path)
    about = {**file.header, "row_bytes": 1}
    del about["spec"]["action"]["low"]
    assert _digest(about) == _digest(file.header) and _digest(_of_before(about)) != _digest(about)
    assert EpisodeFile(file.path, about).spec == world.spec
    about["spec"]["objects"] = 4
    with pytest.raises(Problem, match=r"another spec \(objects: expected 4, got 3\); collect it again"):
        EpisodeFile(file.path, about)


# -- refusals ----------------------------------------------------------------------------------------------------------


def written(path, about, columns, lengths):
    with EpisodeWriter(path, about) as writer:
        writer.append(columns, lengths)
        writer.finish()
    return EpisodeFile(path)


def test_another_spec_than_the_files_is_refused(tmp_path):
    """A run of other sizes would end in an error about shapes, or read other objects as its own."""
    file = gathered(PhysicsWorld(3), tmp_path)
    with pytest.raises(Problem, match=r"another spec than the run has \(observations.state.shape: expected \[4, 29\], got "
                                      r"\[3, 28\]\); collect it again"):  # fmt: skip
        Windows(file, PhysicsWorld(4).spec, 2, 4, 0, True)


def test_a_column_that_the_spec_names_and_the_file_lacks_is_named(tmp_path):
    """Both, and what the file holds."""
    spec = EnvSpec({"views": Observation("views", (4, 4, 6))}, Action(0), 1)
    file = written(tmp_path / "x.h5", {}, {"pixels": np.zeros((3, 4, 4, 3), np.uint8)}, [3])
    with pytest.raises(Problem, match="has no column 'views', it holds pixels; collect it again"):
        Windows(file, spec, 2, 4, 0, True, "views")
    with pytest.raises(Problem, match="no observation 'view': did you mean 'views'"):
        Windows(file, spec, 2, 4, 0, True, "view")


def test_a_spec_that_is_none_is_refused(tmp_path):
    """A header may come from anybody."""
    with pytest.raises(Problem, match="the spec in its header is none .EnvSpec lacks its key 'action'"):
        written(tmp_path / "x.h5", {"spec": {"observations": {}}}, {"pixels": np.zeros((3, 2), np.uint8)}, [3])


# -- episodes of unequal length ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Uneven(PhysicsWorld):
    """Physics whose episodes end early: episode i of a block after `ends[i % 4]` actions."""

    ends: tuple = field(default=(8, 3, 5, 1))

    def record(self, split, rng, episodes):
        columns, lengths = super().record(split, rng, episodes)
        full, lengths = int(lengths[0]), np.minimum(np.resize(self.ends, episodes) + 1, lengths)
        keep = np.concatenate([i * full + np.arange(n) for i, n in enumerate(lengths)])
        return {name: values[keep] for name, values in columns.items()}, lengths


WORLD = Uneven(3)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    return gathered(WORLD, tmp_path_factory.mktemp("d"), drop_invalid=True, episodes=60)


def test_unequal_episodes_are_written_and_found(uneven):
    """Each begins where the one before it ends, and each begins as its whole would."""
    assert uneven.ep_len.tolist() == [9, 4, 6, 2] * 15
    assert uneven.ep_offset.tolist() == [sum(uneven.ep_len[:i]) for i in range(60)]
    with h5py.File(uneven.path) as h5:
        assert h5["state"].chunks[0] == 9
    whole = gathered(PhysicsWorld(3), uneven.path.parent, drop_invalid=True, episodes=60)
    state, full = uneven.read("state")["state"], whole.episodes("state")[0]
    for i, (start, rows) in enumerate(zip(uneven.ep_offset, uneven.ep_len)):
        assert np.array_equal(state[start : start + rows], full[i, :rows])


@pytest.mark.parametrize("shuffle", [True, False])
def test_no_window_crosses_an_unequal_episode(uneven, shuffle):
    """Every whole window of every episode, none of those too short for one."""
    part = Windows(uneven, WORLD.spec, 3, 12, 0, shuffle)
    wanted = [start + at for start, n in zip(uneven.ep_offset, uneven.ep_len) for at in range(0, n - 3, 1 if shuffle else 3)]
    assert part.starts.tolist() == wanted and part.transitions == 17 * 15
    assert sum(len(batch.action) for batch in part) == part.windows
    with pytest.raises(Problem, match="window=9 is longer than the episodes of .* .8 actions."):
        Windows(uneven, WORLD.spec, 9, 12, 0, shuffle)


def test_readers_take_the_episodes_that_are_long_enough(uneven):
    """In their order, cut to the shortest of them; of equal ones as many as asked, whole."""
    state, action = uneven.read("state", "action").values()
    for steps, episodes, rows in ((1, 60, 2), (2, 45, 4), (4, 30, 6), (8, 15, 9)):
        found = uneven.episodes("state", "action", steps=steps)
        keep = np.flatnonzero(uneven.ep_len > steps)
        assert found[0].shape[:2] == found[1].shape == (episodes, rows)
        for i, at in enumerate(uneven.ep_offset[keep]):
            assert np.array_equal(found[0][i], state[at : at + rows]) and np.array_equal(found[1][i], action[at : at + rows])
    assert len(uneven.episodes("action", steps=4, count=7)[0]) == 7
    with pytest.raises(Problem, match="no episode of it is 9 actions long, the longest has 8"):
        uneven.episodes("action", steps=9)


def test_windows_are_one_of_each_episode_and_more_where_episodes_are_few(uneven):
    """The test set of a robot has 160 long episodes, and its ranking pool is 10,000 windows."""
    state = uneven.read("state")["state"]
    (one,) = uneven.windows("state", steps=3)
    assert np.array_equal(one, uneven.windows("state", steps=3, count=45)[0])
    keep = uneven.ep_offset[uneven.ep_len > 3]
    assert np.array_equal(one, state[keep[:, None] + np.arange(4)])
    assert len(uneven.windows("state", steps=3, count=7)[0]) == 7
    (many,) = uneven.windows("state", steps=3, count=10_000)  # no more than there are: 6 of nine rows, 1 of four, 3 of six
    assert len(many) == 15 * (6 + 1 + 3) and np.array_equal(many[:6], state[np.arange(6)[:, None] + np.arange(4)])
    (some,) = uneven.windows("state", steps=3, count=90)  # two of each where two fit, the first and the last
    assert np.array_equal(some[:2], state[np.array([[0], [5]]) + np.arange(4)]) and len(some) == 75
    with pytest.raises(Problem, match="no episode of it is 9 actions long"):
        uneven.windows("action", steps=9)


class Knowing:
    """The latent of a board is its table of objects, and its transition is the true one."""

    device, decoder = "cpu", None

    def encode(self, obs):
        return obs.float()

    def rollout(self, latent, actions):
        boards = WORLD.reset(len(latent), np.random.default_rng(0))
        boards.positions[:] = np.stack(np.divmod(latent[..., :25].argmax(-1).numpy(), 5), -1)
        boards.weights[:] = latent[..., 25:].argmax(-1).numpy()
        path = []
        for action in actions.argmax(-1).T.numpy():
            boards, _ = WORLD.step(boards, action)
            path.append(torch.from_numpy(WORLD.observe(boards, "objects")).float())
        return torch.stack(path, 1)


def test_unequal_episodes_are_scored(uneven):
    """The pool is windows of the episodes that reach the longest horizon; who knows the rule is right about all of them."""
    world = Uneven(3, observation="state")
    run = Run(Knowing(), world=world)
    data = Data(run, uneven, [1, 5], 1000, 10)
    with Steps("scoring", 6, quiet=True) as progress:
        metrics = measure(run, data, probes_of(run, None), progress)
    assert data.protocol["episodes"] == data.protocol["too_short"] == 30 and data.protocol["pool"] == 15 * (4 + 1)
    assert metrics["test/hits@1/h1"] == metrics["test/hits@1/h5"] == metrics["test/cf_hits@1/h5"] == 100
    with pytest.raises(Problem, match=r"horizon 9 is longer .* \(8 actions\)"):
        Data(run, uneven, [9], 1000, 0)


def test_a_world_whose_columns_and_lengths_differ_is_told(tmp_path):
    """Rows would belong to the wrong episodes."""

    @dataclass(frozen=True)
    class Short(PhysicsWorld):
        def record(self, split, rng, episodes):
            columns, lengths = super().record(split, rng, episodes)
            return {**columns, "action": columns["action"][1:]}, lengths

    with pytest.raises(Problem, match="Short recorded 53 rows of column 'action' for episodes of 54 rows in all"):
        gathered(Short(3), tmp_path)


# -- other kinds of action ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 2])
def test_windows_of_vectors_and_of_videos(size, tmp_path):
    """Real numbers as float32, and of a video no numbers at all: it records no action."""
    spec = EnvSpec({"objects": Observation("objects", (1, 3), "real")}, Action(size), 1)
    rng = np.random.default_rng(0)
    columns = {"objects": rng.normal(size=(7, 1, 3)).astype(np.float32)}
    if size:
        columns["action"] = rng.normal(size=(7, size))
    about = {"spec": json.loads(json.dumps(spec.to_dict()))}
    part = Windows(written(tmp_path / "x.h5", about, columns, [4, 3]), spec, 2, 4, 0, True, "objects")
    batch = part.gather(part.starts)
    assert part.starts.tolist() == [0, 1, 4] and batch.action.shape == (3, 2, size) and batch.action.dtype == torch.float32
    assert np.array_equal(batch.obs[2].numpy(), columns["objects"][4:7])
    assert part.obs_id.tolist() == frame_ids(columns["objects"]).tolist()
    if size:
        assert torch.equal(batch.action[0], actions_of(columns["action"][:2], spec))
