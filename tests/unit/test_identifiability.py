"""Slots that hold one object each, slots that hold them all, and numbers that say nothing."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from eval.probes.identifiability import alone, identifiability, matched, reads
from eval.probes.readout import Frames


@pytest.fixture
def objects():
    """(M, 3, 4) one-hot."""
    generator = torch.Generator().manual_seed(0)
    return torch.eye(4)[torch.randint(0, 4, (2000, 3), generator=generator)]


def test_slots_are_matched_whatever_their_order(objects):
    torch.manual_seed(0)
    latent = (objects @ torch.randn(4, 6))[:, [2, 0, 1]]
    score, correlation = reads(latent, objects, 1000)
    slots, found = matched(score.numpy())
    assert found[np.argsort(slots)].tolist() == [2, 0, 1]
    own = score[slots, found]
    assert own.min() > 0.98 and correlation[slots, found].min() > 0.98 and score.sum() - own.sum() < 0.05
    assert alone(score.numpy()) > 0.95 and alone(score.numpy().T) > 0.95


def test_slots_that_hold_everything_are_not_alone(objects):
    torch.manual_seed(0)
    everything = (objects.flatten(1) @ torch.randn(12, 16))[:, None].expand(-1, 3, -1)
    score, _ = reads(everything, objects, 1000)
    assert score.min() > 0.95 and alone(score.numpy()) < 0.01 and alone(score.numpy().T) < 0.01


def test_numbers_that_say_nothing_score_nothing(objects):
    torch.manual_seed(0)
    score, correlation = reads(torch.randn(2000, 3, 5), objects, 1000)
    assert score.max() < 0.02 and correlation.abs().max() < 0.1
    constant, _ = reads(torch.ones(2000, 3, 5), objects, 1000)
    assert constant.max() == 0


def test_entropy_is_of_each_row():
    assert alone(np.eye(3)) == pytest.approx(1) and alone(np.ones((3, 3))) == pytest.approx(0)
    assert alone(np.zeros((3, 3))) == 0 and alone(np.ones((3, 1))) == 0
    assert alone(np.array([[1.0, 1.0, 0.0]])) == pytest.approx(1 - np.log(2) / np.log(3))


@pytest.mark.parametrize("slots, share", [([0, 1, 2], 100.0), ([0, 2, 1], 100 / 3), ([2, 0, 1], 0.0)])
def test_a_slot_may_have_the_number_of_its_object(objects, monkeypatch, slots, share):
    torch.manual_seed(0)
    latent = (objects @ torch.randn(4, 6))[:, slots]
    colours = objects.argmax(-1, keepdim=True).numpy()  # (M, 3, 1)
    monkeypatch.setattr(
        "eval.probes.identifiability.frames_of", lambda *_: Frames(latent, colours, np.arange(len(latent)) // 10)
    )
    run, data = SimpleNamespace(world=SimpleNamespace(factor_sizes=(4,))), SimpleNamespace(data_dir=None, say=lambda _: None)
    found = identifiability(run, data)
    assert found["identifiability/numbered"] == pytest.approx(share) and found["identifiability/own"] > 98


def test_to_know_the_episode_is_not_to_know_what_stays_in_it(monkeypatch):
    """Halves of frames would share every episode: latents that name it alone would tell of weights all there is to tell."""
    torch.manual_seed(0)
    episode = np.arange(2000) // 20
    names = torch.nn.functional.one_hot(torch.from_numpy(episode), 100).float()
    latent = torch.stack([names, names], 1) + 0.01 * torch.randn(2000, 2, 100)
    weights = np.random.default_rng(0).integers(4, size=(100, 2, 1))[episode]
    asked = []
    monkeypatch.setattr(
        "eval.probes.identifiability.frames_of", lambda run, split, _: asked.append(split) or Frames(latent, weights, episode)
    )
    run, data = SimpleNamespace(world=SimpleNamespace(factor_sizes=(4,))), SimpleNamespace(data_dir=None, say=lambda _: None)
    found = identifiability(run, data)
    assert asked == ["valid"] and found["identifiability/whole"] < 5 and found["identifiability/own"] < 5
    both = torch.from_numpy(np.random.default_rng(1).permutation(2000))
    target = torch.nn.functional.one_hot(torch.from_numpy(weights[..., 0]), 4).float()
    assert reads(latent.flatten(1)[both, None], target[both], 1000)[0].min() > 0.9  # the trap that is avoided
