"""Thirteen prior rules, of the configuration, and nine posterior rules, of what is seen to happen.

What both read is a dict `features`: the 24 features of the model by name, and for posterior rules a few measured quantities.
Keys of other categories may be left out, or be -1 and "irrelevant".

Features, with sizes, widths, heights and speeds in the paper's unit (two scene units):
  object_height, object_width, left_size, right_size, left_prior_speed, right_prior_speed, left_posterior_speed,
  right_posterior_speed, container_height, container_width, opening_width, opening_height (0 without an opening), contact_point
  (share of the width beyond the edge), middle_segment_height (share of the occluder's height): numbers, -1 where there is none;
  left_prior_direction, right_prior_direction, left_posterior_direction, right_posterior_direction: 0 left, 1 right, 2 none;
  wall_opening, wall_soft: 0 no, 1 yes, 2 none;
  object_shape, left_shape, right_shape: 0 cube, 1 sphere, 2 torus, 3 cylinder, 4 side_cylinder, 5 cone, 6 inverted_cone,
  7 none;
  container_shape: 0 box, 1 mug, 2 none.
Measured quantities, in scene units:
  A  center_moved: how far the object's center has moved on the support from its landing to the end.
  B  frames_seen_in_middle: in how many frames some of the object is seen over the middle segment.
  C  center_above_rim, top_above_rim: at the end;  center_aside: of the object from the container, 1 is the edge of the opening.
  E  center_beyond_wall: of the object from the far side of the wall, at the end.
"""

import numpy as np

from envs.problem import Problem
from envs.voe import geometry, shapes
from envs.voe.clip import SHAPES
from envs.voe.settings import CONTAINER_SHAPES

NO, YES, IRRELEVANT = 0, 1, 2
PRIOR = (
    "does_object_have_majority_contact_proportion", "does_object_have_majority_volume_proportion",
    "is_object_taller_than_middle", "is_object_taller_than_container", "is_object_thinner_than_container",
    "is_right_object_larger", "are_both_objects_same_size", "is_right_object_faster", "are_both_objects_same_speed",
    "is_there_an_opening", "is_the_blocker_soft", "is_object_thinner_than_opening", "is_object_shorter_than_opening",
)  # fmt: skip
POSTERIOR = (
    "does_support_hold_object", "see_object_in_middle", "did_the_object_fit", "did_the_object_protrude",
    "did_right_object_change_direction", "did_left_object_change_direction", "did_right_object_increase_speed",
    "did_left_object_increase_speed", "did_the_object_pass_through_the_wall",
)  # fmt: skip
PRIOR_OF = {"A": (0, 1), "B": (2,), "C": (3, 4), "D": (5, 6, 7, 8), "E": (9, 10, 11, 12)}
POSTERIOR_OF = {"A": (0,), "B": (1,), "C": (2, 3), "D": (4, 5, 6, 7), "E": (8,)}

# What a support holds does not move on it. Where its center is says too little: that of a surprising A1 hovers beyond the edge.
_HELD = 0.25  # scene units that something held may roll or settle
_STILL = 0.044  # speed below which an object stands: .01 scene units a frame
_FASTER = 1.01  # times its speed has an object that sped up
_SIGNS = {  # feature that only one category has -> the category, and what says that it is not there
    "contact_point": ("A", -1), "middle_segment_height": ("B", -1), "container_shape": ("C", 2), "left_size": ("D", -1),
    "wall_opening": ("E", 2),
}  # fmt: skip


def prior_rules(features: dict) -> np.ndarray:
    """(13,) int: 0 no, 1 yes, 2 irrelevant.

    They follow from the features alone, and are the same in all versions of a trial.
    """
    category, get = _reader(features)
    return _filled(13, PRIOR_OF[category], _PRIOR[category](get))


def posterior_rules(features: dict) -> np.ndarray:
    """(9,) int: 0 no, 1 yes, 2 irrelevant. They follow from what was measured in a clip; those of D from its features."""
    category, get = _reader(features)
    return _filled(9, POSTERIOR_OF[category], _POSTERIOR[category](get))


def category_of(features: dict) -> str:
    """The category whose own features are there."""
    found = [category for name, (category, none) in _SIGNS.items() if features.get(name, none) != none]
    if len(found) != 1:
        raise Problem(f"features must have one of {', '.join(_SIGNS)}, which says their category; these have {len(found)}")
    return found[0]


def _reader(features: dict):
    category = category_of(features)

    def get(name: str):
        if name not in features:
            raise Problem(f"the rules of category {category} need '{name}', which the features lack")
        return features[name]

    return category, get


def _filled(count: int, which: tuple[int, ...], answers: tuple) -> np.ndarray:
    rules = np.full(count, IRRELEVANT)
    rules[list(which)] = [bool(answer) for answer in answers]
    return rules


def _shape(get, name: str = "object_shape") -> str:
    number = int(get(name))
    if not 0 <= number < len(SHAPES):
        raise Problem(f"'{name}' must be the number of a shape, 0..{len(SHAPES) - 1}, not {number}")
    return SHAPES[number]


def _support(get) -> tuple:
    contact = float(get("contact_point"))
    return contact < 0.5 - 1e-6, geometry.volume_held(_shape(get), contact) > 0.5 + 1e-6


def _occlusion(get) -> tuple:
    return (geometry.visible_top(_shape(get), float(get("object_height")), float(get("middle_segment_height"))) > 0,)


def _containment(get) -> tuple:
    shape, container = _shape(get), CONTAINER_SHAPES[int(get("container_shape"))]
    height = 2 * float(get("object_height")) * shapes.half_extents(shape)[2]
    taller = height > geometry.depth(container, float(get("container_height")))
    reach = geometry.reach(shape, float(get("object_width")), container)
    return taller, reach < geometry.opening(container, float(get("container_width")))


def _collision(get) -> tuple:
    left, right = float(get("left_size")), float(get("right_size"))
    slow, fast = float(get("left_prior_speed")), float(get("right_prior_speed"))
    same_size, same_speed = abs(left - right) < 1e-6, abs(slow - fast) < 1e-3
    return right > left and not same_size, same_size, fast > slow and not same_speed, same_speed


def _barrier(get) -> tuple:
    is_open = int(get("wall_opening")) == YES
    thinner = is_open and float(get("object_width")) < float(get("opening_width")) - 1e-6
    shorter = is_open and float(get("object_height")) < float(get("opening_height")) - 1e-6
    return is_open, int(get("wall_soft")) == YES, thinner, shorter


def _held(get) -> tuple:
    return (float(get("center_moved")) < _HELD,)


def _seen(get) -> tuple:
    return (get("frames_seen_in_middle") > 0,)


def _contained(get) -> tuple:
    return float(get("center_above_rim")) < 0 and float(get("center_aside")) < 1, float(get("top_above_rim")) > 0


def _driven(get) -> tuple:
    changed, sped_up = [], []
    for side in ("right", "left"):
        before, after = float(get(f"{side}_prior_speed")), float(get(f"{side}_posterior_speed"))
        turned = int(get(f"{side}_prior_direction")) != int(get(f"{side}_posterior_direction"))
        changed.append(turned or after <= _STILL)
        sped_up.append(after > _FASTER * before)
    return *changed, *sped_up


def _passed(get) -> tuple:
    return (float(get("center_beyond_wall")) > 0,)


_PRIOR = {"A": _support, "B": _occlusion, "C": _containment, "D": _collision, "E": _barrier}
_POSTERIOR = {"A": _held, "B": _seen, "C": _contained, "D": _driven, "E": _passed}
