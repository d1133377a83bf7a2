"""What is told before anything is made: where a run would be written, which runs are asked for, what differs from a run."""

import errno
import importlib
import json
import os
import re
import runpy
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from filelock import FileLock, Timeout
from omegaconf import OmegaConf

from configs import command
from envs.problem import Problem, storage_sentence
from envs.whole_files import FORGOTTEN, check_writable, write_whole
from eval.runs import differences, folders_of, freeze
from train.fit import prepare
from train.run_folder import choose_folder, open_folder


def test_a_runs_dir_that_cannot_be_written_is_told_before_the_data_are_collected(tmp_path, command_here, small, monkeypatch):
    """The refusal came after minutes of collection."""
    (tmp_path / "file").touch()
    done = command_here("train/fit.py", *small, "env=physics3", "runs_dir=file/r", "data_dir=d", "name=x", cwd=tmp_path)
    assert done.returncode == 1 and "is not a folder; choose another runs_dir=" in " ".join(done.stderr.split())
    assert not (tmp_path / "d").exists()
    monkeypatch.setattr(os, "access", lambda *_: False)  # whoever runs the tests may write anywhere
    with pytest.raises(Problem, match="may not be written; choose another runs_dir="):
        check_writable(tmp_path / "a" / "b", "runs_dir")


@pytest.mark.parametrize("number, remedy", [(errno.ENOSPC, "free some space"), (errno.ENAMETOOLONG, "choose a shorter name"),
                                            (errno.ENOTDIR, "a file stands where a folder is needed")])  # fmt: skip
def test_what_cannot_be_written_has_a_remedy_of_its_own(number, remedy):
    """A name of 300 letters was told to free some space."""
    said = storage_sentence(OSError(number, os.strerror(number), "a/b"))
    assert said.startswith(f"cannot read or write a/b: {os.strerror(number)}; ") and remedy in said
    assert ("free some space" in said) == (number == errno.ENOSPC)


def test_several_runs_are_named_by_a_list():
    """Lists once ended three commands in a traceback, and an empty one the fourth."""
    assert folders_of(OmegaConf.create(["a", "b"])) == ["a", "b"] and folders_of("a") == ["a"]
    for wrong in ([], OmegaConf.create([]), "", None, ["a", None]):
        with pytest.raises(Problem, match=r"run must be a run folder or a list of them, for example run=\["):
            folders_of(wrong)


@pytest.mark.parametrize("script", ["score", "plan", "noisy", "adaptation", "report"])
@pytest.mark.parametrize("runs, said", [("run=[]", "run must be a run folder"), ("run=[a,b]", "a is not a run folder")])
def test_every_command_reads_lists_of_runs(script, runs, said, command_here, tmp_path):
    done = command_here(f"eval/{script}.py", runs, cwd=tmp_path)
    assert done.returncode == 1 and said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_seed_is_the_first_difference_that_is_told(compose):
    """A refusal once named the number of episodes alone, where the user had changed the seed."""
    before = freeze(compose("fit", "env=physics3", "env.splits.train.episodes=300"))
    now = freeze(compose("fit", "env=physics3", "seed=1", "model.width=8", "loss.stages.0.batch_size=64"))
    assert differences(before, now).startswith("seed: 0 there, 1 here; ") and " more" in differences(before, now)
    other = freeze(compose("fit", "env=physics3", "env.splits.train.episodes=300", "model=edge"))
    assert differences(before, other) == "model.name: modular there, edge here"
    assert differences(before, before) is None


def test_half_written_files_of_killed_writers_are_cleared(tmp_path, monkeypatch):
    """Names with the number of a process stayed for ever, and a full disk did not say where it is."""
    old, young, others = (tmp_path / name for name in ("x.json.1-1.part", "x.json.2-2.part", "y.json.1-1.part"))
    for path in (old, young, others):
        path.touch()
    for path in (old, others):
        os.utime(path, 2 * (time.time() - 2 * FORGOTTEN,))
    write_whole(tmp_path / "x.json", "{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.json", young.name, others.name]

    def full(self, content):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left on device: '.*x.json'"):
        write_whole(tmp_path / "x.json", "[]")
    assert (tmp_path / "x.json").read_text() == "{}" and not list(tmp_path.glob(f"*{os.getpid()}*"))


