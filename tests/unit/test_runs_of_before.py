"""Runs that were trained before a key or a test split was thought of are still the same runs, and can be asked about it."""

import re

import hydra
import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf, open_dict

from envs.problem import Problem
from eval.runs import AGENT, CONFIGS, config_hash, differences, freeze, load_config, load_run
from eval.runs.run import splits_of_today
from eval.runs.trusted import MOVED
from train.run_folder import check_world, choose_folder


@pytest.fixture
def both(compose):
    """(the config of a run of before, today's)."""
    now = freeze(compose("fit", "model=edge", "env=physics5"))
    before = OmegaConf.create(OmegaConf.to_container(now))
    with open_dict(before):
        del before.env.world["board"], before["spec"], before.env.splits["fewer-1"]
        del before.loss["own_window"], before.loss.stages[0].objective["own_window"]
    return before, now


def test_keys_that_came_later_had_their_usual_value(both):
    before, now = both
    assert differences(before, now) is None
    check_world(before, instantiate(before.env.world))


@pytest.mark.parametrize("asked, said", [
    (["env=physics5", "env.world.board=7"], "board: nothing there, 7 here"),
    (["loss.own_window=false"], "own_window: nothing there, False here"),
    (["env.splits.train.episodes=7"], "episodes: 1000 there, 7 here"),
])  # fmt: skip
def test_another_value_is_another_run(both, compose, asked, said):
    assert said in differences(both[0], freeze(compose("fit", "model=edge", *asked)))


