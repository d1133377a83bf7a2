"""Opening a run folder or an agent's archive runs nothing of it, and a config that lacks something is told in a sentence."""

import io
import json
import os
import pickle
import re
import sys
import zipfile

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf, open_dict

from envs.problem import Problem
from eval.runs import freeze, load_config, load_run
from eval.runs.checkpoints import read_checkpoint
from eval.runs.run import _spell_out
from eval.runs.trusted import check_targets, find_class
from train.checks import check_plan

REFUSED = [
    "os.system", "posix.system", "builtins.eval", "torch.load", "webbrowser.open", "subprocess.run", "json.dumps",
    "eval.runs.checkpoints.read_checkpoint", "eval.planning.latent_search.LatentSearch",
    "train.fit.run", "configs.command.main",
    "models.world_model.torch.load",  # what a module of ours has imported is not ours
    "envs.collect.Path", "envs.collect.collect", "models", "models.", ".models.encoders.SlotEncoder", "models.encoders.nn",
    "stable_baselines3.common.save_util.load_from_zip_file", "torch.nn.Linear", 7, ["os.system"], None,
]  # fmt: skip


class Runs:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def frozen(compose):
    return freeze(compose("fit", "model=edge", "env=physics3"))


def run_of(config, folder):
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(config))
    return folder


def test_a_misspelt_class_is_told_the_nearest():
    """It sounded as if it were forbidden."""
    said = "names no class of models.transitions.modular: did you mean 'ModularTransition'"
    with pytest.raises(Problem, match=said):
        find_class("models.transitions.modular.ModularTransiton")


def test_a_misspelt_argument_is_told_where_and_the_nearest(compose):
    """Python named neither the file nor a near name."""
    with pytest.raises(Problem, match=r"models.transitions.\w+.EdgeTransition takes no argument 'widht': did you mean 'width'"):
        freeze(compose("fit", "model=edge", "env=physics3", "+model.module.transition.widht=3"))


@pytest.mark.parametrize("target", REFUSED)
def test_what_is_not_a_class_of_ours_is_refused(target):
    """Wherever it stands; one such name refuses the whole config before the others are imported."""
    inner = {"_target_": target}
    for config in (inner, {"a": [{"b": inner}]}, {"_target_": "models.x.Y", "_args_": [inner]}):
        with pytest.raises(Problem, match="is not allowed|cannot be imported|names no class of models.encoders"):
            check_targets(config)