def test_several_values_without_a_sweep_are_one_sentence(command_here, tmp_path):
    """Hydra answered with five lines and a variable to set; and with -m between overrides, with a page of usage."""
    done = command_here("train/fit.py", "env=physics3", "seed=1,2", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("error: seed=1,2 names several values; add -m for a run with each")
    assert len(done.stderr.splitlines()) == 1
    done = command_here("train/fit.py", "env=physics3", "-m", "seed=0..3", "runs_dir=r", cwd=tmp_path)
    assert done.returncode == 1 and "error: seed must be a whole number" in done.stderr and "usage" not in done.stderr
    command.check("fit", ["-m", "seed=1,2", "model=vae,modular"])
    command.check("fit", ["score.horizons=[1,5]", "name='a,b'"])


def test_the_mirror_of_a_run_warns_of_nothing(monkeypatch, compose, tmp_path):
    """Lightning hands W&B an argument that has no effect, and every training began with a warning."""
    import wandb

    from train.stages import wandb_logger

    given = {}
    monkeypatch.setattr(wandb, "init", lambda **words: given.update(words) or MagicMock())
    logger = wandb_logger(freeze(compose("fit", "env=physics3")), tmp_path)
    assert "anonymous" not in given and given["mode"] == "offline" and given["id"] == (tmp_path / "wandb_id.txt").read_text()
    assert logger.experiment.define_metric.called


@pytest.mark.parametrize("script", ["hot_paths", "published_step", "recurrent", "trifinger"])
def test_benchmarks_answer_help(script, command_here, tmp_path):
    """--help was taken for the name of a part."""
    pytest.importorskip("pybullet" if script == "trifinger" else "torch")
    done = command_here(f"benchmarks/{script}.py", "--help", cwd=tmp_path)
    assert done.returncode == 0 and f"python benchmarks/{script}.py" in done.stdout


def test_hot_paths_are_paired_by_time(monkeypatch, root):
    """Rates by model are a table of their own, of which the reciprocal was taken."""
    script = runpy.run_path(str(root / "benchmarks/paired_hot_paths.py"))
    found = {"medium": 2.0, "samples_per_s": {"cells x": 4.0}, "steps_per_s": 5.0}
    done = SimpleNamespace(returncode=0, stdout=json.dumps(found))
    monkeypatch.setattr("subprocess.run", lambda *_, **__: done)
    assert script["measured"](root, "training") == {"patch x": 0.25, "steps_per_s": 0.2}


def test_benchmarks_measure_their_own_checkout(root):
    """One measured what was installed, which in a second checkout is the other one."""
    for path in (root / "benchmarks").glob("*.py"):
        text = path.read_text()
        assert "__main__" not in text or "sys.path[0] =" in text or "PYTHONPATH" in text, path.name


def test_the_version_of_python_is_told_as_it_is(root):
    """3.10 was promised, and the worlds import names that came with 3.11."""
    asked = re.search(r'python_requires=">=(3\.\d+)"', (root / "setup.py").read_text())[1]
    assert f"Python {asked} or newer" in (root / "README.md").read_text()
    assert f"({asked.replace('.', ', ')})" in (root / "Makefile").read_text()
    assert asked == "3.11", "Self and StrEnum came with it"


def test_a_run_to_resume_may_be_called_5(tmp_path, monkeypatch):
    """Hydra reads resume=5 as a number, which ended in a traceback."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Problem, match="5 is not a run folder"):
        choose_folder(OmegaConf.create({"resume": 5}))


def test_overwriting_leaves_the_locks(tmp_path, compose):
    """Seen: the lock of results.json was removed while eval/plan.py held it, so that a second command got another one."""
    frozen = freeze(compose("fit", "env=physics3"))
    with open_folder(tmp_path / "run", frozen, overwrite=False):
        (tmp_path / "run" / "results.json").write_text("{}")
    with FileLock(tmp_path / "run" / ".results.lock"):
        with open_folder(tmp_path / "run", frozen, overwrite=True):
            assert not (tmp_path / "run" / "results.json").exists()
        with pytest.raises(Timeout):
            FileLock(tmp_path / "run" / ".results.lock").acquire(timeout=0)


def test_a_resumed_run_may_leave_out_goals():
    """goals= says what is done after training and is no part of the experiment, yet it was refused beside resume=."""
    for told in ([], ["goals=false"], ["goals=true"]):
        assert prepare(["resume=runs/x", *told]) == ["resume=runs/x", *told]
    with pytest.raises(Problem, match="leave out seed=1$"):
        prepare(["resume=runs/x", "goals=false", "seed=1"])


def test_resume_goes_with_keys_that_decide_no_weight():
    """A remedy of an error sentence, data.stream=auto, was refused beside it."""
    kept = ["resume=runs/x", "data.stream=auto", "+data.memory_gb=2", "data_dir=d", "logger=csv", "logger.project=p"]
    assert prepare(kept) == kept
    for other in ("seed=1", "data_dirx=d", "model=ae", "+row=a"):
        with pytest.raises(Problem, match=re.escape(f"leave out {other}")):
            prepare(["resume=runs/x", other])


@pytest.mark.parametrize("module, config", [("train.agent", "agent"), ("train.manipulation", "manipulation")])
def test_agents_are_told_at_once_of_a_folder_that_cannot_be_written(module, config, tmp_path, compose, monkeypatch):
    """train/fit.py told it at once; the two trainings of agents made their worlds first."""
    pytest.importorskip("stable_baselines3")
    training = importlib.import_module(module)
    monkeypatch.setattr("train.run_folder.check_world", MagicMock(side_effect=AssertionError("made")))
    monkeypatch.setattr("train.agents.trifinger_learner.tried", MagicMock(side_effect=AssertionError("made")))
    (tmp_path / "file").touch()
    with pytest.raises(Problem, match="is not a folder; choose another runs_dir="):
        training.run(compose(config, f"runs_dir={tmp_path}/file/r", "name=x"))


@pytest.mark.parametrize(("config", "override", "sentence"), [
    ("fit", "env.splits=3", r"env.splits has the keys train, .*, got 3; set one: env.splits.<key>=<value>"),
    ("fit", "env.splits=null", r"env.splits has the keys train, .*, got null; set one"),
    ("fit", "env.world=[1,2]", r"env.world has the keys _target_, .*, got \[1,2\]"),
    ("fit", "score.horizons={a:1}", r"score.horizons is a list, got keys: {a:1}; set score.horizons=<value>"),
    ("learning", "beside={a:1}", r"beside is a list, got keys: {a:1}"),
    ("tables", "table={a:1}", r"table is one value or a list, got keys: {a:1}; set table=<value>"),
    ("score", "run=[a", r"run=\[a cannot be read as key=value; close its brackets"),
    ("fit", "env=null", r"there is no env 'null'"),
])  # fmt: skip
def test_a_value_of_another_kind_is_one_sentence(config, override, sentence):
    """Seen: Hydra's five lines, and tracebacks of what read the value."""
    with pytest.raises(Problem, match=sentence):
        command.check(config, [override])


def test_values_of_the_right_kind_pass():
    command.check("fit", ["env.splits.train={episodes:3,length:2,seed:1}", "score.horizons=3", "resume=null"])
    command.check("fit", ["-m", "env.splits.train.episodes=3,4", "score.horizons=[1,5],[1]"])
