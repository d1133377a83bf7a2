"""Checkpoints on the disk: written whole in their own folder, compared with their digests, gone back from when damaged."""

import errno
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
import torch

from envs.problem import Problem
from envs.whole_files import FORGOTTEN
from eval.runs import freeze
from eval.runs.checkpoints import read_checkpoint, write_checkpoint
from train.callbacks import COLUMNS, seconds_of
from train.checkpoint_files import clear_parts, drop_damaged, state_to_resume
from train.metrics_csv import add_rows, whole_rows

EPOCHS = 4


def flip(path):
    """The high exponent bit of 10,000 floats in the middle, as a bad disk might."""
    held = bytearray(path.read_bytes())
    middle = len(held) // 2 // 4 * 4
    for place in range(middle + 3, min(middle + 40_003, len(held)), 4):
        held[place] ^= 0x40
    path.write_bytes(held)


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def strip(path):
    """A checkpoint of weights alone, readable and of no use to go on from."""
    torch.save({"state_dict": read_checkpoint(path)["state_dict"]}, path)


DAMAGE = {
    "last cut": (lambda w: halve(w / "last.ckpt"), "last.ckpt is not a readable checkpoint", "goes on from its best state"),
    "last empty": (lambda w: (w / "last.ckpt").write_bytes(b""), "last.ckpt", "goes on from its best state"),
    "last flipped": (lambda w: flip(w / "last.ckpt"), "last.ckpt is damaged", "goes on from its best state"),
    "last weights alone": (lambda w: strip(w / "last.ckpt"), "last.ckpt lacks callbacks", "goes on from its best state"),
    "best flipped": (lambda w: flip(w / "best.ckpt"), "best.ckpt is damaged", "begins again from the first weights"),
    "best missing": (lambda w: (w / "best.ckpt").unlink(), "best.ckpt does not exist", "begins again from the first weights"),
    "both cut": (lambda w: [halve(w / n) for n in ("last.ckpt", "best.ckpt")], "best.ckpt", "begins again"),
}  # fmt: skip


def test_damage_costs_epochs_and_no_stage(compose, small, train_in, tmp_path, capsys):
    """Seen: a cut last.ckpt ended the stage beside an intact best.ckpt; flipped bits in best.ckpt were used without a word."""
    few = "env.splits.train.episodes=5", f"loss.epochs.smoke={EPOCHS}"
    cfg = freeze(compose("fit", *small, "model=edge", "env=physics3", *few))
    whole, broken = train_in(cfg, tmp_path / "whole", tmp_path), tmp_path / "broken"
    working = broken / "checkpoints" / "0-joint"
    assert train_in(cfg, broken, tmp_path, (0, 2)) is None
    older = (working / "best.ckpt").read_bytes()
    assert train_in(cfg, broken, tmp_path, (0, 3)) is None
    (working / "best.ckpt").write_bytes(older)  # as if the third epoch had been worse
    for number, (name, (damage, fault, way)) in enumerate(DAMAGE.items()):
        here = tmp_path / f"{number}"
        shutil.copytree(broken, here)
        damage(here / "checkpoints" / "0-joint")
        capsys.readouterr()
        drop_damaged(here, cfg)
        told = capsys.readouterr().err
        assert fault in told and way in told and len(told.splitlines()) == 1, (name, told)
        left = state_to_resume(here / "checkpoints" / "0-joint")
        assert left is None if "begins again" in way else left.name == "best.ckpt", name
        if name in ("last cut", "best flipped"):
            resumed = train_in(cfg, here, tmp_path)
            assert [key for key in whole if not torch.equal(whole[key], resumed[key])] == [], name
    (tmp_path / "whole" / "checkpoints" / "0-joint.ckpt").write_bytes(b"")
    drop_damaged(tmp_path / "whole", cfg)
    assert "0-joint.ckpt is not a readable checkpoint" in (told := capsys.readouterr().err) and "makes it anew" in told
    again = train_in(cfg, tmp_path / "whole", tmp_path)
    assert all(torch.equal(whole[key], again[key]) for key in whole)


