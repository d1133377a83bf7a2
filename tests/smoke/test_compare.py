"""docs/compare.md: a model that is no run of ours is scored, and boards are stepped, as the page says."""

import re

import pytest
import torch

from envs.collect import collect
from envs.physics import PhysicsWorld
from envs.problem import Problem
from eval.score import score_model


def test_the_snippets_of_the_page_run(root, tmp_path, monkeypatch, capsys):
    """In a small world. Who predicts the start has the scores of the floor."""
    monkeypatch.chdir(tmp_path)
    scoring, acting = re.findall(r"```python\n(.*?)```", (root / "docs/compare.md").read_text(), re.S)
    small = scoring.replace('["env=physics5"]', '["env=physics3", "env.splits.test.episodes=60"]')
    assert small != scoring
    exec(small, {})
    printed = dict(
        line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines() if re.match(r"(test|floor)/\S+ +[\d.]+$", line)
    )
    for score in ("hits@1/h10", "mrr/h1", "cf_hits@1/mean/h10"):
        assert printed[f"test/{score}"] == printed[f"floor/copy/{score}"]
    assert float(printed["test/cf_hits@1/mean/h1"]) == 33.33 and len(list((tmp_path / "data").glob("physics3-test-*.h5"))) == 1
    names = {}
    exec(acting, names)
    assert names["frames"].shape == (8, 50, 50, 3) == names["info"]["goal"].shape


def test_a_foreign_module_is_asked_in_eval_mode_and_for_what_it_has(tmp_path):
    """Batch statistics of whatever is asked together would decide its latents, and scoring would move them."""
    world = PhysicsWorld(3, observation="state")
    file = collect({"name": "physics3",
                    "splits": {"test": {"episodes": 20, "length": 2, "seed": 1, "mode": "train", "drop_invalid": False}}},
                   world, "test", tmp_path, quiet=True)  # fmt: skip

    class Yours(torch.nn.Module):
        device = "cpu"

        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)

        def encode(self, obs):
            return self.norm(obs.float())

        def rollout(self, latent, actions):
            return latent[:, None].expand(-1, actions.shape[1], -1, -1)

    model = Yours()
    before = model.norm.running_mean.clone()
    found = score_model(model, world, file, ["ranking_pool"], horizons=[1], episodes=20)
    assert found["test/hits@1/h1"] == found["floor/copy/hits@1/h1"] and torch.equal(model.norm.running_mean, before)
    with pytest.raises(Problem, match="score_model asks ranking_pool, counterfactual, reference_rule, got 'readout'"):
        score_model(model, world, file, ["readout"])
