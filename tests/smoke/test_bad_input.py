"""What cannot be trained, measured or recorded: one sentence, exit code 1, and what stood there before stays."""

import contextlib
import json
import os
import re

import h5py
import pytest
from omegaconf import OmegaConf

from configs.overrides import _check_experiment, check
from envs.collect import collect
from envs.episodes import EpisodeWriter
from envs.physics import PhysicsWorld
from envs.problem import Problem


@pytest.fixture
def refused(command_here, small, tmp_path):
    """refused(*overrides) -> the one line that train/fit.py says before it ends with exit code 1; no run takes the name."""

    def start(*overrides):
        done = command_here("train/fit.py", *small, *overrides, cwd=tmp_path)
        assert done.returncode == 1, done.stdout + done.stderr
        assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("error: ")
        assert not list(tmp_path.rglob("config.yaml"))
        return done.stderr

    return start


def rewritten(path, change, leave_out=()):
    """Write an episode file anew: a header that `change` was given, and columns without those left out."""
    with h5py.File(path) as file:
        about, lengths = json.loads(file.attrs["header"]), file["ep_len"][:]
        columns = {name: column[:] for name, column in file.items() if not name.startswith("ep_") and name not in leave_out}
    change(about)
    path.unlink()
    with EpisodeWriter(path, about) as writer:
        writer.append(columns, lengths)
        writer.finish()


def test_a_loss_that_reads_back_commands_on_vectors(refused, tmp_path):
    pytest.importorskip("pybullet")
    said = refused("env=trifinger_pushing", "loss=inverse_action")
    assert "the actions of this env are no choices of objects; set loss=infonce model=modular" in said
    assert not list(tmp_path.rglob("*.h5"))


def test_a_probe_that_the_world_cannot_answer(refused, tmp_path):
    """Before anything is trained."""
    said = refused("env=physics3", "score.probes=[block_error]")
    assert "probe 'block_error' " in said and "leave it out of probes=" in said
    assert not list(tmp_path.rglob("*.h5"))


def test_fewer_slots_than_owners(refused, tmp_path):
    sentence = "the model has 2 slots; expected a slot for each object, set model.slots=3 or more"
    assert sentence in refused("env=physics3", "model.slots=2")
    assert not list(tmp_path.rglob("*.h5"))


def test_frames_larger_than_memory(refused, tmp_path, monkeypatch):
    """The data that were collected stay."""
    monkeypatch.setattr("train.datamodule.machine_memory", lambda: 1000)
    assert "this machine has 0.0 GB; set data.stream=auto" in refused("env=physics3", "data.stream=false")
    assert len(list(tmp_path.rglob("*.h5"))) == 3


