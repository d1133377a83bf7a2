"""Cloned experts, as a user types it: cloned in rounds, taken up where a round ended, played elsewhere,
refused where they do not fit."""

import csv
import json
import zipfile

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from eval.manipulation.cloned import ClonedPolicy, write_policy  # noqa: E402
from eval.manipulation.controllers import load_controller  # noqa: E402
from eval.manipulation.trained_in import layout  # noqa: E402

TINY = [
    "task=reaching", "cloning.starts=[P0,P5]", "cloning.episodes=25", "cloning.corrected=25", "cloning.rounds=1",
    "cloning.updates=150", "cloning.hidden=32", "max_steps=30", "protocols=[P0]", "episodes=2", "name=first",
    "runs_dir=r", "jobs=1",
]  # fmt: skip


def test_episodes_that_are_held_out_are_not_learned_from(tmp_path):
    """Column `error` of metrics.csv would be that of what was learned."""
    import train.agents.cloning as cloning

    torch.manual_seed(0)
    seen, said = np.random.default_rng(0).normal(size=(5, 7, 6)).astype(np.float32), np.zeros((5, 7, 9), np.float32)
    seen[:2] = np.nan
    cfg = OmegaConf.create({"seed": 0, "cloning": {"updates": 20, "learning_rate": 1e-3, "batch_size": 32}})
    policy = ClonedPolicy(6, 8)
    cloning._learn(policy, seen, said, 2, cfg, 1, tmp_path)
    assert all(weight.isfinite().all() for weight in policy.parameters())


def test_a_clone_that_diverges_is_not_written(tmp_path):
    """It was written as agent.zip, which no command could read again."""
    import train.agents.cloning as cloning

    seen, said = np.full((5, 7, 6), np.inf, np.float32), np.zeros((5, 7, 9), np.float32)
    cfg = OmegaConf.create({"seed": 0, "cloning": {"updates": 20, "learning_rate": 1e-3, "batch_size": 32}})
    with pytest.raises(FloatingPointError, match="loss is not finite in update 1 of round 0; lower cloning.learning_rate="):
        cloning._learn(ClonedPolicy(6, 8), seen, said, 2, cfg, 0, tmp_path)


