"""TriFinger as a world of which models are learned: what is recorded can be gone on from, to the last bit."""

import json
import os
from functools import partial

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

pytest.importorskip("pybullet")
from envs import collect as collecting  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.protocols import Blocks, CausalGraph, Causes, DrawsTables, Interventions, OwnGoals, Simulator, Source  # noqa: E402
from envs.trifinger import Verdict  # noqa: E402
from envs.trifinger.source import TriFingerSource, parallel  # noqa: E402
from envs.trifinger.source.arena import MODES, Arena  # noqa: E402
from envs.trifinger.source.exploration import Drive  # noqa: E402
from envs.trifinger.source.saved import COLUMNS, FINGERS, WIDTH  # noqa: E402

RNG = np.random.default_rng
SPLIT = {"mode": "train", "length": 12}
FAST = {"skip_frame": 4, "speed": 0.1, "workers": 1}


@pytest.fixture(scope="module")
def world():
    return TriFingerSource("pushing", **FAST)


@pytest.fixture(scope="module")
def recorded(world):
    return world.record(SPLIT, RNG(0), 6)


def inner(columns, length):
    """Rows that an action leaves."""
    return np.arange(len(columns["action"])).reshape(-1, length + 1)[:, :-1].ravel()


@pytest.mark.parametrize("ability", [Source, Simulator, OwnGoals, Interventions, Causes, Blocks, DrawsTables])
def test_it_can_all_but_tell_its_graph(world, ability):
    assert isinstance(world, ability) and not isinstance(world, CausalGraph)


def test_columns_are_what_the_spec_says(world, recorded):
    columns, lengths = recorded
    assert lengths.tolist() == [13] * 6 and all(len(values) == 78 for values in columns.values())
    assert columns["objects"].shape[1:] == world.spec.shown("objects").shape == (4, WIDTH)
    assert {columns[name].dtype.name for name in ("objects", "action", "reward")} == {"float32"}
    assert columns["state"].dtype == np.float64 and columns["event_moved"].dtype == columns["event_contact"].dtype == bool
    assert np.abs(columns["action"]).max() <= 1 and world.spec.action.owners == FINGERS
    assert not columns["action"][12::13].any() and not columns["event_moved"][12::13].any()  # padding
    assert json.loads(json.dumps(world.header())) == world.header()


def test_going_on_from_any_row_gives_the_next_one_to_the_last_bit(world, recorded):
    columns, _ = recorded
    rows = inner(columns, 12)
    after, invalid = world.step(world.unpack(columns["state"][rows]), columns["action"][rows])
    assert np.array_equal(world.pack(after), columns["state"][rows + 1]) and not invalid.any()
    assert np.array_equal(world.observe(after, "objects"), columns["objects"][rows + 1])
    shuffled = RNG(1).permutation(rows)[:20]  # whatever was simulated before
    again, _ = world.step(world.unpack(columns["state"][shuffled]), columns["action"][shuffled])
    assert np.array_equal(world.pack(again), columns["state"][shuffled + 1])


def test_a_start_that_keeps_the_values_of_the_task_is_reported(world, monkeypatch, capsys):
    """Seen as episodes of physics-b that were silently recorded with the usual mass."""
    world.reset(2, RNG(0), "physics-a")
    assert "keep" not in capsys.readouterr().err
    monkeypatch.setattr(world._crew.arena.env, "intervene", lambda request: Verdict(False, ("it is refused",)))
    world.reset(2, RNG(0), "still")
    assert "keep" not in capsys.readouterr().err
    world.reset(2, RNG(0), "physics-b")
    kept = "warning: 2 of 2 starts of mode 'physics-b' keep the task's own"
    assert f"{kept} masses, frictions and sizes: 20 draws were refused" in (told := capsys.readouterr().err)
    assert f"{kept} poses of blocks" in told and f"{kept} goals" in told
    world.record({"mode": "poses-b", "length": 2}, RNG(0), 3)
    assert "3 of 3 starts of mode 'poses-b' keep the task's own goals" in capsys.readouterr().err


