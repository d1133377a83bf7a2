"""Does it learn, resume in every stage, and reproduce?"""

import json

import pytest
import torch

from eval.runs import freeze

pytestmark = pytest.mark.slow


def differing(a, b):
    assert a.keys() == b.keys()
    return [name for name in a if not torch.equal(a[name], b[name])]


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_likelihood_resumes_in_every_stage(stage, compose, small, train_in, tmp_path):
    """2 + 2 epochs equal 4 epochs to the last bit, whichever of the three stages was broken off."""
    cfg = freeze(compose("fit", *small, "model=vae", "loss=nll", "env=physics3", "loss.epochs.smoke=4"))
    whole = train_in(cfg, tmp_path / "whole", tmp_path)
    assert train_in(cfg, tmp_path / "parts", tmp_path, (stage, 2)) is None
    assert not differing(whole, train_in(cfg, tmp_path / "parts", tmp_path))


@pytest.mark.parametrize("model", ["modular", "gnn", "edge"])
def test_same_seed_same_weights(model, compose, small, train_in, tmp_path):
    """Twice the same seed: equal weights. Another seed: other weights."""
    def weights(seed, name):
        cfg = freeze(compose("fit", *small, f"model={model}", "env=physics3", "loss.epochs.smoke=2", f"seed={seed}"))
        return train_in(cfg, tmp_path / name, tmp_path)

    first = weights(0, "a")
    assert not differing(first, weights(0, "b"))
    assert differing(first, weights(1, "c"))


def test_short_run_beats_the_copy_floor(command, small, tmp_path):
    """A few epochs on 200 episodes predict one step better than 'nothing happens'."""
    done = command(
        "train/fit.py", *small, "env=physics3", "env.splits.train.episodes=200", "env.splits.test.episodes=1000",
        "loss.epochs.smoke=8", "name=run", "data_dir=d", "runs_dir=r", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    metrics = json.loads((tmp_path / "r" / "run" / "results.json").read_text())["metrics"]
    assert metrics["test/hits@1/h1"] > metrics["floor/copy/hits@1/h1"]
    assert metrics["test/latent_spread"] > 0


def test_an_agent_reaches_goals(command, tmp_path):
    """Half a minute of PPO on factors: a goal one action away is reached as often as that one action brings it about."""
    pytest.importorskip("stable_baselines3")
    done = command(
        "train/agent.py",
        "env=chemistry_chain5",
        "env.observation=state",
        "steps=150000",
        "name=run",
        "runs_dir=r",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    metrics = json.loads((tmp_path / "r" / "run" / "results.json").read_text())["metrics"]
    assert metrics["plan/success/h1"] > 55 and metrics["plan/success/h10"] > 40
    assert metrics["plan/floor/random/h1"] < 10
