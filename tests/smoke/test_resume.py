"""A run stopped between epochs and taken up again ends where the uninterrupted one ends."""

import pytest
import torch

from eval.runs import freeze

EPOCHS = 2
FEW = [  # batches an epoch as many as of the usual small run, each a quarter as large
    "env=physics3", "env.splits.train.episodes=5", "env.splits.valid.episodes=2", "loss.stages.0.batch_size=128",
]  # fmt: skip


@pytest.mark.parametrize("loss", ["contrastive", pytest.param("infonce", marks=pytest.mark.slow)])  # the first draws its negatives
def test_one_and_one_epochs_are_two(loss, compose, small, train_in, tmp_path):
    """Same order, same negatives, same schedule: the weights are equal to the last bit."""
    cfg = freeze(compose("fit", *small, *FEW, f"loss={loss}", f"loss.epochs.smoke={EPOCHS}"))
    whole = train_in(cfg, tmp_path / "whole", tmp_path)
    assert train_in(cfg, tmp_path / "parts", tmp_path, (0, EPOCHS // 2)) is None
    assert (tmp_path / "parts" / "checkpoints" / "0-joint" / "last.ckpt").exists()
    resumed = train_in(cfg, tmp_path / "parts", tmp_path)
    assert resumed.keys() == whole.keys()
    different = [name for name in whole if not torch.equal(whole[name], resumed[name])]
    assert not different
