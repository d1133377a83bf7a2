"""A model-free agent, from nothing to the share of goals it reaches, as a user types it."""

import csv
import json

import pytest
from omegaconf import OmegaConf

from eval.pages.site import write_site

pytest.importorskip("stable_baselines3")

TINY = [
    "env=physics3", "env.observation=state", "steps=512", "save_every=256", "algo.boards=32", "algo.learner.n_steps=8",
    "algo.hidden=16", "name=first", "runs_dir=r", "plan.episodes=50",
]  # fmt: skip


def read(here):
    return json.loads((here / "r" / "first" / "results.json").read_text())


def lines(here):
    return list(csv.DictReader((here / "r" / "first" / "metrics.csv").open()))


def test_results_and_taking_up(command_here, tmp_path):
    """The keys that tables read, in percent; a finished run is measured again and not trained again."""
    done = command_here("train/agent.py", *TINY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    results = read(tmp_path)
    m = results["metrics"]
    for name in ("success", "success/agent", "true/greedy", "floor/random", "floor/noop"):
        assert all(0 <= m[f"plan/{name}/{h}"] <= 100 for h in ("h1", "h5", "h10"))
    assert m["plan/true/greedy/h1"] == 100 and m["plan/floor/noop/h1"] == 0
    assert m["plan/success/h5"] == m["plan/success/agent/h5"]
    assert "plan/true/replay/h1" not in m  # where nothing is chance it never fails
    assert results["timing"]["fit_s"] > 0 and results["protocol"]["steps"] == 512 and results["parameters"]["agent"] > 0
    assert "stable-baselines3" in results["versions"] and results["config_hash"]
    assert [line["steps"] for line in lines(tmp_path)] == ["256", "512"]
    weights = (tmp_path / "r" / "first" / "checkpoints" / "agent.zip").read_bytes()
    again = command_here("train/agent.py", *TINY, cwd=tmp_path)
    assert again.returncode == 0 and "taking up r/first" in again.stdout and read(tmp_path)["metrics"] == m
    assert (tmp_path / "r" / "first" / "checkpoints" / "agent.zip").read_bytes() == weights and len(lines(tmp_path)) == 2
    for other, sentence in (
        (["train/agent.py", *TINY, "seed=1"], "holds a run with another configuration (seed: 0 there, 1 here)"),
        (["train/fit.py", "name=first", "runs_dir=r"], "holds a model-free agent and no model.module"),
        (["eval/score.py", "run=r/first"], "holds a model-free agent and no model.module"),
        (["eval/plan.py", "run=r/first"], "holds a model-free agent and no model.module"),
    ):
        refused = command_here(*other, cwd=tmp_path)
        assert refused.returncode == 1 and sentence in " ".join(refused.stderr.split()), refused.stderr
    (tmp_path / "r" / "first" / "checkpoints" / "agent.zip").write_bytes(weights[:1000])
    damaged = command_here("train/agent.py", *TINY, cwd=tmp_path)
    assert damaged.returncode == 1 and "is not a readable agent" in damaged.stderr and "Traceback" not in damaged.stderr


def test_taken_up_ends_where_the_uninterrupted_ends(command_here, tmp_path, monkeypatch):
    """Broken off after the first of two parts: the same rewards, the same success, the same weights."""
    import torch
    from stable_baselines3 import PPO

    import train.agents.training

    assert command_here("train/agent.py", *TINY, cwd=tmp_path).returncode == 0
    part = train.agents.training._segment

    def broken(cfg, setting, folder, before, mirror):
        if before:
            raise KeyboardInterrupt
        return part(cfg, setting, folder, before, mirror)

    here = tmp_path / "elsewhere"
    here.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(train.agents.training, "_segment", broken)
        stopped = command_here("train/agent.py", *TINY, cwd=here)
    assert stopped.returncode == 130 and "give the same command again" in stopped.stderr
    assert not (here / "r" / "first" / "results.json").exists() and len(lines(here)) == 1
    assert command_here("train/agent.py", *TINY, cwd=here).returncode == 0
    assert read(here)["metrics"] == read(tmp_path)["metrics"]
    for mine, theirs in zip(lines(here), lines(tmp_path), strict=True):
        assert {**mine, "seconds": 0} == {**theirs, "seconds": 0}
    files = [folder / "r" / "first" / "checkpoints" / "agent.zip" for folder in (here, tmp_path)]
    one, two = (PPO.load(file).policy.state_dict() for file in files)
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_from_pixels_where_effects_are_chance(command_here, tmp_path):
    """Frames go in, replay stands beside; the index of the folder names it among the agents."""
    few = ["env=chemistry_chain5", "env.observation=pixels", "plan.horizons=[1,2]", "horizon=2"]
    assert command_here("train/agent.py", *TINY, *few, cwd=tmp_path).returncode == 0
    assert 0 <= read(tmp_path)["metrics"]["plan/true/replay/h2"] <= 100
    index = write_site(tmp_path / "r", gifs=0).read_text()
    assert "Model-free agents" in index and "first" in index and "Unreadable" not in index


@pytest.mark.parametrize(
    "asked, said",
    [
        ("algo=pop", "there is no algo 'pop': did you mean 'ppo'"),
        ("algo=sac", "boards have actions that are counted, and algo=sac learns actions that are numbers; set algo=ppo"),
        ("env=physics6", "there is no env 'physics6'"),
        ("steps=0", "steps must be a whole number >= 1, got 0"),
        ("algo.boards=5000", "algo.boards must be a whole number from 1 to 4096, got 5000"),
        ("algo.learner.gamma=2", "algo.learner.gamma must be a number from 0 to 1, got 2"),
        ("horizon=3", "set horizon=10"),
        ("plan.mode=test-v9", "no mode 'test-v9'"),
        ("stps=3", "has no key 'stps': did you mean 'steps'"),
    ],
)
def test_refused_in_one_sentence(asked, said, command_here, tmp_path):
    """Before anything is written."""
    done = command_here("train/agent.py", *TINY, asked, cwd=tmp_path)
    assert done.returncode == 1 and said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_agent_that_diverges_ends_in_a_sentence(command_here, tmp_path):
    """It was a traceback out of a distribution of torch."""
    done = command_here("train/agent.py", *TINY, "algo.learner.learning_rate=1e30", cwd=tmp_path)
    assert done.returncode == 1 and "lower algo.learner.learning_rate=" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "r/first/results.json").exists()


