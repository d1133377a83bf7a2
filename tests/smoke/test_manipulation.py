"""Agents on the TriFinger, as a user types it: trained under a curriculum, taken up again, measured on protocols."""

import csv
import json

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("pybullet")

TINY = [
    "task=pushing", "curriculum=1", "steps=240", "save_every=120", "max_steps=20", "algo.boards=2", "algo.learner.n_steps=30",
    "algo.learner.batch_size=30", "algo.hidden=8", "protocols=[P0,P5]", "episodes=2", "name=first", "runs_dir=r",
]  # fmt: skip


def test_trained_taken_up_and_played_elsewhere(command_here, tmp_path, monkeypatch):
    """Broken off and taken up it ends where the uninterrupted one ends; other commands take its archive."""
    import train.agents.training

    done = command_here("train/manipulation.py", *TINY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    first = tmp_path / "r" / "first"
    results = json.loads((first / "results.json").read_text())
    assert {"protocol/P0/last", "protocol/P5/integrated"} <= results["metrics"].keys()
    assert results["metrics"]["protocol/P0/accepted"] == 100 and results["protocol"]["curriculum"] == "1"

    part, here = train.agents.training._segment, tmp_path / "elsewhere"
    here.mkdir()

    def broken(cfg, setting, folder, before, mirror):
        if before:
            raise KeyboardInterrupt
        return part(cfg, setting, folder, before, mirror)

    with monkeypatch.context() as patch:
        patch.setattr(train.agents.training, "_segment", broken)
        assert command_here("train/manipulation.py", *TINY, cwd=here).returncode == 130
    assert command_here("train/manipulation.py", *TINY, cwd=here).returncode == 0
    one, two = (list(csv.DictReader((place / "r/first/metrics.csv").open())) for place in (tmp_path, here))
    assert [{**line, "seconds": 0} for line in one] == [{**line, "seconds": 0} for line in two] and len(one) == 2
    assert json.loads((here / "r/first/results.json").read_text())["metrics"] == results["metrics"]

    archive = str(first / "checkpoints" / "agent.zip")
    few = ["protocols=[P0,P5]", "episodes=2", "max_steps=20", "jobs=1", "out=o"]
    played = command_here("eval/protocols.py", "task=pushing", f"agent={archive}", *few, cwd=tmp_path)
    assert played.returncode == 0, played.stderr[-2000:]
    scores = json.loads((tmp_path / "o/pushing-first/scores.json").read_text())
    assert 100 * scores["P5"]["integrated"][0] == pytest.approx(results["metrics"]["protocol/P5/integrated"], abs=1e-3)
    less = [*few[1:], "protocols=[P0]"]
    assert command_here("eval/protocols.py", "task=pushing", f"agent={archive}", *less, cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "o/pushing-first/scores.json").read_text()) == scores, "files lost what was not asked for"
    table = (tmp_path / "o/pushing-first/table.md").read_text()
    assert "2 episodes each, skip 3, at most 20 steps" in table and "mesh collision" in table
    other = command_here("eval/protocols.py", "task=reaching", f"agent={archive}", *few, "name=x", cwd=tmp_path)
    assert other.returncode == 1 and "was trained with task=pushing, here it is reaching; give task=pushing" in other.stderr
    alike = command_here("eval/protocols.py", "task=picking", f"agent={archive}", *few, "name=x", cwd=tmp_path)
    assert alike.returncode == 1 and "was trained with task=pushing, here it is picking; give task=pushing" in alike.stderr


@pytest.mark.parametrize("asked, said", [
    ("task=pushin", "did you mean 'pushing'"), ("curriculum=3", "there is no curriculum '3': known: 0, 1, 2"),
    ("protocols=[P13]", "there is no protocol 'P13'"), ("collision=meshes", "did you mean 'mesh'"),
    ("algo.boards=0", "algo.boards must be a whole number from 1"), ("steps=0", "steps must be a whole number >= 1"),
    ("algo.learner.ent_coef=auto", "algo=ppo does not learn its entropy bonus"),
])  # fmt: skip
def test_refused_in_one_sentence(asked, said, command_here, tmp_path):
    """Before anything is written."""
    done = command_here("train/manipulation.py", *TINY, asked, cwd=tmp_path)
    assert done.returncode == 1 and said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("asked, said", [
    (["task=towers", "protocols=[P0,P5]"], "P5 changes the number of blocks of towers"),
    (["task=towers", "protocols=null", "curriculum=2"], "curriculum 2 changes the number of blocks of towers"),
    (["protocols=[]"], "protocols must be a list of names"), (["max_steps=-1"], "max_steps must be a whole number >= 1"),
])  # fmt: skip
def test_what_an_agent_cannot_see_is_refused_before_it_is_trained(asked, said, command_here, tmp_path):
    done = command_here("train/manipulation.py", *TINY, *asked, cwd=tmp_path)
    assert done.returncode == 1 and said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
