"""The recipes of docs/extend.md for a model, a world, a metric, a loss and a planner, followed to the letter."""

import json
import re
import shutil
import sys

import pytest
from omegaconf import OmegaConf
from parts import pair

import envs
import eval.planning
import eval.probes
import losses
import models.encoders
import models.transitions
from configs import command, overrides
from envs.problem import Problem
from eval.planning.planners import planners


@pytest.fixture
def here(root, tmp_path, monkeypatch):
    """A folder whose configs, models, losses and worlds are found beside ours."""
    shutil.copytree(root / "configs", tmp_path / "configs", ignore=shutil.ignore_patterns("__pycache__"))
    for module in (command, overrides):
        monkeypatch.setattr(module, "HERE", tmp_path / "configs")
    for package in (models.transitions, models.encoders, losses, envs, eval.probes, eval.planning):
        folder = tmp_path / package.__name__.replace(".", "/")
        folder.mkdir(parents=True)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    yield tmp_path
    for package in ("models.transitions", "models.encoders", "losses", "envs", "eval.probes", "eval.planning"):
        sys.modules.pop(f"{package}.mine", None)


def recipes(root):
    """File -> what the page says stands in it."""
    section = (root / "docs" / "extend.md").read_text()
    return dict(re.findall(r"```\w+\n# ([^\n]+)\n(.*?)```", section, re.S))


def test_the_recipes_of_the_page_work_as_they_stand(root, here, command_here, small, monkeypatch):
    """All at once, on a clip in which nobody acts: followed to the letter the recipes once ended in another class's arguments,
    in another's name, and in a traceback."""
    found = recipes(root)
    assert set(found) == {"models/transitions/mine.py", "configs/model/mine.yaml", "envs/mine.py", "configs/env/mine.yaml",
                          "eval/probes/mine.py", "losses/mine.py", "configs/loss/mine.yaml", "models/encoders/mine.py",
                          "configs/model/seen.yaml", "eval/planning/mine.py", "configs/planner/mine.yaml"}  # fmt: skip
    for path, text in found.items():
        (here / path).write_text(text)
    monkeypatch.setattr("parts.CONFIGS", here / "configs")
    assert pair("mine", "mine"), "contract tests ask every loss, also one that has no needs"
    # as equal effort does
    tuned = ["loss.learning_rate=4e-3", "loss.window=1", "loss.stages.0.weight_decay=0.03", "loss.stages.0.hard_share=0.75"]
    done = command_here(
        "train/fit.py", *small, *tuned, "model=mine", "env=mine", "loss=mine", cwd=here
    )
    assert done.returncode == 0, done.stderr[-2000:]
    folder = here / "runs/mine-mine-mine-smoke-s0"
    config = OmegaConf.load(folder / "config.yaml")
    assert config.env.world._target_ == "envs.mine.Discs" and config.model.module.transition.width == 16
    metrics = json.loads((folder / "results.json").read_text())["metrics"]
    assert {"test/hits@1/h1", "floor/copy/hits@1/h1", "test/drift/h1"} <= metrics.keys()
    assert not [name for name in metrics if "cf_" in name or name.startswith(("plan/", "structure/"))]
    assert "drift of the latents" in done.stdout and "drift of the latents" in (folder / "report.html").read_text()


def test_an_encoder_and_a_planner_of_the_page_work_as_they_stand(root, here, command_here, small, monkeypatch):
    """The keys of another encoder were given to it, and the planner was made with a seed that it did not take."""
    for path, text in recipes(root).items():
        if "encoders" in path or "seen" in path or "plan" in path:
            (here / path).write_text(text)
    plan = here / "configs/plan.yaml"
    plan.write_text(plan.read_text().replace("  - _self_\n", "  - planner@mine: mine\n  - _self_\n", 1))
    for module in ("planners", "kept"):
        monkeypatch.setattr(f"eval.planning.{module}.CONFIGS", here / "configs")
    planners.cache_clear()
    fit = ["train/fit.py", *small, "model=seen", "env=physics3", "loss=infonce", "goals=false", "name=seen"]
    assert (done := command_here(*fit, cwd=here)).returncode == 0, done.stderr[-2000:]
    asked = ["run=runs/seen", "planners=[mine]", "reward=latent", "horizons=[1]", "episodes=20"]
    done = command_here("eval/plan.py", *asked, cwd=here)
    planners.cache_clear()
    assert done.returncode == 0 and "some actions that are drawn" in done.stdout, done.stderr[-2000:]
    again = command_here(*fit, cwd=here)
    assert "after a change of its code train it anew, with overwrite=true" in again.stdout


def test_an_entry_with_the_name_of_another_is_refused(here):
    """A copied model kept the name modular, and its runs were taken for those of modular."""
    shutil.copy(here / "configs/model/modular.yaml", here / "configs/model/mine.yaml")
    with pytest.raises(Problem, match="configs/model/mine.yaml has the name 'modular'; write name: mine there"):
        command.check("fit", ["model=mine"])
    command.check("fit", ["-m", "model=modular,edge", "seed=3"])


def test_an_entry_without_a_name_of_its_own_is_refused(here):
    """Its name came from the entry it begins with, and its runs were taken for those of that one."""
    mine = here / "configs/env/mine.yaml"
    mine.write_text("defaults: [physics3, _self_]\nnum_objects: 3\n")
    for value in ("mine", "physics5,mine"):
        with pytest.raises(Problem, match="configs/env/mine.yaml has the name 'physics3'; write name: mine there"):
            command.check("fit", ["-m", f"env={value}"])
    mine.write_text("defaults: [physics3, _self_]\nname: mine\n")
    command.check("fit", ["env=mine"])
    command.check("fit", ["experiment=hidden_weights"])
