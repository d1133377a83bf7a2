"""What a clip is labeled with: features, rules, sub-type."""

import numpy as np

from envs.voe.clip import Clip, Version
from envs.voe.collision import subtype as collision_subtype
from envs.voe.containment import rests
from envs.voe.features import features, relevant, vector
from envs.voe.geometry import visible_top
from envs.voe.rules import posterior_rules, prior_rules
from envs.voe.settings import Setting
from envs.voe.simulate import simulate
from envs.voe.support import overhang

_BARRIERS = {"soft": "E1", "solid": "E2", "opening": "E3"}


def label(setting: Setting, clip: Clip) -> dict[str, np.ndarray]:
    """features (24,) float, relevant (24,) bool, prior (13,) int, posterior (9,) int; 2 in rules is "irrelevant"."""
    found = features(setting, clip)
    return {
        "features": vector(found),
        "relevant": relevant(setting.category),
        "prior": prior_rules(found),
        "posterior": posterior_rules(found),
    }


def subtype(setting: Setting, expected: Clip | None = None) -> str:
    """A1 .. E3. That of C follows from the expected clip, which is simulated where it is not given."""
    if setting.category == "A":
        return "A1" if overhang(setting) > 0.5 else "A2"
    if setting.category == "B":
        return "B2" if visible_top(setting.shape, setting.height, setting.middle) > 0 else "B1"
    if setting.category == "D":
        return collision_subtype(setting)
    if setting.category == "E":
        return _BARRIERS[setting.barrier]
    expected = simulate(setting, Version.EXPECTED).clip if expected is None else expected
    return "C2" if rests(setting, expected)[1] > 0 else "C1"