def test_training_needs_no_temporary_folder(compose, small, train_in, tmp_path, monkeypatch):
    """A checkpoint that goes through another file system is copied over the only one: a kill in the copy lost the stage."""
    cfg = freeze(compose("fit", *small, "model=edge", "env=physics3", "env.splits.train.episodes=5"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert train_in(cfg, tmp_path / "run", tmp_path)
    working = tmp_path / "run" / "checkpoints" / "0-joint"
    assert sorted(path.name for path in working.iterdir()) == ["best.ckpt", "last.ckpt"]


def test_a_full_disk_leaves_the_checkpoint_of_before(tmp_path, monkeypatch):
    """And says which file could not be written; the part does not keep the room."""
    path, write = tmp_path / "last.ckpt", Path.write_bytes
    write_checkpoint({"state_dict": {"a": torch.ones(3)}}, path)

    def full(self, content):
        write(self, bytes(content)[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as error:
        write_checkpoint({"state_dict": {"a": torch.zeros(3)}}, path)
    assert error.value.filename == str(path) and [p.name for p in tmp_path.iterdir()] == ["last.ckpt"]
    assert read_checkpoint(path)["state_dict"]["a"].tolist() == [1, 1, 1]


def test_every_bit_of_a_state_is_compared(tmp_path):
    """Of the optimizer and the loops as of the weights; 200 places, a bit each. Padding between records says nothing."""
    many = torch.arange(2000.0)
    state = {"state_dict": {"w": many}, "optimizer_states": [{"m": many + 1}], "loops": {"epoch": 7}}
    path = tmp_path / "last.ckpt"
    write_checkpoint(state, path)
    intact, told = path.read_bytes(), 0
    for place in range(0, len(intact), len(intact) // 200):
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 16]) + intact[place + 1 :])
        try:
            found = read_checkpoint(path)
        except Problem:
            told += 1
            continue
        assert torch.equal(found["state_dict"]["w"], state["state_dict"]["w"]) and found["loops"] == state["loops"]
        assert torch.equal(found["optimizer_states"][0]["m"], state["optimizer_states"][0]["m"])
    assert told > 150


@pytest.mark.parametrize(
    "fault", [OSError(errno.EMFILE, "Too many open files"), OSError(errno.EIO, "I/O error"), MemoryError()]
)
def test_a_passing_fault_costs_no_checkpoint(fault, tmp_path, monkeypatch, compose):
    """Seen: a resume under a low limit of open files removed intact checkpoints of a finished stage."""
    path = tmp_path / "checkpoints" / "0-joint.ckpt"
    path.parent.mkdir()
    write_checkpoint({"state_dict": {"a": torch.ones(3)}}, path)
    intact = path.read_bytes()

    def fails(*_, **__):
        raise fault

    monkeypatch.setattr("eval.runs.checkpoints.torch.load", fails)
    with pytest.raises(type(fault)) as told:
        drop_damaged(tmp_path, compose("fit"))
    assert getattr(told.value, "filename", str(path)) == str(path)
    assert path.read_bytes() == intact and [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_damaged_checkpoint_is_kept_under_another_name(tmp_path, compose, capsys):
    """What this machine cannot read another may."""
    path = tmp_path / "checkpoints" / "0-joint.ckpt"
    path.parent.mkdir()
    path.write_bytes(b"half a file")
    drop_damaged(tmp_path, compose("fit"))
    assert "kept as *.damaged" in capsys.readouterr().err and not path.exists()
    assert (path.parent / "0-joint.ckpt.damaged").read_bytes() == b"half a file"


def test_parts_of_killed_writers_are_cleared(tmp_path):
    """In the folder and its checkpoints; what lies elsewhere in it is not ours to clear, nor what scoring writes just now."""
    (tmp_path / "checkpoints" / "0-joint").mkdir(parents=True)
    (tmp_path / "wandb").mkdir()
    for place in ("checkpoints", "checkpoints/0-joint", "wandb"):
        (tmp_path / place / "x.part").write_text("")
    for name in ("config.part", "metrics.csv.1-1.part", "results.json.1-1.part", "results.json.2-2.part"):
        (tmp_path / name).write_text("")
    os.utime(tmp_path / "results.json.1-1.part", 2 * (time.time() - 2 * FORGOTTEN,))
    clear_parts(tmp_path)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.part")) == ["results.json.2-2.part", "wandb/x.part"]


def test_a_part_that_is_a_link_to_nothing_is_not_written_through(tmp_path):
    """Seen: a dangling link in a stranger's run stayed, and the next checkpoint made the file it pointed to."""
    (tmp_path / "checkpoints").mkdir()
    for part in (tmp_path / "config.part", tmp_path / "checkpoints" / "model.ckpt.part", tmp_path / "results.json.1-1.part"):
        part.symlink_to(tmp_path / "elsewhere")
    clear_parts(tmp_path)
    assert not [p for p in tmp_path.rglob("*.part") if p.is_symlink()]


HEADER = "stage,epoch,metric,value\n"


@pytest.mark.parametrize("left", [None, "", "stage,ep", HEADER, HEADER + "j,0,seconds,1.5\nj,1,sec"])
def test_metrics_that_a_kill_cut_off_go_on(left, tmp_path):
    """Seen: an empty metrics.csv let the training run to its end and then fail, each time anew."""
    path = tmp_path / "metrics.csv"
    if left is not None:
        path.write_text(left)
    whole = 1.5 if "1.5" in (left or "") else 0
    assert seconds_of(path) == whole
    add_rows(path, COLUMNS, [("j", 1, "seconds", "2"), ("j", 1, "val/loss", "3")])
    assert seconds_of(path) == whole + 2 and whole_rows(path, COLUMNS)[-1]["value"] == "3"
    assert path.read_text().startswith("stage,epoch,metric,value") and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "last, best, resumed",
    [(4, 2, "last"), (3, 3, "last"), (2, 3, "best"), (1, None, "last"), (None, 1, "best"), (None, None, None)],
)
def test_a_stage_goes_on_from_its_newest_state(last, best, resumed, tmp_path):
    """A kill between the two writes once left a best state that the last one did not know of."""
    for name, epoch in (("last", last), ("best", best)):
        if epoch is not None:
            write_checkpoint({"epoch": epoch, "state_dict": {}}, tmp_path / f"{name}.ckpt")
    assert state_to_resume(tmp_path) == (resumed and tmp_path / f"{resumed}.ckpt")
