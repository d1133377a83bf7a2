"""Pairs of clips out of episode files: both versions of the same trials, from our worlds or from a published folder."""

import numpy as np
import pytest
from omegaconf import OmegaConf

import configs  # noqa: F401  what yaml alone cannot compute
from envs.problem import Problem
from eval.humans.pairs import Collected

SHORT = [f"env.splits.test{end}.{key}" for end in ("", "-surprising") for key in ("episodes=3", "length=3")]


@pytest.fixture
def short(compose, monkeypatch):
    """Collected trials of collision, three of them, four small frames each."""
    pytest.importorskip("pybullet")
    env = OmegaConf.to_container(compose("collect", "env=voe_collision", "env.world.size=16", *SHORT).env, resolve=True)
    monkeypatch.setattr(Collected, "_env", lambda self, category: env)
    return env


def test_versions_are_paired_by_their_trial(short, tmp_path):
    """Collected where missing; a trial that one file lacks is left out."""
    short["splits"]["test-surprising"]["episodes"] = 2
    pairs = Collected(tmp_path)("collision", "test")
    assert pairs.trial.tolist() == [4501, 4502] and {name[0] for name in pairs.subtype} == {"D"}
    assert pairs.expected.shape == pairs.surprising.shape == (2, 4, 16, 16, 3) and pairs.expected.dtype == np.uint8
    assert pairs.distances().tolist() == [0, 0]  # they are equal up to the violation


def test_files_without_a_common_trial_are_told(short, tmp_path):
    """Files of two segments."""
    short["splits"]["test-surprising"]["segment"] = "valid"
    with pytest.raises(Problem, match="have no trial in common"):
        Collected(tmp_path)("collision", "test")


def test_each_category_has_its_env(tmp_path):
    """Ours, or the published folder; the size of the pixels is passed on."""
    own = Collected(tmp_path, 224)._env("barrier")
    assert (own["name"], own["world"]["category"], own["world"]["size"]) == ("voe_barrier", "barrier", 224)
    theirs = Collected(tmp_path, published=tmp_path / "other's")._env("support")["world"]
    assert (theirs["category"], theirs["root"]) == ("support", str(tmp_path / "other's"))
