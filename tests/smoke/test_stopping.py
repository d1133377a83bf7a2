"""Commands that do not come to their end say so, by their exit code too, and two commands never write one run."""

import os
import signal

import pytest
import torch

from configs.stopping import memory_sentence
from envs.problem import Problem
from eval.runs import load_config

TINY = ["env=physics3", "model=edge", "runs_dir=r", "data_dir=d", "score.horizons=[1]"]


@pytest.fixture
def signals():
    """Handlers as a shell leaves them, and afterwards as they were: Lightning ignores Ctrl-C from the first one on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number, code, said", [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")])
def test_a_signal_in_training_is_no_success(number, code, said, signals, small, command_here, tmp_path, monkeypatch):
    """Seen: SIGTERM in training left exit code 0 and no word, also in a sweep, so that preempted jobs read as done."""
    from train.callbacks import SeedEpochs

    began = []

    def stop(self, trainer, model):
        began.append(self.seed)
        os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(SeedEpochs, "on_train_epoch_start", stop)
        done = command_here("train/fit.py", *small, *TINY, cwd=tmp_path)
        assert done.returncode == code and done.stderr.splitlines()[-1] == f"{said}; give the same command again to go on"
        if number == signal.SIGINT:
            return
        signal.signal(signal.SIGINT, signal.default_int_handler)
        began.clear()
        done = command_here("train/fit.py", "-m", *small, *TINY, "seed=0,1", cwd=tmp_path)
    assert done.returncode == code and began == [0]
    assert f"{said}; the sweep stops here, its later jobs do not start" in done.stderr and "Traceback" not in done.stderr
    assert not list((tmp_path / "r").glob("*/results.json"))
    done = command_here("train/fit.py", *small, *TINY, cwd=tmp_path)
    assert done.returncode == 0 and "taking up r/edge-infonce-physics3-smoke-s0" in done.stdout


def test_a_run_has_one_writer(compose, small, command_here, tmp_path, monkeypatch):
    """Seen: a second command with overwrite=true mixed two seeds in one folder, and both ended with exit code 0."""
    from train import run_folder
    from train.run_folder import choose_folder, open_folder

    monkeypatch.setattr(run_folder, "PATIENCE", 0.1)
    first = *small, "env=physics3", "model=edge", f"runs_dir={tmp_path / 'r'}", "name=ow"
    folder, cfg = choose_folder(compose("fit", *first))
    with open_folder(folder, cfg, False):
        (folder / "checkpoints" / "0-joint.ckpt").write_text("theirs")
        for arguments in ([*first, "overwrite=true", "seed=1"], [*first], [f"resume={folder}"]):
            second = command_here("train/fit.py", *arguments, cwd=tmp_path)
            assert second.returncode == 1 and len(second.stderr.splitlines()) == 1, second.stderr
            assert f"{folder} is in use by another command (process {os.getpid()} on " in second.stderr
        assert load_config(folder).seed == 0 and (folder / "checkpoints" / "0-joint.ckpt").exists()
    folder, other = choose_folder(compose("fit", *first, "overwrite=true", "seed=1"))
    with open_folder(folder, other, True):  # a lock ends with its holder, and overwriting keeps the file it lies on
        assert load_config(folder).seed == 1 and not (folder / "checkpoints" / "0-joint.ckpt").exists()
        with pytest.raises(Problem, match="is in use"):
            choose_folder(compose("fit", *first))


def test_what_another_command_did_meanwhile_is_seen(compose, small, tmp_path):
    """Between the first look at a folder and its lock somebody may have made another run there."""
    from eval.runs import freeze
    from train.run_folder import choose_folder, open_folder

    mine, theirs = (compose("fit", *small, "name=a", f"runs_dir={tmp_path}", f"seed={seed}") for seed in (0, 1))
    folder, cfg = choose_folder(mine)
    with open_folder(folder, freeze(theirs), False):
        pass
    with pytest.raises(Problem, match="holds a run with another configuration"):
        open_folder(folder, cfg, False)
    with open_folder(folder, freeze(theirs), False):  # what was refused holds nothing
        pass


def test_a_run_without_checkpoints_is_taken_up(compose, small, tmp_path, capsys):
    """Seen: fit told that it was no run, resume= went on with it."""
    from train.run_folder import choose_folder, open_folder

    folder, cfg = choose_folder(compose("fit", *small, "name=a", f"runs_dir={tmp_path}"))
    with open_folder(folder, cfg, False):
        (folder / "checkpoints").rmdir()
    folder, cfg = choose_folder(compose("fit", *small, "name=a", f"runs_dir={tmp_path}"))
    with open_folder(folder, cfg, False):
        assert (folder / "checkpoints").is_dir() and "taking up" in capsys.readouterr().out


def test_too_little_memory_is_a_sentence(command_here, tmp_path, monkeypatch):
    """Seen: a traceback of numpy in collection, of torch in training."""
    import numpy as np

    monkeypatch.setattr("envs.collect.collect", lambda *_, **__: np.zeros(10**15))
    done = command_here("train/fit.py", *TINY, "logger=csv", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1
    assert "error: memory ran out (Unable to allocate" in done.stderr and "loss.stages.0.batch_size=" in done.stderr


def test_memory_of_torch_is_known():
    """Of a CPU, of a GPU, and as the cause of another error; other faults of the code keep their traceback."""
    with pytest.raises(RuntimeError) as error:
        torch.zeros(10**15)
    assert memory_sentence(error.value) and memory_sentence(torch.OutOfMemoryError("CUDA out of memory. Tried ..."))
    outer = ValueError("instantiation")
    outer.__cause__ = MemoryError()
    assert "(MemoryError)" in memory_sentence(outer)
    assert memory_sentence(RuntimeError("shapes differ")) is None and memory_sentence(ValueError("memory")) is None
