"""A run stopped between epochs and taken up again ends where the uninterrupted one ends."""

from pathlib import Path
from unittest.mock import MagicMock

import pytest
import torch
from omegaconf import OmegaConf

from eval.runs import freeze, load_config
from eval.runs.checkpoints import read_checkpoint
from models.world_model import WorldModel
from train.stages import wandb_logger

EPOCHS = 2
FEW = [  # batches an epoch as many as of the usual small run, each a quarter as large
    "env=physics3", "env.splits.train.episodes=5", "env.splits.valid.episodes=2", "loss.stages.0.batch_size=128",
]  # fmt: skip


# the first draws its negatives
@pytest.mark.parametrize("loss", ["contrastive", pytest.param("infonce", marks=pytest.mark.slow)])
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


def test_a_better_epoch_after_a_pause_is_kept(compose, small, train_in, tmp_path, monkeypatch):
    """In a folder as a user types it: where Lightning knew the best of before by another path,
    it removed the new one for it."""
    cfg = freeze(compose("fit", *small, *FEW, "loss=contrastive", f"loss.epochs.smoke={EPOCHS}"))
    monkeypatch.setattr(
        WorldModel,
        "validation_step",
        lambda self, *_: self.log("val/loss", torch.tensor(1.0 - self.current_epoch), batch_size=1),
    )
    monkeypatch.chdir(tmp_path)
    run = Path("runs") / "pause"
    assert train_in(cfg, run, tmp_path, (0, EPOCHS // 2)) is None
    resumed = train_in(cfg, run, tmp_path)
    best = read_checkpoint(run / "checkpoints" / "0-joint" / "best.ckpt")
    assert best["epoch"] == EPOCHS - 1 and all(
        torch.equal(best["state_dict"][name], weights) for name, weights in resumed.items()
    )


def test_gradients_are_clipped_where_it_is_asked(compose, small, train_in, tmp_path, monkeypatch):
    """By the key of a stage; without it they are much longer."""
    norms, step = [], torch.optim.AdamW.step

    def noted(self, closure):
        loss, every = closure(), [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        norms.append(torch.stack([grad.norm() for grad in every]).norm().item())
        return step(self, lambda: loss)

    monkeypatch.setattr(torch.optim.AdamW, "step", noted)
    for asked in ([], ["+loss.stages.0.gradient_clip=1e-6"]):
        norms.clear()
        cfg = freeze(compose("fit", *small, *FEW, "model=ae", "loss=contrastive", "env.observation=state", *asked))
        train_in(cfg, tmp_path / str(len(asked)), tmp_path)
        assert norms and all(norm <= 1.01e-6 if asked else norm > 1e-3 for norm in norms)


def test_what_decides_no_weight_may_be_named_anew(command_here, small, tmp_path):
    """The remedies data.stream=auto and data_dir= were advised, and the stored values were taken without a word."""
    asked = ["train/fit.py", *small, *FEW, "model=ae", "loss=contrastive", "env.observation=state", "name=run"]
    assert command_here(*asked, "data.stream=false", cwd=tmp_path).returncode == 0
    run, moved = tmp_path / "runs/run", tmp_path / "moved"
    before = OmegaConf.load(run / "config.yaml")
    (tmp_path / "data").rename(moved)
    done = command_here(*asked, "data.stream=auto", f"data_dir={moved}", cwd=tmp_path)
    assert done.returncode == 0 and not (tmp_path / "data").exists(), done.stderr
    told = OmegaConf.load(run / "config.yaml")
    assert (told.data.stream, told.data_dir) == ("auto", str(moved))
    moved.rename(tmp_path / "again")
    assert command_here("train/fit.py", "resume=runs/run", "data_dir=again", "logger=wandb", cwd=tmp_path).returncode == 0
    last = load_config(run)
    assert last.data_dir == str(tmp_path / "again") and last.logger.name == "wandb" and last.logger.group == "physics3"
    last.data_dir, last.data.stream, last.logger = before.data_dir, False, before.logger
    assert last == before
    done = command_here(*asked, "row=mine", "data_dir=again", cwd=tmp_path)
    assert done.returncode == 1 and "was begun as row None, got row=mine; leave row= out" in done.stderr


def test_stages_follow_one_another_on_the_mirror(compose, small, train_in, tmp_path, monkeypatch):
    """Each began at update 0, so that the curves of two stages lay on one another; and a run that goes on goes on there."""
    told = []
    mirror = MagicMock(log=lambda row: told.append(row["trainer/global_step"]))
    monkeypatch.setattr("train.stages.wandb_run", lambda *_: mirror)
    cfg = freeze(compose("fit", *small, *FEW, "loss=nll", "loss.epochs.smoke=2", "model=vae", "env.observation=state"))
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert train_in(cfg, whole, tmp_path, logger=wandb_logger(cfg, whole))
    once = told.copy()
    assert once == sorted(once) and len(set(once)) == 2 * len(cfg.loss.stages), "two epochs of each"
    told.clear()
    assert train_in(cfg, run, tmp_path, (1, 1), wandb_logger(cfg, run)) is None
    last = run / "checkpoints" / "0-reconstruction" / "last.ckpt"
    last.write_bytes(last.read_bytes()[:100])  # nobody needs the state of a stage that is finished
    assert 0 < len(told) < len(once) and train_in(cfg, run, tmp_path, logger=wandb_logger(cfg, run)) and told == once
