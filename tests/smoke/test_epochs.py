"""What an epoch is: noise and an order of its own, and the weights of the best one stay."""

import pytest
import torch

from eval.runs import freeze
from eval.runs.checkpoints import read_checkpoint
from models.world_model import WorldModel
from train.callbacks import BestWeights


@pytest.fixture(scope="module")
def two_epochs(compose, small):
    few = ["env=physics3", "env.splits.train.episodes=4", "env.splits.valid.episodes=4", "loss.epochs.smoke=2"]
    return freeze(compose("fit", *small, *few, "loss=contrastive"))


def test_every_epoch_has_its_own_order_and_noise(two_epochs, train_in, tmp_path, monkeypatch):
    """Epochs with one order of windows, or with one set of random negatives, once passed every test."""
    seen, step = [], WorldModel.training_step

    def watched(self, batch, index):
        seen.append((batch.obs_id.clone(), torch.get_rng_state()))
        return step(self, batch, index)

    monkeypatch.setattr(WorldModel, "training_step", watched)
    assert train_in(two_epochs, tmp_path / "run", tmp_path) is not None
    (order, noise), (another_order, another_noise) = seen
    assert not torch.equal(order, another_order)
    assert not torch.equal(noise, another_noise)


def test_the_weights_of_the_best_epoch_stay(two_epochs, train_in, tmp_path, monkeypatch):
    """The last weights in place of the best once passed every test; here the second of two epochs is worse. The state to resume
    from was once that of the best epoch."""
    seen, keep = [], BestWeights.on_validation_end

    def validated(self, batch, _):
        self.log("val/loss", torch.tensor(1.0 + self.current_epoch), on_epoch=True, batch_size=1)

    def kept(self, trainer, model):
        seen.append({name: weights.clone() for name, weights in model.state_dict().items()})
        keep(self, trainer, model)

    monkeypatch.setattr(WorldModel, "validation_step", validated)
    monkeypatch.setattr(BestWeights, "on_validation_end", kept)
    weights = train_in(two_epochs, tmp_path / "run", tmp_path)
    best, last = seen
    assert any(not torch.equal(best[name], last[name]) for name in weights)
    assert [name for name in weights if not torch.equal(weights[name], best[name])] == []
    state = read_checkpoint(tmp_path / "run" / "checkpoints" / "0-joint" / "last.ckpt")
    assert state["epoch"] == 1 and [name for name in weights if not torch.equal(state["state_dict"][name], last[name])] == []
