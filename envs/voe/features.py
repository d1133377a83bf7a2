"""The 24 features of a trial by name, and what the posterior rules measure in a clip."""

import numpy as np

from envs.voe import barrier, collision, containment, geometry, occlusion, support
from envs.voe.clip import SHAPES, Clip
from envs.voe.settings import CONTAINER_SHAPES, Setting

# name -> the value that says "irrelevant": -1 for a number, the last class for a class
FEATURES = {
    "object_height": -1, "object_width": -1, "left_size": -1, "right_size": -1, "left_prior_speed": -1, "right_prior_speed": -1,
    "left_posterior_speed": -1, "right_posterior_speed": -1, "left_prior_direction": 2, "right_prior_direction": 2,
    "left_posterior_direction": 2, "right_posterior_direction": 2, "container_height": -1, "container_width": -1,
    "wall_opening": 2, "wall_soft": 2, "opening_width": -1, "opening_height": -1, "contact_point": -1,
    "middle_segment_height": -1, "object_shape": 7, "left_shape": 7, "right_shape": 7, "container_shape": 2,
}  # fmt: skip
CLASSES = {name: none + 1 for name, none in FEATURES.items() if none > 0}  # how many a class has, "irrelevant" with them
RELEVANT = {
    "A": (0, 1, 18, 20), "B": (0, 1, 19, 20), "C": (0, 1, 12, 13, 20, 23), "D": (*range(2, 12), 21, 22),
    "E": (0, 1, 14, 15, 16, 17, 20),
}  # fmt: skip


def features(setting: Setting, clip: Clip) -> dict[str, float]:
    """The category's own features, and the measured quantities that its posterior rules need (names in `rules.py`)."""
    return {**_configured(setting), **_MEASURED[setting.category](setting, clip)}


def vector(features: dict[str, float]) -> np.ndarray:
    """(24,) float: in the order of `FEATURES`; what is not there is irrelevant."""
    return np.array([features.get(name, none) for name, none in FEATURES.items()], float)


def relevant(category: str) -> np.ndarray:
    """(24,) bool: which features the category has."""
    mask = np.zeros(len(FEATURES), bool)
    mask[list(RELEVANT[category])] = True
    return mask


def _configured(setting: Setting) -> dict[str, float]:
    if setting.category == "D":
        return {
            "left_size": setting.left_size, "right_size": setting.right_size,
            "left_shape": SHAPES.index(setting.left_shape), "right_shape": SHAPES.index(setting.right_shape),
        }  # fmt: skip
    found = {"object_height": setting.height, "object_width": setting.width, "object_shape": SHAPES.index(setting.shape)}
    if setting.category == "A":
        return found | {"contact_point": setting.contact}
    if setting.category == "B":
        return found | {"middle_segment_height": setting.middle}
    if setting.category == "C":
        return found | {
            "container_height": setting.container_height, "container_width": setting.container_width,
            "container_shape": CONTAINER_SHAPES.index(setting.container),
        }  # fmt: skip
    return found | {
        "wall_opening": int(setting.barrier == "opening"), "wall_soft": int(setting.barrier == "soft"),
        "opening_width": setting.opening_width, "opening_height": setting.opening_height,
    }  # fmt: skip


def _support(setting: Setting, clip: Clip) -> dict[str, float]:
    return {"center_moved": support.moved(clip)}


def _occlusion(setting: Setting, clip: Clip) -> dict[str, float]:
    return {"frames_seen_in_middle": occlusion.seen_in_middle(setting, clip)}


def _containment(setting: Setting, clip: Clip) -> dict[str, float]:
    center, top, aside = containment.rests(setting, clip)
    half = geometry.opening(setting.container, setting.container_width)
    return {"center_above_rim": center, "top_above_rim": top, "center_aside": aside / half}


def _collision(setting: Setting, clip: Clip) -> dict[str, float]:
    found = {}
    for side in ("left", "right"):
        for when, speed in zip(("prior", "posterior"), collision.speeds(clip, side)):
            found[f"{side}_{when}_speed"] = abs(speed)
            found[f"{side}_{when}_direction"] = int(speed >= 0)
    return found


def _barrier(setting: Setting, clip: Clip) -> dict[str, float]:
    return {"center_beyond_wall": barrier.beyond(clip)}


_MEASURED = {"A": _support, "B": _occlusion, "C": _containment, "D": _collision, "E": _barrier}