def test_equal_steps_are_taken_once(world, recorded, monkeypatch):
    columns, _ = recorded
    rows, actions = columns["state"][[0, 1, 0, 0]], columns["action"][[0, 1, 0, 1]]
    alone = np.concatenate([world.step(world.unpack(rows[i : i + 1]), actions[i : i + 1])[0].rows for i in range(4)])
    asked, do = [], world._crew.do
    monkeypatch.setattr(world._crew, "do", lambda name, pieces, steps: asked.append(steps) or do(name, pieces, steps))
    together, _ = world.step(world.unpack(rows), actions)
    assert asked == [3] and np.array_equal(together.rows, alone)


def test_blocks_are_the_rows_after_the_fingers(world, recorded):
    columns, _ = recorded
    assert world.blocks(columns["objects"]).shape == (78, 1, WIDTH)
    assert np.array_equal(world.positions(columns["objects"]), columns["objects"][:, 3:, COLUMNS["position"]])


def test_any_number_of_processes_records_the_same_bytes(recorded, monkeypatch):
    monkeypatch.setattr(parallel, "_WORTH", 0)
    columns, _ = TriFingerSource("pushing", **{**FAST, "workers": 2}).record(SPLIT, RNG(0), 6)
    assert all(np.array_equal(columns[name], values) for name, values in recorded[0].items())


def test_a_process_that_dies_is_told(monkeypatch):
    monkeypatch.setattr(parallel, "_WORTH", 0)
    monkeypatch.setattr(Arena, "episode", lambda *_: os._exit(9))
    with pytest.raises(Problem, match="a process that simulates TriFinger died"):
        TriFingerSource("pushing", **{**FAST, "workers": 2}).record(SPLIT, RNG(0), 2)


def test_a_file_is_collected_whole_or_not_at_all(world, tmp_path, monkeypatch):
    """The block that was whole when a process died stays; the same command goes on from there to the same bytes."""
    env = {
        "name": "hands",
        "drop_invalid": False,
        "splits": {"train": {"episodes": 4, "length": 3, "seed": 1, "mode": "train"}},
    }
    monkeypatch.setattr(collecting, "BLOCK_ROWS", 8)
    whole = collecting.collect(env, world, "train", tmp_path / "a", quiet=True)
    assert whole.spec == world.spec and whole.ep_len.tolist() == [4] * 4

    with monkeypatch.context() as patch:
        episode, played = Arena.episode, []

        def mortal(*piece):
            played.append(piece)
            if len(played) == 4:  # of the second block; the first tells what columns there are
                raise Problem("a process died")
            return episode(*piece)

        patch.setattr(Arena, "episode", mortal)
        with pytest.raises(Problem, match="died"):
            collecting.collect(env, world, "train", tmp_path / "b", quiet=True)
    assert not list((tmp_path / "b").glob("*.h5"))
    again = collecting.collect(env, world, "train", tmp_path / "b", quiet=True)
    assert all(np.array_equal(again.read(name)[name], values) for name, values in whole.read().items())


def test_the_table_holds_entities_and_neither_goal_nor_time(world, recorded):
    columns, _ = recorded
    state, layout = world.unpack(columns["state"][:5]), world._layout
    table = world.observe(state, "objects")
    assert np.array_equal(table[..., 0], [[0, 0, 0, 1]] * 5)
    assert np.allclose(table[:, 3, COLUMNS["position"]], layout.of(state.rows, "tool_block/cartesian_position"))
    axes = table[:, 3, COLUMNS["axes"]].reshape(5, 2, 3)
    assert np.allclose(axes @ axes.transpose(0, 2, 1), np.eye(2), atol=1e-6)
    other = state.rows.copy()
    for path in layout.slices:
        if path.startswith(("goal_block", "control")):
            other[:, layout.slices[path]] += 1
    assert np.array_equal(world.observe(world.unpack(other), "objects"), table)


def test_random_fingers_touch_the_block():
    world = TriFingerSource("pushing", workers=1)
    columns, _ = world.record({"mode": "train", "length": 40}, RNG(0), 3)
    rows = inner(columns, 40)
    assert columns["event_moved"][rows].mean() > 0.2 and columns["event_contact"][rows].any()
    ways = np.linalg.norm(np.diff(columns["objects"][:, 3, COLUMNS["position"]], axis=0), axis=-1)[rows]
    assert columns["event_moved"][rows][ways > 1.1e-3].all()