def test_measuring_in_between_may_be_asked_for_later(command_here, tmp_path):
    """The same command with evaluate.every= took the run up without a word, and evaluated nothing."""
    assert command_here("train/agent.py", *TINY, cwd=tmp_path).returncode == 0
    done = command_here("train/agent.py", *TINY, "evaluate.every=200", "evaluate.episodes=20", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "r/first/evaluations.csv").exists(), done.stderr
    assert OmegaConf.load(tmp_path / "r/first/config.yaml").evaluate.every == 200


def test_without_the_library(command_here, tmp_path, monkeypatch):
    """One sentence with the line that installs it."""
    import importlib.util

    find = importlib.util.find_spec
    without = lambda name, *rest: None if name == "stable_baselines3" else find(name, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", without)
    done = command_here("train/agent.py", *TINY, cwd=tmp_path)
    assert done.returncode == 1 and "pip install 'stable-baselines3" in done.stderr and not list(tmp_path.iterdir())


def test_somebody_elses_folder_is_left_alone(command_here, tmp_path):
    """Even when asked to overwrite."""
    (tmp_path / "r" / "first").mkdir(parents=True)
    (tmp_path / "r" / "first" / "x.txt").write_text("years of work")
    done = command_here("train/agent.py", *TINY, "overwrite=true", cwd=tmp_path)
    assert done.returncode == 1 and "holds something that is not a run" in done.stderr
    assert (tmp_path / "r" / "first" / "x.txt").exists()


def test_evaluated_between_segments(command_here, tmp_path):
    """At the ends of segments, a row of every horizon and their mean; the best archive is one of those that were evaluated."""
    done = command_here("train/agent.py", *TINY, "evaluate.every=200", "evaluate.episodes=20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = list(csv.DictReader((tmp_path / "r/first/evaluations.csv").open()))
    means = [(row["steps"], row["measure"]) for row in rows if "/" not in row["measure"]]
    assert means == [(s, m) for s in ("256", "512") for m in ("h1", "h5", "h10", "mean")]
    told = json.loads((tmp_path / "r/first/results.json").read_text())["evaluations"]
    assert [one["steps"] for one in told] == [256, 512] and all(low <= mean <= high for mean, low, high in [told[1]["h10"]])
    assert all(0 <= float(row["percent"]) <= 100 for row in rows)
    assert {path.name for path in (tmp_path / "r/first/checkpoints").iterdir()} == {"agent.zip", "best.zip"}


def test_the_protocol_is_that_of_planning(compose):
    """An agent and a planner are given the same tasks."""
    agent, planner = (OmegaConf.to_container(compose(command)) for command in ("agent", "plan"))
    assert all(planner[key] == value for key, value in agent["plan"].items())
