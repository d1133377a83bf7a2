"""Tree variants: one training serves them all, since only the trees and the comparison differ."""

import json
from types import SimpleNamespace

import pytest
import torch
from omegaconf import OmegaConf

from envs.problem import Problem
from eval.probes.tree_variants import with_trees
from eval.probes.violation import labels_of
from eval.runs import Run

FIT = ["env=square_clips", "trainer=smoke", "logger=csv", "score.horizons=[1]", "loss=labels", "model.width=16",
       "model.channels=2", "model.frames=4", "loss.epochs.smoke=1"]  # fmt: skip


def test_a_variant_is_scored_without_training(square_clips, command_here):
    done = command_here("train/fit.py", *FIT, "model=ofpr", "name=own", cwd=square_clips)
    assert done.returncode == 0, done.stderr[-2000:]
    folder = square_clips / "runs/own"
    before = (folder / "results.json").read_text()
    _differs_in_its_trees_alone(Run.open(folder))
    done = command_here("eval/surprise.py", f"run={folder}", "trees=direct", "posterior_speeds=false", cwd=square_clips)
    assert done.returncode == 0, done.stderr[-2000:]
    kept = json.loads((folder / "surprise-trees-direct-posterior_speeds-false.json").read_text())
    assert kept["violation"]["variant"] == {"trees": "direct", "posterior_speeds": False}
    assert "voe/hit_rate" in kept["metrics"] and (folder / "results.json").read_text() == before
    done = command_here("eval/surprise.py", f"run={folder}", "trees=crooked", cwd=square_clips)
    assert done.returncode == 1 and "trees must be combined, normal or direct" in done.stderr


def _differs_in_its_trees_alone(run):
    other = with_trees(run, {"trees": "direct", "posterior_speeds": False})
    rules = other.model.rules
    assert rules.variant == "direct" and rules.hidden == [6, 7, 10, 11] and run.model.rules.variant == "combined"
    for name, weight in run.model.state_dict().items():
        assert name.startswith("rules.") or torch.equal(weight, other.model.state_dict()[name])
    features, posterior = map(torch.from_numpy, labels_of(run.file("train"), "label_features", "label_posterior"))
    assert torch.equal(rules(features)[1], posterior.long())  # fitted to these
    with pytest.raises(Problem, match="asks for a model with trees, and run 'of' is of"):
        with_trees(
            SimpleNamespace(config=OmegaConf.create({"name": "of", "model": {"name": "of", "module": {}}})),
            {"trees": "direct"},
        )