FAULTS = {
    "a column is missing": (lambda about: None, ("pixels",), "it has no column 'pixels', it holds action, "),
    "another spec": (lambda about: about["spec"]["observations"]["pixels"].update(shape=[60, 60, 3]), (),
                     "recorded under another spec (observations.pixels.shape: expected [50, 50, 3], got [60, 60, 3])"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_is_not_what_the_run_wants(fault, refused, tmp_path, compose, small):
    """It stays as it is."""
    env = OmegaConf.to_container(compose("fit", *small, "env=physics3").env, resolve=True)
    path = collect(env, PhysicsWorld(3), "train", tmp_path / "data", quiet=True).path
    change, leave_out, sentence = FAULTS[fault]
    rewritten(path, change, leave_out)
    kept = path.read_bytes()
    said = refused("env=physics3")
    assert sentence in said and "remove it and give the same command again: rm " in said
    assert path.read_bytes() == kept


def test_a_simulator_that_dies_while_it_is_recorded(refused, tmp_path, monkeypatch):
    """No file takes the name."""
    pytest.importorskip("pybullet")
    from envs.trifinger.source import parallel
    from envs.trifinger.source.arena import Arena

    this, episode = os.getpid(), Arena.episode
    monkeypatch.setattr(parallel, "_WORTH", 0)  # every piece of work goes to other processes
    monkeypatch.setattr(Arena, "episode", lambda *asked: episode(*asked) if os.getpid() == this else os._exit(9))
    said = refused("env=trifinger_pushing", "env.world.workers=2", "env.splits.train.episodes=2", "env.splits.train.length=4",
                   "env.splits.valid.length=4", "env.splits.test.length=10")  # fmt: skip
    assert "a process that simulates TriFinger died" in said
    assert not list(tmp_path.rglob("*.h5"))


def test_an_experiment_of_another_command_is_refused(root):
    """It was composed, and changed nothing of what was trained."""
    with pytest.raises(
        Problem, match="'quick_ppo' sets algo, save_every, skip_frame, steps, which fit has not; it is one of manipulation"
    ):
        check("fit", ["experiment=quick_ppo"])
    with pytest.raises(Problem, match="'hidden_weights' sets env, loss, model, which manipulation has not; it is one of fit"):
        check("manipulation", ["experiment=hidden_weights"])
    names = [path.stem for path in (root / "configs" / "experiment").glob("*.yaml")]
    for name in names:  # each is some command's; that it composes there, tests/contract/test_model_promises.py asks
        with contextlib.suppress(Problem):
            _check_experiment("fit", name)
            continue
        _check_experiment("manipulation", name)


@pytest.mark.parametrize("added, said", [
    ("+trainer.devises=2", "trainer has no key 'devises': did you mean 'devices'?"),
    ("+score.episods=9", "score has no key 'episods': did you mean 'episodes'?"),
    # the transformer reads it, the modular model does not
    ("+model.hidden_share=0.2", "model has no key 'hidden_share': known: "),
    ("+loss.momentum=0.9", "loss has no key 'momentum': known: "),
    ("+env.splits.valid.epsiodes=9", "env.splits.valid has no key 'epsiodes': did you mean 'episodes'?"),
    ("++data.memory=3", "data has no key 'memory': did you mean 'memory_gb'?"),
    ("+score={episods: 9}", "score has no key 'episods': did you mean 'episodes'?"),  # Hydra advises to add keys so
    ("+env.splits={train: {epsiodes: 9}}", "env.splits.train has no key 'epsiodes': did you mean 'episodes'?"),
    ("+env.splits.mine={epsiodes: 9}", "env.splits.mine has no key 'epsiodes': did you mean 'episodes'?"),
])  # fmt: skip
def test_an_added_key_that_nothing_reads_is_refused(added, said):
    """It changed nothing, and the run was called another one."""
    with pytest.raises(Problem, match=re.escape(said)):
        check("fit", ["model=modular", added])


def test_every_job_of_a_sweep_reads_what_is_added():
    check("fit", ["-m", "model=transformer", "++model.hidden_share=0.2"])
    for sweep in ("model=transformer,modular", "model=modular,transformer"):
        with pytest.raises(Problem, match="model has no key 'hidden_share'"):
            check("fit", ["-m", sweep, "++model.hidden_share=0.2"])


@pytest.mark.parametrize("added", [
    "+score={episodes: 9}", "+trainer.devices=2", "++trainer.budget=paper", "+env.block_rows=500",
    "+env.splits.mine={seed: 9, episodes: 3, length: 5, mode: train}",
    "+env.world.num_objects=3", "+loss.stages.0.gradient_clip=1", "+model.module.transition.depth=2",
])  # fmt: skip
def test_a_key_that_something_may_read_is_added(added):
    check("fit", ["model=modular", added])


def test_a_part_that_a_loss_does_not_reach_is_told(command_here, small, tmp_path):
    """A decoder as it was drawn was scored as if it had learned."""
    asked = "loss=infonce", "loss.stages.0.trains=[encoder,transition,decoder]"
    done = command_here("train/fit.py", *small, *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "stage 'joint' is to train the decoder, and InfoNCE gave no gradient for a whole epoch" in done.stderr
