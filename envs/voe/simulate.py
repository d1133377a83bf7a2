"""A setting becomes a clip: what happens in its category, in the version that is asked for."""

from envs.problem import Problem, nearest
from envs.voe import barrier, collision, containment, occlusion, support
from envs.voe.clip import Version
from envs.voe.scenes import Simulated
from envs.voe.settings import Setting

_CATEGORIES = {"A": support, "B": occlusion, "C": containment, "D": collision, "E": barrier}


def simulate(setting: Setting, version: Version | str) -> Simulated:
    """The clip, and the frame of the moment of the cause, before which all versions of a trial have the same poses.

    It depends on nothing but its arguments: two calls give the same bits, in any order and in any process.
    """
    if version not in tuple(Version):
        raise Problem(f"there is no version '{version}' of a clip: {nearest(str(version), tuple(Version))}")
    return _CATEGORIES[setting.category].simulate(setting, Version(version))
