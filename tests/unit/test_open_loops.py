"""Surprise as a model tells it: open loops from every frame of a clip, with memory and without,
and what tracks are predicted in."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from eval.probes.violation import Asked, clips_of, moment_error
from models.encoders import Entities, FlatEncoder
from models.encoders.table import Tracks
from models.interfaces import Latent
from models.transitions.gnn import GNNTransition
from models.transitions.lstm import LSTM
from models.transitions.recurrent import RecurrentTransition
from models.transitions.tracks import TracksTransition
from models.world_model import WorldModel
from train.datamodule import Windows


class Itself(nn.Module):
    """A table of one row is its own latent."""

    def forward(self, obs):
        return Latent(obs)


class Velocity(nn.Module):
    """Goes on as it went: the memory holds the frame before."""

    def start(self, latent):
        return latent.flatten(1)

    def forward(self, latent, action):
        return latent

    def step(self, latent, action, memory):
        return 2 * latent - memory.view_as(latent), latent.flatten(1)


class Stays(nn.Module):
    def forward(self, latent, action):
        return latent


def line(*places):
    """Clips of one number."""
    return torch.tensor(places, dtype=torch.float32).view(1, -1, 1, 1)


def test_surprise_is_the_squared_error_of_every_prediction():
    """Without memory the last frame is all that is known; frames before the first prediction surprise nobody."""
    model = WorldModel(Itself(), Stays())
    assert model.surprise(line(0, 1, 3, 3, 7), context=1).tolist() == [[0, 1, 4, 0, 16]]
    assert model.surprise(line(0, 1, 3, 3, 7), context=3).tolist() == [[0, 0, 0, 0, 16]]
    assert model.surprise(line(0, 1, 3, 3, 7), context=1, horizon=3).tolist() == [[0, 0, 0, 9, 36]]


def test_memory_of_the_context_tells_the_velocity():
    """A body that goes on surprises nobody, one that stops does, and then does no more."""
    model = WorldModel(Itself(), Velocity())
    assert model.surprise(line(0, 2, 4, 6, 8, 8, 8), context=2).tolist() == [[0, 0, 0, 0, 0, 4, 0]]
    assert model.surprise(line(0, 2, 4, 6, 8, 8, 8), context=2, horizon=2).tolist() == [[0, 0, 0, 0, 0, 4, 16]]
    assert model.surprise(line(0, 2, 4, 6), context=1).tolist() == [[0, 4, 0, 0]]  # one frame tells no velocity


def test_a_prediction_with_memory_is_that_of_training():
    """One frame ahead, a transition with memory predicts as `predict_windows` does; later `rollout` goes on from `filter`."""
    torch.manual_seed(0)
    model = WorldModel(FlatEncoder(Entities(2, 3, "real"), 4, 16), RecurrentTransition(LSTM(8, 6), 2, 0, 4)).eval()
    obs, none = torch.randn(3, 7, 2, 3), torch.zeros(3, 6, 0)
    with torch.no_grad():
        latent = model.encode(obs.flatten(0, 1)).unflatten(0, (3, 7))
        windows = (model.predict_windows(latent, none) - latent[:, 1:]).pow(2).sum((2, 3))
        assert torch.allclose(model.surprise(obs, context=1)[:, 1:], windows, atol=1e-5)
        memory = model.filter(latent[:, :4], none[:, :3])
        far = (model.rollout(latent[:, 3], none[:, :2], memory)[:, -1] - latent[:, 5]).pow(2).sum((1, 2))
        assert torch.allclose(model.surprise(obs, none, context=4, horizon=2)[:, 5], far, atol=1e-5)


def test_several_horizons_are_those_of_one_each():
    """One open loop from every start serves all of them, with memory and without."""
    torch.manual_seed(0)
    for transition in (Velocity(), Stays(), RecurrentTransition(LSTM(8, 6), 2, 0, 3)):
        model, obs = WorldModel(Itself(), transition), torch.randn(3, 9, 2, 3)
        found = model.surprises(obs, context=3, horizons=(4, 1, 6))
        for curve, horizon in zip(found, (4, 1, 6)):
            assert torch.allclose(curve, model.surprise(obs, context=3, horizon=horizon), atol=1e-5)
            assert not curve[:, : 2 + horizon].any() and curve[:, 2 + horizon :].all()


def test_actions_between_frames_are_those_of_their_steps():
    """A body that does what it is told surprises nobody, however far ahead."""

    class Told(nn.Module):
        def forward(self, latent, action):
            return latent + action[:, None]

    action = torch.randn(2, 7, 1)
    obs = torch.cat([torch.zeros(2, 1, 1), action.cumsum(1)], 1)[:, :, None]
    found = WorldModel(Itself(), Told()).surprises(obs, action, context=2, horizons=(1, 3, 6))
    assert torch.allclose(found, torch.zeros(3, 2, 8), atol=1e-6)


@pytest.mark.parametrize("how", [{"context": 0}, {"horizon": 0}, {"context": 3, "horizon": 3}])
def test_a_clip_too_short_is_told(how):
    with pytest.raises(ValueError, match="a clip of 5 frames is too short for context="):
        WorldModel(Itself(), Stays()).surprise(line(0, 1, 3, 3, 7), **how)


def test_the_normalisation_knows_how_episodes_end():
    """Only the first frames of windows were looked at: of windows of 12 none of the last 12, in which objects fall."""
    net = WorldModel(Tracks((1, 1)), Stays())
    rows, windows = (
        torch.tensor([0.0, 0, 0, 8]).view(4, 1, 1),
        SimpleNamespace(starts=torch.tensor([0, 1]), steps=torch.arange(3)),
    )
    net.fit_normalisation(SimpleNamespace(rows=Windows.rows.fget(windows), frames=lambda index: rows[index]))
    assert net.encoder.normal.mean.item() == 2 and net.encoder.normal.spread.item() == pytest.approx(12**0.5)


def test_tracks_are_predicted_in_single_precision_under_autocast():
    """Open loops of bfloat16 drift."""
    torch.manual_seed(0)
    net, rows, none = TracksTransition(3, 0, 7, 16, owners=1), torch.randn(5, 3, 7), torch.zeros(5, 0)
    with torch.no_grad():
        plain, every = net(rows, none), net.all_actions(rows, none[:1])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(net(rows, none), plain) and torch.equal(net.all_actions(rows, none[:1]), every)
            assert not torch.allclose(GNNTransition.forward(net, rows, none), plain, atol=1e-6)


def test_surprise_peaks_where_the_square_stops_that_should_pass(square_clips, toy_configs):
    """Of a model that knows that bodies go on as they went."""
    import yaml
    from envs.square_clips import SquareClips

    from envs.collect import collect

    env, world = yaml.safe_load((toy_configs / "env/square_clips.yaml").read_text()), SquareClips("objects")
    run = SimpleNamespace(model=WorldModel(Itself(), Velocity()), world=world)
    found = clips_of(run, collect(env, world, "test-surprising", square_clips, quiet=True), Asked(context=11))
    assert found.curve.shape == (40, 1, 32)  # of one horizon
    found = found._replace(curve=found.curve[:, 0])
    stops = found.posterior[:, 8] == 0
    assert stops.sum() > 10 and (moment_error(found.take(stops), 0) <= 1).all()
    assert not found.curve[:, :11].any()
