"""TriFinger: a CausalWorld-class manipulation benchmark. Needs the extra: pip install '.[trifinger]'.

from envs.trifinger import make, overlap
env = make("pushing", skip_frame=3)

Importing this file imports nothing of the extra, so that the Gymnasium ids (causalwm/TriFingerPushing-v0) exist without it.
"""

from importlib import import_module

import gymnasium as gym

from envs.problem import Problem, lacking, nearest

_HOMES = {"TriFingerEnv": "env.env", "Verdict": "interventions.interventions", "overlap": "scene.overlap"}
__all__ = ["TriFingerEnv", "Verdict", "make", "overlap"]
NAMES = ("reaching", "pushing", "picking", "pick_and_place", "stacking2", "towers", "stacked_blocks",
         "creative_stacked_blocks", "general")  # fmt: skip


def __getattr__(name: str):
    """Imports on first use, so that a missing extra is reported by what needs it."""
    if name not in _HOMES:
        raise AttributeError(f"envs.trifinger has no '{name}': {nearest(name, __all__)}")
    try:
        return getattr(import_module(f"envs.trifinger.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        raise lacking(error.name) from error


def make(task="pushing", **options):
    """An environment of a task by its name, or of the user's own Task; options are those of TriFingerEnv."""
    return __getattr__("TriFingerEnv")(task, **options)


def gym_id(name: str) -> str:
    """pick_and_place -> causalwm/TriFingerPickAndPlace-v0"""
    return f"causalwm/TriFinger{''.join(part.capitalize() for part in name.split('_'))}-v0"


def make_registered(id_of: str, task: str | None = None, **options):
    """The environment of a Gymnasium id. A Problem where `task` names another one."""
    if task not in (None, id_of):
        raise Problem(f"{gym_id(id_of)} is the task '{id_of}', not {task!r}; leave task= out, or make the task's own id")
    return make(id_of, **options)


def register() -> None:
    """Adds every task to Gymnasium."""
    for name in NAMES:
        gym.register(gym_id(name), entry_point="envs.trifinger:make_registered", kwargs={"id_of": name})
