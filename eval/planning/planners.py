"""The planners of configs/planner: which there are, their labels and settings, and how one is made."""

from functools import cache
from pathlib import Path

from hydra.utils import get_class, instantiate
from omegaconf import OmegaConf

from envs.problem import Problem, nearest

CONFIGS = Path(__file__).parents[2] / "configs"
_OWN = ("label", "weights", "_target_")  # keys of a planner's file that are no settings


@cache
def planners() -> dict[str, dict]:
    """Planner -> its file, in the order of configs/plan.yaml, which is that of tables."""
    defaults = OmegaConf.to_container(OmegaConf.load(CONFIGS / "plan.yaml"))["defaults"]
    named = [name for entry in defaults if isinstance(entry, dict) for key, name in entry.items() if key.startswith("planner@")]
    return {name: _read(name) for name in named}


def _read(name: str) -> dict:
    """A planner's file, over those that it begins with."""
    own = OmegaConf.to_container(OmegaConf.load(CONFIGS / "planner" / f"{name}.yaml"))
    below = [_read(other) for other in own.pop("defaults", []) if other != "_self_"]
    return {key: value for file in (*below, own) for key, value in file.items()}


def labels() -> dict[str, str]:
    """Planner -> how its row is called."""
    return {name: planner["label"] for name, planner in planners().items()}


def settings(composed: dict) -> dict:
    """The settings in a planner's part of a composed config."""
    return {key: value for key, value in composed.items() if key not in _OWN}


def check_name(name: str) -> None:
    """Raises Problem where there is no such planner."""
    if name not in planners():
        near = nearest(str(name), planners())
        raise Problem(f"there is no planner '{name}': {near}; a new one has a line in configs/plan.yaml")


def check_planner(name: str, model, world) -> None:
    """Raises Problem where a planner cannot plan with this model in this world."""
    get_class(planners()[name]["_target_"]).check(model, world)


def weights_of(name: str) -> str:
    """Of which model a planner is asked: trained, or untrained, of random weights."""
    return planners()[name].get("weights", "trained")


def make_planner(name: str, own: dict, model, world, distance, seed: int):
    """A `Policy` or an `Oracle`.  own: settings, the others are those of the planner's file."""
    planner = planners()[name]
    asked = {"_target_": planner["_target_"], **settings(planner), **own}
    return instantiate(asked, _partial_=True)(model=model, world=world, distance=distance, seed=seed)
