"""The TriFinger RL datasets are read: a miniature in their layout, which the packages zarr, lmdb and gymnasium write."""

import json
import sys
from functools import cache

import numpy as np
import pytest
from gymnasium import spaces
from scipy.spatial.transform import Rotation

pytest.importorskip("pybullet")
lmdb, numcodecs, zarr = (pytest.importorskip(name) for name in ("lmdb", "numcodecs", "zarr"))
from envs.problem import Problem  # noqa: E402
from envs.protocols import Blocks, Source  # noqa: E402
from envs.trifinger.source.published import PublishedTriFinger  # noqa: E402
from envs.trifinger.source.saved import COLUMNS, WIDTH  # noqa: E402
from envs.trifinger.source.zarr_store import ZarrStore  # noqa: E402

EPISODES, ROWS = 20, 16  # and one row more in every odd episode
SPEED, TURN = np.array([0.1, -0.05, 0.02]), np.array([0.0, 0.0, 1.5])  # metres and radians a second of the cube
PICTURES = 5  # rows that show the same picture
TRAIN = {"segment": "train", "length": 100, "episodes": 16}
GOAL = {"push": {"object_position": (3,)}, "lift": {"object_keypoints": (8, 3)}}
SHAPES = {
    "camera_observation": {"object_position": (3,), "object_orientation": (4,), "delay": (1,), "confidence": (1,),
                           "object_keypoints": (8, 3)},
    "robot_observation": {"position": (9,), "velocity": (9,), "torque": (9,), "fingertip_force": (3,),
                          "fingertip_position": (3, 3), "fingertip_velocity": (3, 3), "robot_id": (1,)},
    "action": (9,),
}  # fmt: skip


def space(shapes) -> spaces.Space:
    """Boxes in dicts, sorted by their names as theirs are."""
    if isinstance(shapes, dict):
        return spaces.Dict({name: space(shapes[name]) for name in sorted(shapes)})
    return spaces.Box(-np.inf, np.inf, shapes, np.float32)


def nested(task: str) -> spaces.Space:
    return space({**SHAPES, "achieved_goal": GOAL[task], "desired_goal": GOAL[task]})


