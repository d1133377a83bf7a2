"""Checks of options of TriFingerEnv."""

import numpy as np

from envs.bodies.rendering.open import RENDERERS
from envs.problem import Problem, nearest
from envs.trifinger.scene.variables import SOURCES, SPACES

_CHOICES = {
    "observation": ("structured", "pixel"), "score": ("exact", "legacy"),
    "space": (*SPACES, None), "source": SOURCES, "renderer": RENDERERS, "render_mode": ("rgb_array", None),
}  # fmt: skip


def check_choices(**chosen) -> None:
    """Raises Problem on an unknown value of an option."""
    for name, value in chosen.items():
        if value not in _CHOICES[name]:
            raise Problem(f"there is no {name} '{value}': {nearest(str(value), filter(None, _CHOICES[name]))}")


def check_steps(skip_frame: int, max_steps: int | None) -> None:
    """Raises Problem on an invalid number of steps."""
    if not (isinstance(skip_frame, int | np.integer) and skip_frame > 0) or skip_frame is True:
        raise Problem(f"skip_frame must be a whole number of time steps from 1 on, got {skip_frame!r}")
    if max_steps is not None and not (isinstance(max_steps, int) and max_steps > 0):
        raise Problem(f"max_steps must be a whole number from 1 on, or None = the task's time limit; got {max_steps!r}")