def test_cloned_taken_up_and_played_elsewhere(command_here, tmp_path, monkeypatch):
    """Broken off after the first round and taken up, it ends where the uninterrupted one ends."""
    import train.agents.cloning as cloning

    done = command_here("train/clone.py", *TINY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads((tmp_path / "r/first/results.json").read_text())
    first, second = (part["episodes"] for part in results["protocol"]["rounds"])
    assert first == 25 < second  # corrected episodes are added; those that failed are not
    assert results["metrics"]["protocol/P0/last"] > 90  # three tips to three points are soon learned

    here = tmp_path / "elsewhere"
    here.mkdir()
    learn, held_out = cloning._learn, []

    def broken(policy, observations, actions, out, cfg, round, folder):
        held_out.append(out)
        if len(held_out) == 2:
            raise KeyboardInterrupt
        learn(policy, observations, actions, out, cfg, round, folder)

    with monkeypatch.context() as patch:
        patch.setattr(cloning, "_learn", broken)
        assert command_here("train/clone.py", *TINY, cwd=here).returncode == 130
        assert command_here("train/clone.py", *TINY, cwd=here).returncode == 0
    assert held_out == [1, 1, 1], "what a round has learned is held out of no later one"
    one, two = (list(csv.DictReader((place / "r/first/metrics.csv").open())) for place in (tmp_path, here))
    assert [{**line, "seconds": 0} for line in one] == [{**line, "seconds": 0} for line in two]
    assert json.loads((here / "r/first/results.json").read_text())["metrics"] == results["metrics"]

    archive = f"agent={tmp_path / 'r/first/checkpoints/agent.zip'}"
    few = ["episodes=2", "max_steps=30", "jobs=1", "out=o", "protocols=[P0]"]
    played = command_here("eval/protocols.py", "task=reaching", archive, "skip_frame=10", *few, cwd=tmp_path)
    assert played.returncode == 0, played.stderr[-2000:]
    scores = json.loads((tmp_path / "o/reaching-first/scores.json").read_text())
    assert 100 * scores["P0"]["last"][0] == pytest.approx(results["metrics"]["protocol/P0/last"], abs=1e-3)
    other = command_here("eval/protocols.py", "task=reaching", archive, "name=x", *few, cwd=tmp_path)
    assert other.returncode == 1 and "was trained with skip_frame=10, here it is 3; give skip_frame=10" in other.stderr
    assert not (tmp_path / "o/x").exists()


def cloned(path, env, **changes):
    own = layout(env) | {"hidden": 8}
    write_policy(path, ClonedPolicy(len(own["entries"]), 8), own | changes)
    return str(path)


def test_a_clone_of_another_world_is_refused(tmp_path):
    """By task, steps and layout, though the numbers of the observation are as many."""
    env = make("pushing", skip_frame=10)
    env.reset(seed=0)
    assert load_controller(cloned(tmp_path / "a.zip", env), env, None)(env.observe()).shape == (9,)
    entries = layout(env)["entries"]
    for name, changes, said in (
        ("b", {"task": "picking"}, "was trained with task=picking, here it is pushing; give task=picking"),
        ("c", {"skip_frame": 3}, "skip_frame=3, here it is 10"),
        ("d", {"action_mode": "joint_torques"}, "action_mode=joint_torques, here it is joint_positions"),
        ("e", {"entries": entries[::-1]}, "on observations of 56 numbers in another order than here"),
    ):
        with pytest.raises(Problem, match=said):
            load_controller(cloned(tmp_path / f"{name}.zip", env, **changes), env, None)
    other = make("reaching", skip_frame=10)
    other.reset(seed=0)
    with pytest.raises(Problem, match="was trained with task=pushing, here it is reaching; give task=pushing"):
        load_controller(str(tmp_path / "a.zip"), other, None)
    env.close(), other.close()


def test_a_damaged_clone_is_refused(tmp_path):
    env = make("pushing", skip_frame=10)
    env.reset(seed=0)
    cloned(tmp_path / "a.zip", env)
    with zipfile.ZipFile(tmp_path / "a.zip") as whole, zipfile.ZipFile(tmp_path / "b.zip", "w") as half:
        half.writestr("cloned.json", whole.read("cloned.json"))
    with pytest.raises(Problem, match="b.zip is neither a cloned agent nor an archive"):
        load_controller(str(tmp_path / "b.zip"), env, None)
    env.close()


@pytest.mark.parametrize("asked, said", [
    ("task=general", "there is no expert for general"), ("cloning.starts=[P13]", "there is no protocol 'P13'"),
    ("cloning.starts=[]", "cloning.starts must be a list of protocols"),
    ("cloning.updates=0", "cloning.updates must be a whole number >= 1"),
    ("protocols=[P3]", "reaching has no protocol P3"), ("mass_spread=2", "mass_spread must be a number from 0 to 0.5"),
])  # fmt: skip
def test_refused_in_one_sentence(asked, said, command_here, tmp_path):
    """Before anything is written."""
    refused = command_here("train/clone.py", *TINY, asked, cwd=tmp_path)
    assert refused.returncode == 1 and said in refused.stderr and len(refused.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_masses_differ_a_little_where_nothing_is_drawn(tmp_path):
    """P0 has one and the same episode else."""
    from eval.manipulation.episodes import _other_masses

    env = make("stacking2", space=None)
    env.reset(seed=0)
    cfg = {"task": "stacking2", "mass_spread": 0.025}
    drawn = [_other_masses(env, cfg, np.random.default_rng(seed)) for seed in range(20)]
    assert set(drawn[0]) == {"tool_block_1/mass", "tool_block_2/mass"} and env.intervene(drawn[0]).accepted
    values = np.array([list(masses.values()) for masses in drawn]) / 0.02
    assert (np.abs(values - 1) <= 0.025).all() and values.std() > 0.01
    assert _other_masses(env, {**cfg, "task": "reaching"}, np.random.default_rng(0)) == {}
    env.close()


def test_what_never_varies_in_demonstrations_keeps_its_unit():
    """A size that all demonstrations share was divided by .001: another one was 286 spreads away."""
    policy, observations = ClonedPolicy(2, 8), torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    observations[:, 1] = 0.3
    policy.normalise_by(observations, torch.zeros(50, 9))
    assert policy.spread[1] == 1 and 0.5 < policy.spread[0] < 2 and (policy.action_spread == 1).all()
