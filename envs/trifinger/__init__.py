"""TriFinger: a CausalWorld-class manipulation benchmark. Needs the extra: pip install '.[trifinger]'.

from envs.trifinger import make, overlap
env = make("pushing", skip_frame=3)
"""

from importlib import import_module

from envs.problem import lacking, nearest

_HOMES = {"TriFingerEnv": "env", "Verdict": "interventions.interventions", "overlap": "scene.overlap"}
__all__ = ["TriFingerEnv", "Verdict", "make", "overlap"]


def __getattr__(name: str):
    """Imports on first use: Gymnasium's ids must exist where the extra is not installed."""
    if name not in _HOMES:
        raise AttributeError(f"envs.trifinger has no '{name}': {nearest(name, __all__)}")
    try:
        return getattr(import_module(f"envs.trifinger.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        raise lacking(error.name) from error


def make(task="pushing", **options):
    """An environment of a task by its name, or of the user's own Task; options are those of TriFingerEnv."""
    return __getattr__("TriFingerEnv")(task, **options)