def test_a_refused_config_imports_nothing(tmp_path, monkeypatch):
    """Importing runs a module's own lines."""
    (tmp_path / "stranger.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Problem, match="'stranger.Class' is not allowed"):
        check_targets({"a": {"_target_": "models.encoders.SlotEncoder"}, "b": {"_target_": "stranger.Class"}})
    assert "stranger" not in sys.modules


def test_unknown_keys_of_instantiation_are_refused():
    with pytest.raises(Problem, match="'_call_' is not a key"):
        check_targets({"_target_": "models.encoders.SlotEncoder", "_call_": "os.system"})
    with pytest.raises(Problem, match="'_partial_' is not a key"):  # a partial one ended where its parts were asked for
        check_targets({"_target_": "models.encoders.SlotEncoder", "_partial_": True})


def test_every_class_of_our_configs_passes(root):
    """Every model, loss, world and curriculum, and the learner of agents. Planners stand in no run's config."""
    texts = [path.read_text() for path in (root / "configs").rglob("*.yaml") if path.parent.name != "planner"]
    targets = {name for text in texts for name in re.findall(r"_target_: ([\w.]+)", text)}
    assert len(targets) > 25 and "stable_baselines3.PPO" in targets
    for target in targets:
        if target.startswith("stable_baselines3"):
            pytest.importorskip("stable_baselines3")
        assert find_class(target).__name__ == target.rsplit(".", 1)[1]


def test_a_model_that_a_user_adds_is_a_class_like_ours(tmp_path, monkeypatch, compose):
    """A file in models/ and its name in the config are enough."""
    import models

    (tmp_path / "mine.py").write_text("from models.encoders import SlotEncoder\nclass Mine(SlotEncoder):\n    pass\n")
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    config = freeze(compose("fit", "model=edge", "model.module.encoder._target_=models.mine.Mine"))
    assert config.model.module.encoder._target_ == "models.mine.Mine"
    monkeypatch.delitem(sys.modules, "models.mine")


@pytest.mark.parametrize("target", ["os.mkdir", "eval.runs.checkpoints.read_checkpoint", "models.world_model.torch.load"])
def test_a_strangers_config_calls_nothing(target, frozen, tmp_path):
    """Seen: `_target_: torch.load` of a pickle ran on load_run, and os.system under an older Hydra."""
    bad = tmp_path / "bad.ckpt"
    bad.write_bytes(pickle.dumps(Runs(tmp_path / "ran")))
    with open_dict(frozen):
        frozen.model.module.encoder = {"_target_": target, "_args_": [str(tmp_path / "ran" if target == "os.mkdir" else bad)]}
    with pytest.raises(Problem, match="config.yaml is not the config of a run: _target_"):
        load_run(run_of(frozen, tmp_path / "run"))
    assert not (tmp_path / "ran").exists()


def test_a_strangers_weights_run_nothing(frozen, tmp_path):
    """Seen: a pickle in model.ckpt ran on eval/score.py, which then told the same scores."""
    path = run_of(frozen, tmp_path / "run") / "checkpoints" / "model.ckpt"
    torch.save({"state_dict": {}, "more": Runs(tmp_path / "ran")}, path)
    with pytest.raises(Problem, match="is not a readable checkpoint"):
        read_checkpoint(path)
    assert not (tmp_path / "ran").exists()


def agent(path, activation=None, learner="PPO"):
    """An archive of stable-baselines3 for 56 numbers.  -> the agent itself"""
    gym, sb3 = pytest.importorskip("gymnasium"), pytest.importorskip("stable_baselines3")

    class Env(gym.Env):
        observation_space, action_space = gym.spaces.Box(-1, 1, (56,)), gym.spaces.Box(-1, 1, (9,))

    kwargs = {"net_arch": [8, 8], **({"activation_fn": activation} if activation else {})}
    own = {"n_steps": 64} if learner == "PPO" else {"buffer_size": 1}
    made = getattr(sb3, learner)("MlpPolicy", Env(), policy_kwargs=kwargs, seed=0, device="cpu", **own)
    made.save(path)
    return made


def with_pickle(path, what):
    """The same archive, every pickle in it replaced."""
    import base64

    held = {info: zipfile.ZipFile(path).read(info) for info in zipfile.ZipFile(path).namelist()}
    data, bad = json.loads(held["data"]), base64.b64encode(pickle.dumps(what)).decode()
    for entry in data.values():
        if isinstance(entry, dict) and ":serialized:" in entry:
            entry[":serialized:"] = bad
    held["data"] = json.dumps(data).encode()
    with zipfile.ZipFile(path, "w") as file:
        for info, content in held.items():
            file.writestr(info, content)


def imports(tmp_path, monkeypatch):
    """-> a config node of a learner that imports the module `stranger_env` when it is built"""
    pytest.importorskip("stable_baselines3")
    (tmp_path / "stranger_env.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return {"_target_": "stable_baselines3.PPO", "policy": "MlpPolicy", "env": "stranger_env:X-v0"}


def test_a_learner_in_a_model_imports_nothing(frozen, tmp_path, monkeypatch):
    """Seen: a learner in place of an encoder made its environment by name, and the name imported a stranger's module."""
    with open_dict(frozen):
        frozen.model.module.encoder = imports(tmp_path, monkeypatch)
    with pytest.raises(Problem, match="'stable_baselines3.PPO' is not allowed at model.module.encoder"):
        load_run(run_of(frozen, tmp_path / "run"))
    assert "stranger_env" not in sys.modules


@pytest.mark.parametrize(
    "more",
    [{"env": "m:X"}, {"policy": "P"}, {"policy_kwargs": {}}, {"replay_buffer_class": "m.X"}, {"_args_": ["P", "m:X"]}],
)
def test_a_learner_is_given_its_environment_by_the_command(more):
    with pytest.raises(Problem, match=f"algo.learner.{next(iter(more))} is not allowed in a config"):
        check_targets({"algo": {"learner": {"_target_": "stable_baselines3.PPO", **more}}})
    with pytest.raises(Problem, match="'stable_baselines3.PPO' is not allowed at algo.learner"):
        check_targets({"algo.learner": {"_target_": "stable_baselines3.PPO", **more}})  # another path of the same letters


def test_the_config_of_an_agent_passes_frozen_as_well(compose):
    """Freezing writes down the learner's arguments, `policy_kwargs: null` among them."""
    pytest.importorskip("stable_baselines3")
    check_targets(OmegaConf.to_container(freeze(compose("agent"))))


@pytest.mark.parametrize("learner, activation", [("PPO", None), ("PPO", torch.nn.ReLU), ("SAC", None), ("TD3", torch.nn.Tanh)])
def test_a_strangers_agent_plays_and_runs_nothing(learner, activation, tmp_path):
    """Its actions are those of the library, its pickles are never opened."""
    from eval.manipulation.controllers import _archive

    made = agent(tmp_path / "a.zip", activation, learner)
    with_pickle(tmp_path / "a.zip", Runs(tmp_path / "ran"))
    network, _ = _archive(tmp_path / "a.zip")
    for seen in np.random.default_rng(0).uniform(-1, 1, (20, 56)):
        assert network.act(seen) == pytest.approx(made.predict(seen.astype(np.float32), deterministic=True)[0], abs=1e-6)
    assert not (tmp_path / "ran").exists()


def test_an_agent_that_is_taken_up_runs_nothing_of_its_archive(tmp_path):
    agent(tmp_path / "a.zip")
    with_pickle(tmp_path / "a.zip", Runs(tmp_path / "ran"))
    from train.agents.archive import read

    saved = read(tmp_path / "a.zip", "cpu")
    assert saved.steps == 0 and "policy" in saved.parameters and not (tmp_path / "ran").exists()


def test_weights_of_an_agent_that_are_a_pickle_are_refused(tmp_path):
    from eval.manipulation.controllers import _archive

    raw = io.BytesIO()
    torch.save(Runs(tmp_path / "ran"), raw)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("data", "{}")
        file.writestr("policy.pth", raw.getvalue())
    with pytest.raises(Problem, match="nor an archive of stable-baselines"):
        _archive(tmp_path / "a.zip")
    assert not (tmp_path / "ran").exists()


LACKING = {
    "score": (lambda c: c.pop("score"), "it lacks score"),
    "env": (lambda c: c.pop("env"), "it lacks env"),
    "data_dir": (lambda c: c.pop("data_dir"), "it lacks data_dir"),
    "trainer": (lambda c: c.pop("trainer"), "it lacks trainer"),
    "score: none": (lambda c: c.update(score=None), "it lacks score"),
    "score: text": (lambda c: c.update(score="none"), "it lacks score.split"),
    "horizons of words": (lambda c: c.score.update(horizons=["one"]), "score.horizons must be a list of whole numbers >= 1"),
    "interpolation": (lambda c: c.update(data_dir="${nowhere.to.be.found}"), "interpolation"),
    "name": (lambda c: c.pop("name"), "it lacks name"),
    "budget": (lambda c: c.trainer.pop("budget"), "it lacks trainer.budget"),
    "counterfactuals": (lambda c: c.score.pop("counterfactuals"), "it lacks score.counterfactuals"),
    "a stage's epochs": (lambda c: c.loss.stages[0].pop("epochs"), "it lacks loss.stages.0.epochs"),
    "a stage's parts": (lambda c: c.loss.stages[0].update(trains="all"), "loss.stages.0.trains must be a list of names"),
    "a stage's name": (lambda c: c.loss.stages[0].update(name="x/../.."), "loss.stages.0.name must be a name without slashes"),
    "a split's seed": (lambda c: c.env.splits.test.pop("seed"), "it lacks env.splits.test.seed"),
    "an env elsewhere": (lambda c: c.env.update(name="../x"), "env.name must be a name without slashes"),
    "a split elsewhere": (lambda c: c.env.splits.update({"a/b": c.env.splits.test}), "env.splits must be a mapping"),
    "stages of words": (lambda c: c.loss.update(stages=["joint"]), "loss.stages must be a list of stages"),
}


@pytest.mark.parametrize("case", LACKING)
def test_a_config_without_a_section_is_told(case, frozen, tmp_path):
    """Each used to be a traceback of whoever read it first."""
    change, said = LACKING[case]
    with open_dict(frozen):
        change(frozen)
    with pytest.raises(Problem, match=f"config.yaml is not the config of a run: .*{said}.*; train again under another name"):
        load_config(run_of(frozen, tmp_path / "run"))


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_resumed_run_whose_split_is_gone_is_told(split, frozen):
    """Seen as a ConfigKeyError: the limits of the command line are not those of a config that is taken up."""
    with open_dict(frozen):
        frozen.env.splits.pop(split)
    with pytest.raises(Problem, match=f"env 'physics3' has no split '{split}'"):
        check_plan(frozen)


def test_hydra_is_asked_for_that_has_a_list_of_its_own(root):
    """Up to 1.3.3 Hydra called anything; up to 1.3.5 anything under an alias such as shutil.os.system."""
    assert '"hydra-core>=1.3.6,<1.4"' in (root / "setup.py").read_text()


def test_a_default_that_no_yaml_can_hold_is_told(monkeypatch):
    """It was a traceback of OmegaConf, which named no class."""

    class Own:
        def __init__(self, width: int = 3, act=torch.relu) -> None:
            pass

    monkeypatch.setattr("eval.runs.run.find_class", lambda target: Own)
    with pytest.raises(Problem, match="models.mine.Own has a default for 'act' that a yaml cannot hold, .*; take a name"):
        _spell_out({"_target_": "models.mine.Own"})
    assert _spell_out({"_target_": "models.mine.Own", "act": "relu"})["width"] == 3
