"""From a finished run to the share of goals it reaches, as a user types it."""

import json

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from envs.collect import collect
from envs.physics import PhysicsWorld
from eval.planning.goal_distance import Pairs, fit_distance
from eval.planning.kept import asked_of, keep

EVERY = "planners=[model_closed,model_open,simulator,beam,untrained]"
FEW = ["episodes=20", "horizons=[1,2]", "reward_steps=20", "beam.width=2", "beam.depth=2"]


@pytest.fixture(scope="module")
def run(tmp_path_factory, fitted_here, small):
    """A finished small run on chemistry, where everything plan.py prints has a row."""
    here = tmp_path_factory.mktemp("elsewhere")
    fitted_here(
        *small, "model=lstm", "model.size=patch", "loss=memory", "env=chemistry_chain5", "name=first",
        "data_dir=d", "runs_dir=r", "score.structure=false", cwd=here,
    )  # fmt: skip
    return here


def read(run):
    return json.loads((run / "r" / "first" / "results.json").read_text())


def test_another_protocol_gets_another_file(run, command_here):
    """Every planner and floor has its row; the run's own results stay as they were."""
    before = read(run)
    done = command_here("eval/plan.py", "run=r/first", EVERY, *FEW, cwd=run)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "  model_closed, 1 step, " in done.stderr and "  painter, 2 steps, " in done.stderr
    said = " ".join(done.stdout.split())
    for words in (
        "open loop", "beam search", "untrained encoder", "replay", "doing nothing", "20 fresh episodes", "held-out error"
    ):
        assert words in said
    assert read(run) == before
    (path,) = (run / "r" / "first").glob("plan-*.json")
    plans = json.loads(path.read_text())["metrics"]
    for name in ("success", "success/model_open", "success/beam", "success/simulator", "success/untrained", "true/greedy",
                 "true/replay", "floor/random", "floor/noop"):  # fmt: skip
        assert all(0 <= plans[f"plan/{name}/{h}"] <= 100 for h in ("h1", "h2"))
    assert plans["plan/floor/noop/h1"] == 0  # goals differ from the start


def test_plans_add_up_and_survive_scoring(run, command_here, compose):
    """The usual protocol goes into results.json: planner by planner, nothing else touched, kept when scored again."""
    folder, before = run / "r" / "first", read(run)
    usual = asked_of(OmegaConf.to_container(compose("plan")))
    keep(folder, {**usual, "planners": ["beam"]}, {"plan/success/beam/h1": 50.0}, {"beam_s/h1": 1.0})
    keep(folder, {**usual, "planners": ["model_open"]}, {"plan/success/model_open/h1": 25.0}, {})
    after = read(run)
    assert before["metrics"].items() <= after["metrics"].items()
    assert after["plan"]["planners"] == ["model_open", "beam"] and after["plan"]["timing"] == {"beam_s/h1": 1.0}
    assert command_here("eval/score.py", "run=r/first", cwd=run).returncode == 0
    again = read(run)
    assert again["plan"] == after["plan"] and again["metrics"]["plan/success/beam/h1"] == 50.0


@pytest.mark.parametrize(
    "asked, said",
    [
        ("planners=[bean]", "there is no planner 'bean': did you mean 'beam'"),
        ("reward=flut", "there is no reward=flut: did you mean 'flat'"),
        ("tasks=owm", "there is no tasks=owm: did you mean 'own'"),
        ("tasks=own", "have no goals of their own; set tasks=walk"),
        ("reward=blocks", "reward=blocks reads blocks off a table, and models of ChemistryWorld are shown pixels"),
        ("beam.width=0", "beam.width must be a whole number >= 1, got 0"),
        ("planners=beam", "planners must be a list"),
        ("episodes=null", "episodes must be a whole number >= 2, got null"),
        ("mode=test-v9", "chemistry has no mode 'test-v9'"),
    ],
)
def test_refused_in_one_sentence(asked, said, run, command_here):
    """And the results stay as they were."""
    before = read(run)
    done = command_here("eval/plan.py", "run=r/first", *FEW, asked, cwd=run)
    assert done.returncode == 1 and said in " ".join(done.stderr.split())
    assert read(run) == before


def test_distances_are_learned(tmp_path):
    """On factors both predictors come far below the best constant, on episodes they never saw."""

    class Mirror:
        device = "cpu"

        def encode(self, obs):
            return obs.float()

    world = PhysicsWorld(3, observation="state")
    splits = {
        name: {"episodes": 200, "length": 20, "seed": seed, "mode": "train"} for name, seed in (("train", 1), ("valid", 2))
    }
    env = {"name": "physics3", "drop_invalid": True, "splits": splits}
    train, valid = (Pairs(Mirror(), world, collect(env, world, s, tmp_path, quiet=True), 12, False) for s in splits)
    far = valid.draw(4096, np.random.default_rng(0))[2]
    constant = (far - far.median()).abs().mean().item()
    for kind in ("siamese", "flat"):
        head, error = fit_distance(kind, train, valid, 120, 3e-3, seed=0)
        assert error < 0.5 * constant and not any(p.requires_grad for p in head.parameters())
    few = collect({**env, "splits": {"train": {**splits["train"], "episodes": 2}}}, world, "train", tmp_path, quiet=True)
    learned = Pairs(Mirror(), world, few, 12, False)
    assert (
        fit_distance("flat", learned, valid, 80, 3e-3, seed=0)[1]
        > 2 * fit_distance("flat", learned, learned, 80, 3e-3, seed=0)[1]
    ), "held out"
    latent, goal, distance = Pairs.draw(train, 64, np.random.default_rng(1))
    np.testing.assert_array_equal((latent == goal).all((1, 2)).numpy(), (distance == 0).numpy())
    ahead = Pairs(Mirror(), world, few, 12, True)
    ahead.latent = torch.arange(42).float()[:, None, None]  # each frame its number
    first, second, _ = ahead.draw(500, np.random.default_rng(1))
    assert torch.equal(second % 21, (first % 21 + 12).clamp(max=20)) and torch.equal(first // 21, second // 21), (
        "twelve steps on, or the last"
    )