OF_BEFORE = {  # what a run of today asks -> encoder, decoder and transition as the same run of before says them
    ("model=modular", "env=physics3"): (
        {"num_objects": 3, "width": 16, "size": "cells", "hidden": 256, "channels": 32, "looks": 0, "factors": 0, "board": 5},
        {"num_objects": 3, "width": 16, "size": "cells", "hidden": 256, "factors": 0, "board": 5}, {},
    ),
    ("model=vae", "loss=nll", "env=chemistry_full5_dynamic", "env.observation=state"): (
        {"num_objects": 5, "width": 32, "size": "small", "hidden": 512, "channels": 32, "factors": 30, "board": 5},
        {"num_objects": 5, "width": 32, "size": "small", "hidden": 256, "factors": 30, "board": 5}, {},
    ),
    ("model=gnn", "loss=nll", "env=physics7_7x7"): (
        {"num_objects": 7, "width": 32, "size": "small", "hidden": 512, "channels": 32, "looks": 0, "factors": 0, "board": 7},
        {"num_objects": 7, "width": 32, "size": "small", "hidden": 256, "factors": 0, "board": 7}, {"owners": None},
    ),
    ("model=categorical", "loss=inverse_action", "env=chemistry_chain5"): (
        {"num_objects": 5, "num_colors": 5, "channels": 32, "factors": 0}, None, {"owners": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize("asked", OF_BEFORE, ids=" ".join)
def test_sizes_of_before_build_the_model_of_today(asked, compose, tmp_path):
    """An env said five sizes and every part of the model again: the same run, the same weights by the same names."""
    now, before = freeze(compose("fit", *asked)), OmegaConf.to_container(freeze(compose("fit", *asked)))
    encoder, decoder, transition = OF_BEFORE[asked]
    parts = before["model"]["module"]
    parts["encoder"] = {"_target_": parts["encoder"]["_target_"], **encoder}
    parts["transition"] |= transition
    if parts["decoder"]:
        parts["decoder"] = {"_target_": parts["decoder"]["_target_"], **decoder}
    sizes = {"num_colors": 0, "action_size": 1, "board": 5, "factors": {"pixels": 0}}
    before["env"] |= {"num_objects": encoder["num_objects"], **sizes}
    before["name_part"] = {"pixels": "", "state": "-state"}
    for key in ("slots", "looks"):
        before["model"].pop(key, None)
    del before["spec"]
    OmegaConf.save(before, tmp_path / "config.yaml")
    loaded = load_config(tmp_path)
    assert differences(loaded, now) is None and config_hash(loaded) == config_hash(now)
    instantiate(now.model.module).load_state_dict(instantiate(loaded.model.module).state_dict())


def test_a_world_that_is_not_the_one_of_the_run_is_told(compose):
    """A resumed run whose env draws another board today."""
    cfg = freeze(compose("fit", "env=physics3"))
    check_world(cfg, instantiate(cfg.env.world))
    with pytest.raises(Problem, match="is another than that of its env 'physics3'.*expected .3, 28., got .4, 29."):
        check_world(cfg, instantiate(cfg.env.world, num_objects=4))
    with pytest.raises(Problem, match="set env.observation= alone"):
        check_world(cfg, instantiate(cfg.env.world, observation="state"))


def test_splits_that_came_later_are_todays():
    assert splits_of_today("physics5")["fewer-1"]["mode"] == "fewer-1" and splits_of_today("no such env") == {}


@pytest.mark.parametrize("asked", [
    ["model=categorical", "loss=inverse_action", "env=chemistry_chain5"], ["model=random", "loss=whitened"],
    ["model=pairwise_lstm", "loss=infonce"],
])  # fmt: skip
def test_names_of_before_lead_to_the_classes_of_today(asked, compose, tmp_path):
    """The config of a saved run names files that have moved since: it is the same experiment, and its model is built."""
    now = freeze(compose("fit", *asked))
    text = OmegaConf.to_yaml(now)
    for old, new in MOVED.items():
        text = text.replace(f"{new}.", f"{old}.")
    assert text != OmegaConf.to_yaml(now)
    (tmp_path / "config.yaml").write_text(text)
    before = load_config(tmp_path)
    assert before == now and differences(before, now) is None and config_hash(before) == config_hash(now)
    instantiate(before.model.module)


def test_names_of_before_lead_to_the_curricula_of_today(compose, tmp_path):
    """The same for an agent, whose config names the phases of its curriculum, called turns before, and their actors."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("pybullet")
    now = freeze(compose("manipulation", "curriculum='2'"))
    text = OmegaConf.to_yaml(now)
    for room in ("curriculum", "actors"):
        assert f"envs.trifinger.interventions.{room}." in text
        text = text.replace(f"envs.trifinger.interventions.{room}.", f"envs.trifinger.{room}.")
    text = text.replace("phases:", "turns:").replace("curriculum.Phase", "curriculum.Turn")
    (tmp_path / "config.yaml").write_text(text)
    before = load_config(tmp_path, AGENT)
    assert before == now
    instantiate(before.curriculum.phases[0])


def test_agents_of_before_are_taken_up(compose, tmp_path):
    """Their configs knew neither learners but PPO, nor rewards, experts or evaluations;
    what they did is what stands there now."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("pybullet")
    now = freeze(compose("manipulation"))
    before = OmegaConf.to_container(now)
    for key in ("reward", "residual", "evaluate", "logger"):
        del before[key]
    del before["algo"]["name"]
    (tmp_path / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(before)))
    found = load_config(tmp_path, AGENT)
    assert differences(found, now) is None and found.evaluate.every is None and found.logger.name == "csv"
    assert "reward: nothing there" in differences(OmegaConf.create(before), now)


def test_no_name_of_before_stands_in_our_configs(root):
    """A name of the table is the past: a config of ours that used it would only work from a saved run."""
    texts = [path.read_text() for path in (root / "configs").rglob("*.yaml")]
    used = {name.rpartition(".")[0] for text in texts for name in re.findall(r"_target_: ([\w.]+)", text)}
    assert not used & MOVED.keys() and set(MOVED.values()) <= used


def test_no_object_is_left(both):
    """Boards without any object are refused; goals that differ from the start would be drawn forever."""
    world = instantiate(both[1].env.world, num_objects=2)
    with pytest.raises(Exception, match="leaves none of 2 objects"):
        world.reset(3, np.random.default_rng(0), "fewer-2")


def test_splits_that_came_later_within_a_command():
    """Seen as 'GlobalHydra is already initialized': a command has one, which composes just as well."""
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        assert splits_of_today("physics5")["fewer-1"]["mode"] == "fewer-1"


def test_a_world_that_is_drawn_otherwise_today(compose, tmp_path):
    """A run of chemistry from before objects were renumbered would be scored in another world, without a word."""
    config = freeze(compose("fit", "model=categorical", "loss=inverse_action", "env=chemistry_chain5"))
    with open_dict(config):
        del config.env.world["numbering"]
    OmegaConf.save(config, tmp_path / "config.yaml")
    with pytest.raises(Problem, match="causal model that its scm_seed no longer draws"):
        load_run(tmp_path)
    with pytest.raises(Problem, match="causal model that its scm_seed no longer draws"):  # and trained on in another, likewise
        choose_folder(OmegaConf.create({"resume": str(tmp_path)}))
    config.env.world.scm = "scm-0.npz"
    OmegaConf.save(config, tmp_path / "config.yaml")
    with pytest.raises(Problem, match="model.ckpt does not exist"):
        load_run(tmp_path)


@pytest.mark.parametrize("loss", ["contrastive", "infonce", "memory"])
def test_a_budget_that_came_later_changes_no_run(compose, loss):
    """Rounds of trainer=minutes, and a second negative that is switched off, are no part of what a run of before was."""
    now = freeze(compose("fit", "model=lstm", f"loss={loss}"))
    before = OmegaConf.create(OmegaConf.to_container(now))
    with open_dict(before):
        for key in [key for key in before.loss if key.endswith("epochs")]:
            del before.loss[key]["minutes"]
        if loss == "contrastive":
            del before.loss["same_episode"]
            del before.loss.stages[0].objective["same_episode"]
    assert config_hash(before) == config_hash(now) and differences(before, now) is None
    if loss == "contrastive":
        assert "same_episode" in differences(
            before, freeze(compose("fit", "model=lstm", "loss=contrastive", "loss.same_episode=true"))
        )


def test_pictures_and_frames_that_came_later_change_no_run_of_before(compose):
    """Runs of before were seen by the one camera there was, and encoded every frame of a window."""
    pytest.importorskip("pybullet")
    asked = ("fit", "model=ae", "loss=infonce_open_loop", "env=trifinger_pushing", "env.observation=pixels")
    now = freeze(compose(*asked))
    before = OmegaConf.create(OmegaConf.to_container(now))
    with open_dict(before):
        for key in ("camera", "drawn", "motion"):
            del before.env.world[key]
        del before.loss["later"], before.loss["batch_size"], before.loss.stages[0].objective["later"]
    assert config_hash(before) == config_hash(now) and differences(before, now) is None
    for other in ("env.world.camera=front", "env.world.drawn=2", "env.world.motion=0.04", "loss.later=3", "loss.batch_size=64"):
        changed = freeze(compose(*asked, other))
        assert config_hash(changed) != config_hash(now) and differences(before, changed), other