def test_a_scripted_push_moves_the_block():
    columns, _ = TriFingerSource("pushing", policy="scripted", speed=0.15, workers=1).record(
        {"mode": "train", "length": 36}, RNG(0), 2
    )
    assert columns["event_moved"].mean() > 0.2


def still(env, rng, height):
    """A policy as a function: it is given the environment and the chance of its episode."""
    return lambda observation: np.full(9, height + 0 * observation[0])


def test_the_expert_pushes_the_block_to_its_goal_and_mixed_is_one_of_both_in_each_episode():
    """An episode of `mixed` is that of one policy."""
    columns, _ = TriFingerSource("pushing", policy="expert", workers=1).record({"mode": "train", "length": 120}, RNG(0), 1)
    state, layout = columns["state"], TriFingerSource("pushing", workers=1)._layout
    here, goal = (layout.of(state, f"{name}/cartesian_position") for name in ("tool_block", "goal_block"))
    way = np.linalg.norm((here - goal)[:, :2], axis=1)
    assert way[0] > 0.03 and way[-1] < 0.01
    small = {name: _small_actions(name) for name in ("random", "expert", "mixed")}  # the expert is told to explore less
    assert small["random"].max() < 0.12 < small["expert"].min()
    assert len(np.unique(small["mixed"] < 0.12)) == 2  # some episodes are of one kind, some of the other


def _small_actions(policy):
    """Of each of six episodes, the share of actions that are almost nothing."""
    columns, _ = TriFingerSource("pushing", policy=policy, workers=1).record({"mode": "train", "length": 60}, RNG(0), 6)
    return (np.abs(columns["action"].reshape(6, 61, 9)[:, :60]) < 0.15).mean((1, 2))


def test_a_policy_may_be_a_function(world):
    world = TriFingerSource("reaching", policy=partial(still, height=0.25), **{**FAST, "speed": None})
    columns, _ = world.record({"mode": "still", "length": 3}, RNG(0), 1)
    assert (columns["action"][:3] == 0.25).all() and columns["objects"].shape == (4, 3, WIDTH)
    assert world.header()["policy"] == {"function": f"{__name__}.still", "height": 0.25}
    assert not columns["event_moved"].any() and not columns["event_contact"].any()


@pytest.mark.parametrize("speed", [0.04, None])
def test_an_action_and_where_it_sends_the_joints_agree(speed):
    """Relative to where the joints are, or all over their range."""
    drive, now = Drive(speed), np.linspace(-0.3, 0.3, 9)
    joints = now + np.linspace(-0.03, 0.03, 9)
    assert np.allclose(drive.joints(drive.action(joints, now), now), joints)
    far = drive.joints(drive.action(now + 9, now), now)
    assert np.allclose(far, np.tile([1.0, 1.57, 3.0], 3) if speed is None else now + speed)


def test_candidates_begin_with_what_was_done(world, recorded):
    done = recorded[0]["action"][:9]
    found = world.candidates(done, RNG(0), 25)
    assert found.shape == (9, 25, 9) and found.dtype == np.float32 and np.array_equal(found[:, 0], done)
    assert np.abs(found).max() <= 1 and (np.abs(found[:, 1:] - done[:, None]).max(-1) > 0).all()


def test_an_intervention_changes_its_variable_alone(world, recorded):
    state = world.unpack(recorded[0]["state"][[0, 20, 40]])
    before, names = state.rows.copy(), world.variables(state)
    assert {"tool_block/mass", "tool_block/cylindrical_position", "floor_friction"} < set(names) and "gravity" not in names
    for name in ("tool_block/mass", "floor_friction", "tool_block/color"):
        differs = world.intervene(state, name, RNG(0)).rows != before
        place = world._layout.slices[name]
        assert differs[:, place].any(1).all() and not np.delete(differs, np.r_[place], 1).any(), name
    assert np.array_equal(state.rows, before)
    with pytest.raises(Problem, match="no variable 'tool_block/mas': did you mean"):
        world.intervene(state, "tool_block/mas", RNG(0))


