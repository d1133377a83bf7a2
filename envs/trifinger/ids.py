"""Gymnasium ids of the tasks: causalwm/TriFingerPushing-v0 and so on. Imports nothing heavy: the extra may be missing."""

import gymnasium as gym

from envs.problem import Problem

NAMES = ("reaching", "pushing", "picking", "pick_and_place", "stacking2", "towers", "stacked_blocks",
         "creative_stacked_blocks", "general")  # fmt: skip


def gym_id(name: str) -> str:
    """pick_and_place -> causalwm/TriFingerPickAndPlace-v0"""
    return f"causalwm/TriFinger{''.join(part.capitalize() for part in name.split('_'))}-v0"


def make_registered(id_of: str, task: str | None = None, **options):
    """The environment of an id. A Problem where `task` names another one."""
    from envs.trifinger import make

    if task not in (None, id_of):
        raise Problem(f"{gym_id(id_of)} is the task '{id_of}', not {task!r}; leave task= out, or make the task's own id")
    return make(id_of, **options)


def register() -> None:
    """Add every task; making one without the extra says what to install."""
    for name in NAMES:
        gym.register(gym_id(name), entry_point="envs.trifinger.ids:make_registered", kwargs={"id_of": name})
