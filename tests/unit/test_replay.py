"""Replay buffers between two segments, and evaluations between them: whole, the same again, told where they are not."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

gym, _ = pytest.importorskip("gymnasium"), pytest.importorskip("stable_baselines3")
from stable_baselines3.common.buffers import ReplayBuffer  # noqa: E402
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer  # noqa: E402

from envs.problem import Problem  # noqa: E402
from train.agents.evaluation import evaluate_if_due, evaluations  # noqa: E402
from train.agents.replay import read_replay, write_replay  # noqa: E402

BOX = gym.spaces.Box(-1, 1, (3,), np.float32)
GOALS = gym.spaces.Dict({"achieved_goal": BOX, "desired_goal": BOX, "observation": BOX})


class Answers:
    """As much of an environment as a buffer asks: 1 where the goal is the one that was reached."""

    def env_method(self, name, achieved, desired, infos, indices):
        return [(achieved == desired).all(1).astype(np.float32)]


def buffer(relabelled, size=12):
    if relabelled:
        return HerReplayBuffer(size, GOALS, BOX, Answers(), "cpu", 2)
    return ReplayBuffer(size, BOX, BOX, "cpu", 2)


def fill(into, steps, relabelled, rng):
    for step in range(steps):
        seen = {key: rng.random((2, 3)) for key in GOALS} if relabelled else rng.random((2, 3))
        over = np.array([step % 2 == 1, False])
        into.add(seen, seen, rng.random((2, 3)), rng.random(2), over, [{"TimeLimit.truncated": one} for one in over])


def same(one, two):
    """Whether two buffers give the same batch to the same random numbers."""
    batches = []
    for each in (one, two):
        np.random.seed(0)
        drawn = each.sample(20)
        seen = drawn.observations.values() if isinstance(drawn.observations, dict) else [drawn.observations]
        batches.append([*seen, drawn.actions, drawn.rewards, drawn.dones])
    return all((a == b).all() for a, b in zip(*batches, strict=True))


@pytest.mark.parametrize("relabelled", [False, True])
@pytest.mark.parametrize("steps", [4, 9])  # of six that it can hold
def test_a_buffer_is_the_same_again(relabelled, steps, tmp_path):
    """Also one that is full and writes over its oldest transitions; of relabelled goals the last episode is ended by it."""
    before, after = buffer(relabelled), buffer(relabelled)
    fill(before, steps, relabelled, np.random.default_rng(0))
    write_replay(before, tmp_path / "replay-8.npz")
    read_replay(after, tmp_path / "replay-8.npz")
    assert (after.pos, after.full) == (before.pos, before.full) == (steps % 6, steps > 6) and same(before, after)
    for each in (before, after):
        fill(each, 3, relabelled, np.random.default_rng(1))
    assert same(before, after) and [path.name for path in tmp_path.iterdir()] == ["replay-8.npz"]


def test_a_buffer_of_another_training_is_refused(tmp_path, monkeypatch):
    """Missing, cut, of other goals, too large, or with a pickle in it; a full disk leaves the one of before."""
    path, whole = tmp_path / "replay-8.npz", buffer(False)
    with pytest.raises(Problem, match="replay-8.npz is missing, and the agent beside it learned from it"):
        read_replay(buffer(False), path)
    fill(whole, 4, False, np.random.default_rng(0))
    write_replay(whole, path)
    for other in (buffer(True), buffer(False, size=4)):
        with pytest.raises(Problem, match="is no replay buffer of this training"):
            read_replay(other, path)
    content = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            write_replay(whole, path)
    assert path.read_bytes() == content and len(list(tmp_path.iterdir())) == 1
    path.write_bytes(content[:100])
    with pytest.raises(Problem, match="is no replay buffer of this training"):
        read_replay(buffer(False), path)
    np.savez(path, pos=np.array([{}]), observations=np.array([{}]))
    with pytest.raises(Problem, match="is no replay buffer of this training"):
        read_replay(buffer(False), path)


@pytest.mark.parametrize("relabelled, steps, name, other", [
    (False, 9, "rewards", lambda rows: rows[:4]), (False, 9, "observations", lambda rows: rows[:-1]),
    (True, 4, "dones", lambda rows: rows[:1]),
    (False, 4, "pos", lambda pos: pos - 1), (False, 4, "pos", lambda pos: -pos), (False, 4, "pos", lambda pos: pos + 0.5),
    (False, 9, "pos", lambda pos: 6), (False, 4, "actions", lambda rows: rows * np.nan),
    (True, 4, "ep_length", lambda rows: rows + 7), (True, 4, "ep_start", lambda rows: rows - 1),
])  # fmt: skip
def test_columns_of_a_buffer_fit_one_another(relabelled, steps, name, other, tmp_path):
    """Seen: of a full buffer a column shorter than the others was read, and the rest of it learned from as zeros."""
    path, whole = tmp_path / "replay-8.npz", buffer(relabelled)
    fill(whole, steps, relabelled, np.random.default_rng(0))
    write_replay(whole, path)
    with np.load(path) as file:
        columns = dict(file)
    np.savez(path, **columns | {name: other(columns[name])})
    fresh = buffer(relabelled)
    with pytest.raises(Problem, match=r"is no replay buffer of this training \(\w+\); train again with overwrite=true$"):
        read_replay(fresh, path)
    assert fresh.pos == 0 and not fresh.full


@pytest.mark.parametrize("share", [0, 0.3, 0.6, 0.9, 0.999])
def test_a_buffer_that_was_cut_is_refused(share, tmp_path):
    """Wherever the disk was full."""
    path, whole = tmp_path / "replay-8.npz", buffer(True)
    fill(whole, 4, True, np.random.default_rng(0))
    write_replay(whole, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(Problem, match="is no replay buffer of this training"):
        read_replay(buffer(True), path)


def test_evaluations_fall_due_once_and_keep_the_best(tmp_path):
    """At the first end of a segment behind each multiple; a command that was killed in between evaluates the same archive."""
    (tmp_path / "checkpoints").mkdir()
    archive, asked = tmp_path / "checkpoints/agent.zip", []

    def after(steps, score, every=100):
        archive.write_text(f"weights of {steps}")
        scores = {"P0": (score, score - 1, score + 1), "P5": (score / 2,) * 3}
        measure = lambda agent, path: asked.append(steps) or scores  # noqa: E731
        return evaluate_if_due(every, tmp_path, SimpleNamespace(num_timesteps=steps), measure)

    assert after(500, 9.0, every=None) == {} and after(0, 9.0) == {} and after(80, 9.0) == {}
    assert after(160, 40.0) == {"P0": 40.0, "P5": 20.0, "mean": 30.0} and after(160, 40.0) == {} and after(199, 9.0) == {}
    assert after(350, 80.0)["mean"] == 60.0 and after(390, 9.0) == {} and after(400, 50.0)["mean"] == 37.5
    assert asked == [160, 350, 400] and (tmp_path / "checkpoints/best.zip").read_text() == "weights of 350"
    rows = list(csv.DictReader((tmp_path / "evaluations.csv").open()))
    assert [row["steps"] for row in rows if row["measure"] == "mean"] == ["160", "350", "400"] and len(rows) == 21
    assert evaluations(tmp_path)[1] == {"steps": 350, "P0": [80.0, 79.0, 81.0], "P5": [40.0] * 3}


def test_evaluations_of_before_have_no_bounds(tmp_path):
    """The file of a run that began under an older command goes on as it is."""
    path = tmp_path / "evaluations.csv"
    assert evaluations(tmp_path) == []
    path.write_text("steps,measure,percent\n50,P0,20\n50,mean,20\n100,P0,60\n100,mean,60\n")
    assert evaluations(tmp_path) == [{"steps": 50, "P0": [20.0]}, {"steps": 100, "P0": [60.0]}]
    measure = lambda agent, path: {"P0": (70.0, 65.0, 75.0)}  # noqa: E731
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints/agent.zip").write_text("weights")
    evaluate_if_due(50, tmp_path, SimpleNamespace(num_timesteps=150), measure)
    assert evaluations(tmp_path)[-1] == {"steps": 150, "P0": [70.0, 65.0, 75.0]} and len(evaluations(tmp_path)) == 3