def episode(number: int, task: str) -> tuple[list, np.ndarray, np.ndarray]:
    """Nested observations, torques and rewards; the cube moves and turns evenly and is seen at every fifth row."""
    rows, whole = ROWS + number % 2, nested(task)
    whole.seed(number)
    torques = np.random.default_rng(number).uniform(-0.397, 0.397, (rows, 9)).astype(np.float32)
    before, seen = np.zeros(9), []
    for row in range(rows):
        taken = 0.02 * PICTURES * (row // PICTURES) - 0.06
        one = whole.sample()
        one["camera_observation"] |= {
            "object_position": (number / 100 + SPEED * taken).astype(np.float32),
            "object_orientation": Rotation.from_rotvec(TURN * taken).as_quat().astype(np.float32),
            "delay": np.array([0.02 * row - taken], np.float32),
        }
        one["action"] = before
        seen.append(one)
        before = torques[row]
    return seen, torques, np.arange(rows, dtype=np.float32) / 100 + number


@cache
def miniature(task: str) -> tuple[list, dict]:
    """(episodes, arrays of the file)"""
    made, whole = [episode(number, task) for number in range(EPISODES)], nested(task)
    ends = np.cumsum([len(torques) for _, torques, _ in made]) - 1
    return made, {
        "observations": np.array([spaces.flatten(whole, one) for seen, _, _ in made for one in seen], np.float32),
        "actions": np.concatenate([torques for _, torques, _ in made]),
        "rewards": np.concatenate([rewards for _, _, rewards in made]),
        "timeouts": np.isin(np.arange(ends[-1] + 1), ends), "episode_ends": ends,
    }  # fmt: skip


def write(folder, task: str = "push", **changes) -> list:
    """The miniature as Zarr, format 2, in LMDB. changes: arrays in place of its own, None: left out.  -> its episodes"""
    made, arrays = miniature(task)
    arrays = arrays | changes
    files = folder.with_suffix(".files")
    group = zarr.open_group(files, mode="w", zarr_format=2)
    for name, values in arrays.items():
        if values is not None:
            chunks = (50, 40)[: values.ndim]  # which end neither with an episode nor with an observation
            group.create_array(name, data=values, chunks=chunks, compressors=numcodecs.Blosc("lz4"))
    stored(folder, {str(path.relative_to(files)): path.read_bytes() for path in files.rglob("*") if path.is_file()})
    return made


def stored(folder, entries: dict) -> None:
    """Entries of an LMDB folder, written or replaced."""
    with lmdb.open(str(folder), map_size=2**26) as store, store.begin(write=True) as writing:
        for key, value in entries.items():
            writing.put(key.encode(), value)


@pytest.fixture(scope="module", params=["push", "lift"])
def mini(request, tmp_path_factory):
    """(task, world, what it was made from)"""
    folder = tmp_path_factory.mktemp("published") / f"trifinger-cube-{request.param}-sim-mixed-v0.zarr"
    made = write(folder, request.param)
    return request.param, PublishedTriFinger(str(folder)), made


def test_values_land_in_their_columns(mini):
    """Episode 12 of the file is the eleventh for training."""
    task, world, made = mini
    columns, lengths = world.record({**TRAIN, "start": 10}, None, 1)
    seen, torques, rewards = made[12]
    robot, table = [one["robot_observation"] for one in seen], columns["objects"]
    assert isinstance(world, Source) and table.shape == (ROWS, *world.shown.shape) == (ROWS, 4, WIDTH)
    assert lengths.tolist() == [ROWS]
    for name, part in (("position", "fingertip_position"), ("joint_positions", "position"), ("joint_velocities", "velocity")):
        assert np.array_equal(table[:, :3, COLUMNS[name]], np.array([one[part] for one in robot]).reshape(-1, 3, 3)), name
    camera = [one["camera_observation"] for one in seen]
    assert np.array_equal(table[:, 3, COLUMNS["position"]], [one["object_position"] for one in camera])
    axes = Rotation.from_quat([one["object_orientation"] for one in camera]).as_matrix()[..., :2].transpose(0, 2, 1)
    assert np.allclose(table[:, 3, COLUMNS["axes"]], axes.reshape(-1, 6), atol=1e-6)
    assert np.unique(table[:, 3, COLUMNS["size"]]) == np.float32(0.065)
    assert np.unique(table[:, 3, COLUMNS["mass"]]) == np.float32(0.094)
    assert (table[:, 3, COLUMNS["is_block"]] == 1).all() and not table[:, :3, COLUMNS["is_block"]].any()
    assert np.allclose(columns["action"][:-1], torques[:-1] / 0.397, atol=1e-6) and not columns["action"][-1].any()
    assert np.array_equal(columns["reward"][:-1], rewards[:-1]) and columns["reward"][-1] == 0
    goal = [np.ravel(one["desired_goal"]["object_position" if task == "push" else "object_keypoints"]) for one in seen]
    assert np.array_equal(columns["desired_goal"], goal)


def test_velocities_are_those_between_the_last_two_pictures(mini):
    """Neighbouring rows mostly show the same picture: their difference would be zero, then five times the velocity."""
    columns, _ = mini[1].record(TRAIN, None, 1)
    cube = columns["objects"][:, 3]
    linear, angular = cube[:, COLUMNS["linear_velocity"]], cube[:, COLUMNS["angular_velocity"]]
    assert not linear[:PICTURES].any() and not angular[:PICTURES].any()
    assert np.allclose(linear[PICTURES:], SPEED, atol=1e-4) and np.allclose(angular[PICTURES:], TURN, atol=1e-4)


def test_segments_share_no_episode_and_are_spread_over_the_file(mini):
    """The first reward of an episode is its number in the file."""
    world = mini[1]

    def numbers(segment, episodes, **more):
        columns, lengths = world.record({"segment": segment, "length": 100, "episodes": episodes, **more}, None, episodes)
        return columns["reward"][np.cumsum(lengths) - lengths].tolist(), lengths.tolist()

    assert numbers("train", 16)[0] == [n for n in range(20) if n % 10 < 8]
    assert numbers("valid", 2)[0] == [8, 18] and numbers("test", 2) == ([9, 19], [ROWS + 1] * 2)
    assert numbers("train", 4)[0] == [0, 4, 10, 14]  # not the first four
    assert numbers("train", 2, length=5)[1] == [6, 6]
    whole, pieces = world.record(TRAIN, None, 16)[0], [world.record({**TRAIN, "start": s}, None, 8)[0] for s in (0, 8)]
    assert np.array_equal(np.concatenate([one["objects"] for one in pieces]), whole["objects"])


def test_the_table_is_that_of_our_own_robot(mini):
    """Whoever reads blocks off our table reads them off this one."""
    world = mini[1]
    table = world.record(TRAIN, None, 1)[0]["objects"]
    assert isinstance(world, Blocks)
    assert np.array_equal(world.positions(table)[:, 0], table[:, 3, 1:4])
    assert np.array_equal(world.tips(table), table[:, :3, 1:4])
    assert world.blocks(table).shape == (ROWS, 1, WIDTH) and world.poses(table).shape == (ROWS, 1, 9)


def test_rows_are_those_that_zarr_reads(tmp_path):
    """Chunks that end anywhere, Fortran order, no compression, and chunks that are not stored."""
    values = np.random.default_rng(0).integers(0, 99, (23, 7))
    group = zarr.open_group(tmp_path / "files", mode="w", zarr_format=2)
    group.create_array("plain", data=values, chunks=(5, 3), compressors=None)
    group.create_array("turned", data=values, chunks=(4, 7), order="F", compressors=numcodecs.Zstd())
    group.create_array("sparse", shape=(9,), chunks=(2,), dtype="f4", fill_value=1.5)[2:4] = 7
    files = tmp_path / "files"
    stored(tmp_path / "store", {str(p.relative_to(files)): p.read_bytes() for p in files.rglob("*") if p.is_file()})
    with ZarrStore(tmp_path / "store") as store:
        for name in ("plain", "turned"):
            assert np.array_equal(store.rows(name), values) and np.array_equal(store.rows(name, 3, 11), values[3:11])
        assert store.rows("sparse", 1).tolist() == [1.5, 7, 7, *[1.5] * 5] and store.shape("plain") == (23, 7)


FOREIGN = {
    "no observations": ({"observations": None}, "it has no array 'observations'"),
    "other observations": ({"observations": np.zeros((330, 96), "f4")}, r"'observations' of shape \(330, 96\)"),
    "other rows": ({"rewards": np.zeros(7, "f4")}, r"'rewards' of shape \(7,\), published TriFinger has \(330,\)"),
    "other actions": ({"actions": np.full((330, 9), 0.2, "f4")}, "no torques up to 0.397 N m which"),
    "no numbers": ({"rewards": np.full(330, np.nan, "f4")}, "numbers that cannot be in rows 0 to 15"),
    "no end": ({"timeouts": np.zeros(330, bool)}, "has 0 episodes for train, got 16"),
    "words": ({"timeouts": np.full(330, "no")}, "array 'timeouts' is no plain array of numbers"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOREIGN)
def test_a_foreign_set_is_refused_in_a_sentence(case, tmp_path):
    changes, told = FOREIGN[case]
    write(tmp_path / "set", **changes)
    with pytest.raises(Problem, match=told):
        PublishedTriFinger(str(tmp_path / "set")).record(TRAIN, None, 16)


def test_a_missing_set_is_told(tmp_path, monkeypatch):
    """A config without a path composes; reading it says what to set, as does a machine without the extra."""
    for path in (None, str(tmp_path), str(tmp_path / "nowhere")):
        with pytest.raises(Problem, match="read from a folder with the file data.mdb, got .*; set env.world.path="):
            PublishedTriFinger(path).record(TRAIN, None, 1)
    (tmp_path / "data.mdb").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "lmdb", None)
    with pytest.raises(Problem, match=r"needs the package 'lmdb'; install it with: pip install '.\[offline\]'"):
        PublishedTriFinger(str(tmp_path)).record(TRAIN, None, 1)
    with pytest.raises(Problem, match="no segment 'tran': did you mean 'train'"):
        PublishedTriFinger(str(tmp_path)).record({**TRAIN, "segment": "tran"}, None, 1)
    with pytest.raises(Problem, match="no observation 'pixels'"):
        PublishedTriFinger(None, "pixels")


@pytest.mark.parametrize("left", [0, 5000, 0.5])
def test_a_download_that_was_cut_off(left, tmp_path):
    """To read behind the end of the file would kill the process."""
    write(tmp_path / "set")
    file = tmp_path / "set/data.mdb"
    content = file.read_bytes()
    file.write_bytes(content[: int(left * len(content)) if left == 0.5 else left])
    with pytest.raises(Problem, match="data.mdb is damaged or no Zarr group .*; download it again"):
        PublishedTriFinger(str(tmp_path / "set")).record(TRAIN, None, 1)


def test_chunks_that_cannot_be_decoded(tmp_path):
    """Damaged bytes, bytes of another size, and a compressor that would run code."""
    write(tmp_path / "set")
    world = PublishedTriFinger(str(tmp_path / "set"))
    about = {"zarr_format": 2, "shape": [330], "chunks": [330], "dtype": "<f4", "filters": None, "fill_value": 0, "order": "C"}
    for compressor, chunk, told in (
        ({"id": "zlib"}, b"no zlib", "chunk 'rewards/0' cannot be decoded"),
        (None, b"short", "chunk 'rewards/0' needs 1320 bytes and has 5"),
        ({"id": "pickle"}, b"", "'rewards' is no plain array of numbers"),
    ):
        said = json.dumps({**about, "compressor": compressor}).encode()
        stored(tmp_path / "set", {"rewards/.zarray": said, "rewards/0": chunk})
        with pytest.raises(Problem, match=told):
            world.record(TRAIN, None, 1)
    stored(tmp_path / "set", {"rewards/.zarray": b"{}"})
    with pytest.raises(Problem, match="of array 'rewards' it says"):
        world.record(TRAIN, None, 1)


def test_a_model_learns_from_them(tmp_path, command_here):
    """Collected by the command, then read by training, which scores what it learned."""
    write(tmp_path / "set")
    splits = [f"env.splits.{name}.episodes={count}" for name, count in (("train", 16), ("valid", 2), ("test", 2))]
    asked = ("env=trifinger_published", f"env.world.path={tmp_path / 'set'}", *splits)
    done = command_here("envs/collect.py", *asked, "split=all", cwd=tmp_path)
    assert done.returncode == 0 and "16 episodes of 15 to 16 actions" in done.stdout, done.stderr
    smoke = ("model=gnn", "trainer=smoke", "logger=csv", "score.horizons=[1]")
    done = command_here("train/fit.py", *smoke, *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(next((tmp_path / "runs").rglob("results.json")).read_text())
    assert results["protocol"]["pool"] == 2 * ROWS  # the actions of episodes 9 and 19
    assert results["metrics"]["test/mrr/h1"] > 100 / (2 * ROWS) and np.isfinite(results["metrics"]["test/latent_spread"])
    done = command_here("envs/collect.py", "env=trifinger_published", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.strip().endswith("set env.world.path=") and len(done.stderr.splitlines()) == 1
