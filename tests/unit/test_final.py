"""Whose episodes `final` is: drawn worlds that nobody chose on, and boards that no split of another name has."""

import json

import pytest
from omegaconf import OmegaConf

from envs.collect import plan_of
from envs.problem import Problem
from eval.runs import Run
from eval.runs.final import open_final, setting_of


def of_world(compose, number: int, *asked: str) -> Run:
    """In a drawn world."""
    config = compose("fit", "env=chemistry_chain5", f"env.world.scm_seed={number}", *asked)
    return Run(None, OmegaConf.create(OmegaConf.to_container(config, resolve=True)))


@pytest.mark.parametrize("number", [0, 9, 15])
def test_final_is_asked_of_worlds_that_nobody_chose_on(compose, tmp_path, number):
    with pytest.raises(Problem, match=f"asked of the drawn worlds 10 to 14, .* got env.world.scm_seed={number}"):
        open_final(of_world(compose, number), tmp_path)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    "asked",
    [(), ("model=categorical", "loss=inverse_action"), ("model=categorical", "loss=inverse_action", "model.graph=given")],
)
def test_all_kept_worlds_share_a_setting(compose, tmp_path, asked):
    """With a model that is told the graph too, which is that of the drawn world: the second of them was refused."""
    for number in (10, 14):
        open_final(run := of_world(compose, number, *asked), tmp_path)
        assert run.final_is_open
    assert len(list((tmp_path / "frozen").rglob("*.json"))) == 1
    assert setting_of(of_world(compose, 10, *asked).config) == setting_of(of_world(compose, 14, *asked).config)


@pytest.mark.parametrize("lacks", [("numbering",), ("scm_seed", "graph"), ("scm_seed",)])
def test_configs_of_before_have_a_setting_too(compose, lacks):
    """A saved causal model has no numbers of its own, and its config was read with a traceback."""
    config = of_world(compose, 10, "model=categorical", "loss=inverse_action").config
    config.env.world.scm = "scm-of-before.npz"
    for key in lacks:
        del config.env.world[key]
    assert setting_of(config)["model"]["module"]["transition"]["parents"] == OmegaConf.to_container(
        config.model.module.transition.parents
    )


def test_another_graph_than_that_of_the_world_is_another_setting(compose, tmp_path):
    asked = "model=categorical", "loss=inverse_action", "model.graph=given"
    open_final(of_world(compose, 10, *asked), tmp_path)
    run = of_world(compose, 10, *asked)
    run.config.model.module.transition.parents[0][1] = 1 - run.config.model.module.transition.parents[0][1]
    with pytest.raises(Problem, match="under another setting .*parents: of the drawn world there"):
        open_final(run, tmp_path)


@pytest.mark.parametrize("asked, said", [
    ("+env.splits.train.block_rows=500", "splits.train.block_rows: nothing there, 500 here"),
    ("env.splits.final.seed=77", "splits.final.seed: 31 there, 77 here"),
    ("env.splits.final.episodes=9", "splits.final.episodes"),
    ("env.splits.train.seed=5", "env.splits.train.seed: 1 there, 5 here"),
])  # fmt: skip
@pytest.mark.parametrize("before", [False, True])
def test_final_is_of_the_same_episodes(compose, tmp_path, asked, said, before):
    """Other episodes of training or of `final` itself opened it; files of before do not say which those were."""
    open_final(Run(None, compose("fit", "env=physics3")), tmp_path)
    if before:
        (path,) = (tmp_path / "frozen").rglob("*.json")
        path.write_text(json.dumps({key: value for key, value in json.loads(path.read_text()).items() if key != "final"}))
    open_final(Run(None, compose("fit", "env=physics3")), tmp_path)
    with pytest.raises(Problem, match=said):
        open_final(Run(None, compose("fit", "env=physics3", asked)), tmp_path)


def test_nobody_chooses_on_the_episodes_of_final(compose, tmp_path):
    """A split of another name with its seed has its very boards."""
    env = OmegaConf.to_container(compose("fit", "env=physics3", "env.splits.select.seed=31").env)
    with pytest.raises(
        Problem,
        match="split 'select' of env 'physics3' has the seed of split 'final', 31, "
        ".* set env.splits.select.seed= to another",
    ):
        plan_of(env, "select")
    assert plan_of(env, "final")["seed"] == 31
    del env["splits"]["final"]  # open_final knows it all the same
    config = compose("fit", "env=physics3", "env.splits.select.seed=31", "score.split=select", "~env.splits.final")
    with pytest.raises(Problem, match="split 'select' of env 'physics3' has the seed of split 'final'"):
        open_final(Run(None, config), tmp_path)
    env["splits"]["final"] = None
    assert plan_of(env, "train")["seed"] == 1, "an env without it is asked as before"


def test_older_frozen_files_are_read(compose, tmp_path):
    """Of an env that configs/ do not know, and a damaged one."""
    config = OmegaConf.create(OmegaConf.to_container(compose("fit", "env=physics3")))
    config.env.name = "mine"
    open_final(Run(None, config), tmp_path)
    (path,) = (tmp_path / "frozen").rglob("*.json")
    frozen = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in frozen.items() if key != "final"}))
    open_final(Run(None, config), tmp_path)
    del frozen["setting"]["env"]["splits"]
    path.write_text(json.dumps(frozen))
    with pytest.raises(Problem, match="under another setting"):
        open_final(Run(None, config), tmp_path)
