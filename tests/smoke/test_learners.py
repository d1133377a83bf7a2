"""SAC, TD3, hindsight and residual agents on the TriFinger: taken up after a killed simulator, moved, played, and refused."""

import csv
import json
import shutil
from unittest.mock import MagicMock

import pytest
import torch

pytest.importorskip("stable_baselines3")
pytest.importorskip("pybullet")

TINY = [
    "task=pushing", "steps=80", "save_every=40", "max_steps=10", "algo.boards=2", "algo.hidden=8", "algo.learner.batch_size=8",
    "algo.learner.learning_starts=24", "algo.learner.buffer_size=60", "protocols=[P0,P5]", "episodes=2", "evaluate.every=40",
    "evaluate.episodes=1", "name=first", "runs_dir=r",
]  # fmt: skip
LEARNERS = {
    "sac": ["algo=sac", "curriculum=0", "algo.learner.ent_coef=auto"],
    "td3": ["algo=td3", "curriculum=1", "residual=0.1"],
    "sac_her": ["algo=sac_her", "curriculum=2"],
}


def rows(folder, name):
    return [{**row, "seconds": 0} for row in csv.DictReader((folder / name).open())]


def weights(path):
    from train.agents.archive import read

    return {f"{part}.{name}": value for part, held in read(path, "cpu").parameters.items() if "optimizer" not in part
            for name, value in held.items()}  # fmt: skip


@pytest.mark.parametrize("learner", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("sac", "td3")), "sac_her"])
def test_a_killed_simulator_costs_a_segment(learner, command_here, tmp_path, monkeypatch):
    """It ends the command in a sentence; the same command goes on from the replay buffer to where the uninterrupted one ends,
    and the folder plays elsewhere."""
    from train.agents.trifinger_envs import Arenas

    asked, step = ["train/manipulation.py", *TINY, *LEARNERS[learner]], Arenas.step_async
    assert command_here(*asked, cwd=tmp_path).returncode == 0
    here, whole = tmp_path / "elsewhere", tmp_path / "r/first"
    here.mkdir()
    calls = []

    def killed(self, actions):
        calls.append(0)
        if len(calls) == 30:  # of 40, 20 to a segment
            self.processes[1].kill()
        step(self, actions)

    with monkeypatch.context() as patch:
        patch.setattr(Arenas, "step_async", killed)
        done = command_here(*asked, cwd=here)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and "the process of an arena ended" in last and "Traceback" not in done.stderr
    held = {path.name for path in (here / "r/first/checkpoints").iterdir()}
    assert held == {"agent.zip", "best.zip", "replay-40.npz"}
    assert command_here(*asked, cwd=here).returncode == 0
    again = here / "r/first"
    for name in ("metrics.csv", "evaluations.csv"):
        assert rows(again, name) == rows(whole, name)
    one, two = (weights(folder / "checkpoints/agent.zip") for folder in (whole, again))
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
    assert {path.name for path in (again / "checkpoints").iterdir()} == {"agent.zip", "best.zip"}  # the buffer has served
    moved = tmp_path / "moved"
    shutil.move(again, moved)
    few = ["protocols=[P5]", "episodes=2", "max_steps=10", "jobs=1", "out=o"]
    played = command_here("eval/protocols.py", "task=pushing", f"agent={moved}/checkpoints/agent.zip", *few, cwd=tmp_path)
    assert played.returncode == 0, played.stderr[-2000:]
    scores = json.loads((tmp_path / "o/pushing-moved/scores.json").read_text())
    measured = json.loads((moved / "results.json").read_text())
    assert 100 * scores["P5"]["integrated"][0] == pytest.approx(measured["metrics"]["protocol/P5/integrated"], abs=1e-3)
    assert [one["steps"] for one in measured["evaluations"]] == [40, 80] and len(measured["evaluations"][0]["P0"]) == 3
    assert measured["algo"] == learner and measured["protocol"]["residual"] == (0.1 if learner == "td3" else None)


@pytest.mark.parametrize("asked, said", [
    (["algo=sac_her", "residual=0.1"], "relabelled goals are others; set residual=null or algo.relabelled=0"),
    (["algo=sac_her", "reward=dense"], "goals are others; set reward=fractional, reward=sparse or algo.relabelled=0"),
    (["algo=sac_her", "reward=none"], "needs reward=fractional or reward=sparse, got reward=none"),
    (["algo=sac_her", "algo.learner.learning_starts=20"], "set algo.learner.learning_starts= above 20"),
    (["algo=sac", "task=towers", "residual=0.1", "protocols=[P0]"], "there is no expert for towers"),
    (["algo=sac", "residual=2"], "residual must be a number > 0 and <= 1, or null, got 2"),
    (["algo=sac", "reward=spares"], "there is no reward 'spares': did you mean 'sparse'"),
    (["algo=sac", "evaluate.protocols=[P12]"], "pushing has no protocol P12"),
    (["algo=td3", "logger=wandbe"], "there is no logger 'wandbe': did you mean 'wandb'"),
])  # fmt: skip
def test_refused_in_one_sentence(asked, said, command_here, tmp_path):
    """Before anything is written."""
    done = command_here("train/manipulation.py", *TINY, *asked, cwd=tmp_path)
    assert done.returncode == 1 and said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_mirror_is_told_of_segments_evaluations_and_scores(command_here, tmp_path, monkeypatch):
    """logger=wandb, as in train/fit.py: rows by steps, the scores at the end."""
    import wandb

    mirror, given = MagicMock(), {}
    monkeypatch.setattr(wandb, "init", lambda **words: given.update(words) or mirror)
    done = command_here("train/manipulation.py", *TINY, "algo=sac", "logger=wandb", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert given["mode"] == "offline" and given["group"] == "pushing" and given["tags"] == ["sac"]
    told = [call.args[0] for call in mirror.log.call_args_list]
    assert [row["steps"] for row in told] == [40, 40, 80, 80]
    assert told[0].keys() == {"steps", "train/reward", "train/success"} and "evaluation/mean" in told[1]
    assert "protocol/P5/last" in mirror.summary.update.call_args.args[0] and mirror.finish.called