@pytest.mark.parametrize("task, entities", [("pushing", 4), ("reaching", 3), ("picking", 4)])
def test_presets_name_worlds_and_splits(root, task, entities):
    """Seeds differ and end before those of other purposes, tests hold 10,000 windows of ten steps,
    all three 100,000 actions."""
    folder = root / "configs" / "env"
    shared, own = (OmegaConf.load(folder / f"{name}.yaml") for name in ("_trifinger", f"trifinger_{task}"))
    env = OmegaConf.merge(shared, OmegaConf.masked_copy(own, ["name", "world"]))
    world = instantiate(OmegaConf.create({"env": env}).env.world)
    splits = env.splits
    assert env.name == f"trifinger_{task}" and world.spec.objects == entities
    assert {split.mode for split in splits.values()} <= set(MODES)
    assert len({split.seed for split in splits.values()}) == len(splits) and max(s.seed for s in splits.values()) < 7000
    assert splits.test.episodes * (splits.test.length - 9) >= 10_000
    assert sum(splits[name].episodes * splits[name].length for name in ("train", "valid", "test")) == 100_000


def test_pictures_stand_beside_the_table():
    world = TriFingerSource("pushing", observation="views", image_size=16, renderer="bullet", **FAST)
    columns, _ = world.record({"mode": "still", "length": 2}, RNG(0), 1)
    assert columns["views"].shape == (3, 16, 16, 9) and columns["views"].dtype == np.uint8 and np.ptp(columns["views"]) > 50
    assert world.header()["renderer"] == "bullet" and world.shown.shape == (16, 16, 9)
    assert np.array_equal(world.observe(world.unpack(columns["state"])), columns["views"])


@pytest.mark.parametrize("options, told", [
    ({"task": "pushin"}, "no task 'pushin': did you mean 'pushing'"),
    ({"policy": "exprt"}, "no policy 'exprt': did you mean 'expert'"),
    ({"policy": "mixed", "task": "towers"},
     "policy 'mixed' needs an expert of towers; there are experts for reaching, pushing"),
    ({"observation": "pixel"}, "no observation 'pixel': did you mean 'pixels'"),
    ({"speed": 0}, "speed is how far .*got 0"),
    ({"workers": 0}, "workers is a number of processes"),
])  # fmt: skip
def test_what_is_no_option_is_told(options, told):
    with pytest.raises(Problem, match=told):
        TriFingerSource(**options)


def test_states_and_modes_of_others_are_told(world):
    with pytest.raises(Problem, match="rows of 134 numbers, got shape"):
        world.unpack(np.zeros((2, 5)))
    with pytest.raises(Problem, match="no mode 'trian': did you mean 'train'"):
        world.record({"mode": "trian", "length": 1}, RNG(0), 1)


def test_a_table_is_put_back_and_drawn(world, recorded):
    """Joints and blocks of one row under the table of another are those of the other; a picture shows where the block lies."""
    table, rows = recorded[0]["objects"], recorded[0]["state"]
    some, other = np.array([0, 13, 26]), np.array([12, 25, 38])
    after = world.observe(world.unpack(world._layout.with_table(rows[some], table[other])), "objects")
    for name in ("position", "joint_positions", "axes", "size"):
        assert np.allclose(after[..., COLUMNS[name]], table[other][..., COLUMNS[name]], atol=1e-5), name
    states = world.unpack(rows[some])
    own, beside = world.draw(states, table[some]), table[some].copy()
    beside[:, FINGERS:, COLUMNS["position"]][..., 0] += 0.05
    assert own.shape == (3, 240, 320, 3) and own.dtype == np.uint8 and np.array_equal(own, world.draw(states, table[some]))
    assert (world.draw(states, beside) != own).any((1, 2, 3)).all()


def test_a_pose_is_three_points_of_a_block(world, recorded):
    """The centre, and the ways to the centres of two faces, which stand half a side away and upright to one another."""
    table = recorded[0]["objects"][:5]
    pose, half = world.poses(table), table[:, FINGERS:, COLUMNS["size"]] / 2
    assert pose.shape == (5, 1, 9) and np.array_equal(pose[..., :3], world.positions(table))
    first, second = pose[..., 3:6], pose[..., 6:]
    assert np.allclose(np.linalg.norm(first, axis=-1), half[..., 0], atol=1e-6)
    assert np.allclose((first * second).sum(-1), 0, atol=1e-6) and world.tips(table).shape == (5, 3, 3)
