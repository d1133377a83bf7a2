"""trainer=ddp as a user types it: two processes on the CPU, one run folder, one score; what cannot be is told."""

import csv
import json
from collections import Counter

import pytest
import torch

from envs.problem import Problem
from eval.runs import freeze
from eval.runs.ledger import DIVERGED
from train.distributed import GRACE_S, devices_of, node_of, processes_of, train_together
from train.fit import _train_and_score
from train.stages import accelerator_of

FEW = [
    "env=physics3", "env.splits.train.episodes=4", "env.splits.valid.episodes=2", "trainer=ddp", "trainer.accelerator=cpu",
    "trainer.budget=smoke", "name=run", "data_dir=d", "runs_dir=r",
]  # fmt: skip


def test_two_processes_leave_one_run(command_here, small, tmp_path, capfd):
    """Exit code 0, one table on the terminal, one line of metrics for each epoch."""
    few = ["model=edge", "model.size=patch", "trainer.devices=2", "loss.epochs.smoke=2"]
    done, theirs = command_here("train/fit.py", *small[1:], *FEW, *few, cwd=tmp_path), capfd.readouterr()
    assert done.returncode == 0, done.stderr[-2000:] + theirs.err[-2000:]
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("results.json")] == ["r/run/results.json"]
    out, err = done.stdout + theirs.out, done.stderr + theirs.err  # of this process and of those that it started
    assert out.count("counterfactual MRR") == 1 and err.count("joint 2/2") == 1
    with open(tmp_path / "r" / "run" / "metrics.csv") as file:
        rows = Counter((row["epoch"], row["metric"]) for row in csv.DictReader(file))
    assert set(rows.values()) == {1} and {epoch for epoch, _ in rows} == {"0", "1"}
    assert not list(tmp_path.rglob("*.part"))
    timing = json.loads((tmp_path / "r" / "run" / "results.json").read_text())["timing"]
    assert timing["fit_s"] > 0 and "peak_gb" not in timing  # that of a process which does not train would mislead


def test_what_a_process_says_comes_back(compose, small, tmp_path):
    """What is one sentence in a training process is the same sentence here, not a traceback of processes."""
    cfg = freeze(compose("fit", *small[1:], *FEW, "trainer.devices=1", f"data_dir={tmp_path}"))
    cfg.loss.stages[0].window = 500  # fit.py refuses this before it starts any process
    with pytest.raises(Problem, match="window=500 is longer than the episodes of .* .100 actions."):
        train_together(cfg, tmp_path)


def test_more_devices_than_there_are(compose, monkeypatch):
    """The sentence names both numbers and two ways out; auto takes what is there."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(Problem, match="asks for 3 GPUs on each machine and 1 is visible; set trainer.devices=1 or trainer.acc"):
        devices_of(compose("fit", "trainer=ddp", "trainer.devices=3"))
    assert devices_of(compose("fit", "trainer=ddp")) == 1
    monkeypatch.setattr("train.distributed.cores", lambda: 3)
    assert devices_of(compose("fit", "trainer=ddp", "trainer.accelerator=cpu")) == 3, "of 64, a job may have been lent three"
    assert processes_of(compose("fit", "trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=3", "trainer.nodes=2")) == 6
    assert processes_of(compose("fit", "trainer=quick")) == 1


def test_processes_without_a_gpu_train_on_the_processor(compose, monkeypatch):
    """On a Mac, auto would be its GPU, where Lightning refuses several processes."""
    cfg = compose("fit", "trainer=ddp")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert cfg.trainer.accelerator == accelerator_of(cfg) == "auto"
    monkeypatch.setattr("train.stages.count", lambda: 2)
    assert accelerator_of(cfg) == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert accelerator_of(cfg) == "auto"


@pytest.mark.parametrize("node, told", [(0, "train loss is not finite"), (1, None)])
def test_processes_that_diverge_are_told_of(node, told, compose, monkeypatch, tmp_path):
    """As one process is, and by the first machine alone: no file said why such a run has no scores."""
    def diverges(*_):
        raise FloatingPointError("train loss is not finite")

    monkeypatch.setattr("train.distributed.train_together", diverges)
    cfg = compose("fit", *FEW, "trainer.devices=2")
    with pytest.raises(FloatingPointError):
        _train_and_score(cfg, tmp_path, node, None, None, {}, None, {}, None, None)
    file = tmp_path / DIVERGED
    assert (file.read_text() if file.exists() else None) == told


def test_processes_are_stopped_together(compose, monkeypatch, tmp_path):
    """A scheduler kills what has not ended after half a minute; eight that waited one after the other took eighty seconds."""
    clock, waited = [0.0], []

    class Slow:
        def join(self, seconds=None):
            if seconds is not None:
                waited.append(seconds)
                clock[0] += seconds

        def terminate(self): ...
        def kill(self): ...

    class Started:
        processes = [Slow() for _ in range(4)]

        def join(self):
            raise KeyboardInterrupt

    monkeypatch.setattr("train.distributed.multiprocessing.spawn", lambda *_, **__: Started())
    monkeypatch.setattr("train.distributed.time.monotonic", lambda: clock[0])
    with pytest.raises(KeyboardInterrupt):
        train_together(compose("fit", *FEW, "trainer.devices=4"), tmp_path)
    assert len(waited) == 4 and sum(waited) == GRACE_S


def test_a_machine_that_does_not_know_its_place(compose, monkeypatch):
    """Several machines need three names in the environment."""
    cfg = compose("fit", "trainer=ddp", "trainer.nodes=2")
    monkeypatch.delenv("NODE_RANK", raising=False)
    with pytest.raises(Problem, match="needs NODE_RANK from 0 to 1, and MASTER_ADDR and MASTER_PORT .* got NODE_RANK=,"):
        node_of(cfg)
    for name, value in (("NODE_RANK", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29511")):
        monkeypatch.setenv(name, value)
    assert node_of(cfg) == 1 and node_of(compose("fit", "trainer=ddp")) == 0


@pytest.mark.parametrize(
    "asked, said",
    [(["trainer.devices=999"], "999 processes, and a batch of stage 'joint' is 128 windows; set loss.stages.0.batch_size=3996"),
     (["trainer.devices=9", "env.splits.valid.episodes=1", "env.splits.valid.length=12"],
      "cannot share the 3 windows of split 'valid'"),
     (["trainer.devices=two"], "trainer.devices must be a whole number >= 1, or auto, got 'two'")],
)  # fmt: skip
def test_refused(asked, said, command_here, small, tmp_path):
    """Before anything is made."""
    done = command_here("train/fit.py", *small[1:], *FEW, *asked, cwd=tmp_path)
    assert done.returncode == 1 and said in done.stderr and not list(tmp_path.iterdir())
