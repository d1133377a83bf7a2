"""By hand, in a notebook: what does not fit is told in a sentence with the function to use."""

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

from eval.rollouts import actions_of, encode_frames, rollout
from eval.runs import freeze


@pytest.fixture(scope="module")
def model(compose):
    return instantiate(freeze(compose("fit", "env=physics3", "model.width=4")).model.module).eval()


def test_frames_as_files_hold_them_are_told(model):
    """Such frames once ended in "shape '[1, 5, 10, 0, 10, 50]' is invalid"."""
    frames = np.zeros((2, 50, 50, 3), np.uint8)
    with pytest.raises(ValueError, match=r"frames must be .* got \(2, 50, 50, 3\) .* use eval.rollouts.encode_frames"):
        model.encode(torch.from_numpy(frames))
    assert encode_frames(model, frames).shape == (2, 3, 4)


def test_actions_as_files_hold_them_are_told(model, compose):
    """Whole numbers once ended in an error about sizes."""
    spec = instantiate(compose("fit", "env=physics3").env.world).spec
    latent, action = torch.zeros(2, 3, 4), np.array([[0, 14], [3, 7]])
    with pytest.raises(ValueError, match="floats .* got torch.int64 of shape .* use eval.rollouts.actions_of"):
        model.rollout(latent, torch.from_numpy(action))
    assert rollout(model, latent, actions_of(action, spec)).shape == latent.shape


def test_a_model_without_a_decoder_says_so(model):
    """The default loss trains none; the error was "'NoneType' object is not callable"."""
    with pytest.raises(ValueError, match="this model has no decoder, its loss trains none; use a run with loss=nll"):
        model.decode(torch.zeros(1, 3, 4))
