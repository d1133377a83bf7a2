"""A run stopped between epochs and taken up again ends where the uninterrupted one ends."""

import pytest
import torch
from hydra.utils import instantiate

from envs.collect import collect
from eval.runs import freeze
from train.callbacks import SeedEpochs
from train.datamodule import EpisodeData
from train.stages import train_stages

EPOCHS = 4


def train(cfg, folder, data, stop_at=None, monkeypatch=None):
    """Train in `folder`; stop_at: break off when this epoch begins."""
    from omegaconf import OmegaConf
    from pytorch_lightning import seed_everything

    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    world = instantiate(cfg.env.world)
    env = OmegaConf.to_container(cfg.env)
    files = [collect(env, world, split, data, quiet=True) for split in ("train", "valid")]
    seed_everything(cfg.seed, workers=False, verbose=False)
    model = instantiate(cfg.model.module)
    begin = SeedEpochs.on_train_epoch_start

    class Stop(Exception):
        pass

    def breaking(self, trainer, module):
        if trainer.current_epoch == stop_at:
            raise Stop
        begin(self, trainer, module)

    with monkeypatch.context() as patch:
        patch.setattr(SeedEpochs, "on_train_epoch_start", breaking)
        try:
            train_stages(cfg, model, EpisodeData(*files, world.spec, cfg.seed), folder, None)
        except Stop:
            return None
    return torch.load(folder / "checkpoints" / "model.ckpt", weights_only=True)["state_dict"]


@pytest.mark.parametrize("loss", ["infonce", "contrastive"])
def test_two_and_two_epochs_are_four(loss, compose, small, tmp_path, monkeypatch):
    """Same order, same negatives, same schedule: the weights are equal to the last bit."""
    cfg = freeze(compose("fit", *small, f"loss={loss}", "env=physics3", f"loss.epochs.smoke={EPOCHS}"))
    whole = train(cfg, tmp_path / "whole", tmp_path, None, monkeypatch)
    assert train(cfg, tmp_path / "parts", tmp_path, EPOCHS // 2, monkeypatch) is None
    assert (tmp_path / "parts" / "checkpoints" / "0-joint" / "last.ckpt").exists()
    resumed = train(cfg, tmp_path / "parts", tmp_path, None, monkeypatch)
    assert resumed.keys() == whole.keys()
    different = [name for name in whole if not torch.equal(whole[name], resumed[name])]
    assert not different
