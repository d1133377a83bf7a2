"""Settings: what may differ between two trials of a category. They are drawn without repeats, or those of the published set.

Sizes, heights, widths and speeds are in the paper's unit, two scene units.
"""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import numpy as np

from envs.problem import Problem, nearest
from envs.voe.clip import CATEGORIES, SHAPES

PRESETS = ("supplement", "released")
BARRIERS = ("solid", "soft", "opening")
CONTAINER_SHAPES = ("box", "mug")
COLORS = ("by_shape", "random")
TRIALS = 5000  # of a category
SEGMENTS = {"train": (1, 3750, 375), "valid": (3751, 4500, 75), "test": (4501, 5000, 50)}  # first, last, how many are the 10 %


@dataclass(frozen=True)
class Setting:
    """One trial of one category; what the category does not have is None.

    A: shape, width, height, contact (share of the width over the edge).  B: shape, width, height, middle (height of the
    occluder's middle segment as a share of the occluder's).  C: shape, width, height, container (box, mug), container_width,
    container_height, choice (no_contain, no_protrude).  D: left_shape, right_shape, left_size, right_size, left_speed,
    right_speed, choice (left, right: the side that acts as if heavier where both are equal).  E: shape, width, height, barrier
    (solid, soft, opening), opening_width, opening_height.
    choice: how the surprising version is made where there are two ways; "": drawn by seed and trial.
    colors: by_shape as published, or random, drawn by seed and trial.
    """

    category: str
    trial: int
    shape: str | None = None
    width: float | None = None
    height: float | None = None
    contact: float | None = None
    middle: float | None = None
    container: str | None = None
    container_width: float | None = None
    container_height: float | None = None
    left_shape: str | None = None
    right_shape: str | None = None
    left_size: float | None = None
    right_size: float | None = None
    left_speed: float | None = None
    right_speed: float | None = None
    barrier: str | None = None
    opening_width: float | None = None
    opening_height: float | None = None
    choice: str = ""
    colors: str = "by_shape"
    seed: int = 0

    def __post_init__(self) -> None:
        _known(self.category, CATEGORIES, "category")
        for name in FIELDS[self.category]:
            value = getattr(self, name)
            if value is None:
                needs = ", ".join(FIELDS[self.category])
                raise Problem(f"a setting of category {self.category} lacks '{name}'; it needs: {needs}")
            if name in _CHOICES:
                _known(value, _CHOICES[name], name)
            elif not np.isfinite(value) or value < 0 or (value == 0 and not name.startswith("opening")):
                raise Problem(f"'{name}' of a setting must be a positive number, not {value}")
        _known(self.colors, COLORS, "colors")
        if self.choice and self.choice not in _WAYS.get(self.category, ()):
            raise Problem(f"category {self.category} has no choice '{self.choice}'; it has: {_WAYS.get(self.category, ())}")

    @property
    def segment(self) -> str:
        return segment(self.trial)

    @property
    def way(self) -> str:
        """`choice`, drawn where it is left open; "" in categories with one way."""
        ways = _WAYS.get(self.category, ("",))
        return self.choice or ways[int(self.rng(1).integers(len(ways)))]

    def rng(self, stream: int) -> np.random.Generator:
        """Numbers of this trial alone."""
        return np.random.default_rng([self.seed, ord(self.category), self.trial, stream])


FIELDS = {
    "A": ("shape", "width", "height", "contact"),
    "B": ("shape", "width", "height", "middle"),
    "C": ("shape", "width", "height", "container", "container_width", "container_height"),
    "D": ("left_shape", "right_shape", "left_size", "right_size", "left_speed", "right_speed"),
    "E": ("shape", "width", "height", "barrier", "opening_width", "opening_height"),
}
_CHOICES = {
    "shape": SHAPES, "left_shape": SHAPES, "right_shape": SHAPES, "container": CONTAINER_SHAPES, "barrier": BARRIERS,
}  # fmt: skip
_WAYS = {"C": ("no_contain", "no_protrude"), "D": ("left", "right")}


def _known(value, known, what: str) -> None:
    if value not in known:
        raise Problem(f"there is no {what} '{value}': {nearest(str(value), known)}")


def _steps(low: float, high: float, step: float = 0.1, *more: float) -> tuple[float, ...]:
    return tuple(round(low + i * step, 3) for i in range(round((high - low) / step) + 1)) + more


_NOT = {"A": "inverted_cone", "D": "torus"}  # of no use there: it falls over, or rolls
_SHAPES = {category: tuple(shape for shape in SHAPES if shape != _NOT.get(category)) for category in CATEGORIES}
_D = {
    "left_shape": _SHAPES["D"], "right_shape": _SHAPES["D"],
    "left_size": _steps(0.5, 1.5, 0.25), "right_size": _steps(0.5, 1.5, 0.25),
    "left_speed": _steps(0.5, 2.5, 0.5), "right_speed": _steps(0.5, 2.5, 0.5),
}  # fmt: skip
_BODY = {"width": _steps(0.4, 1.6), "height": _steps(0.4, 1.6)}
GRIDS = {
    "supplement": {
        "A": {"shape": _SHAPES["A"], **_BODY, "contact": _steps(0.2, 0.8)},
        "B": {"shape": SHAPES, **_BODY, "middle": _steps(0.1, 0.9)},
        "C": {"shape": SHAPES, **_BODY, "container": CONTAINER_SHAPES,
              "container_width": _steps(0.5, 1.5), "container_height": _steps(0.5, 1.5)},
        "D": _D,
        "E": {"shape": SHAPES, **_BODY, "barrier": BARRIERS,
              "opening_width": _steps(0.4, 1.4), "opening_height": _steps(0.4, 1.4)},
    },
    "released": {
        "A": {"shape": _SHAPES["A"], "width": _steps(0.4, 1.0) + _steps(1.2, 1.8), "height": _steps(0.6, 1.4),
              "contact": _steps(0.2, 0.8)},
        "B": {"shape": SHAPES, "width": _steps(0.4, 1.4, 0.1, 1.6), "height": _steps(0.4, 1.4, 0.1, 1.6),
              "middle": _steps(0.1, 0.9)},
        "C": {"shape": SHAPES, "width": _steps(0.4, 1.4, 0.2), "height": _steps(0.4, 1.4, 0.2), "container": CONTAINER_SHAPES,
              "container_width": _steps(0.7, 1.5, 0.2), "container_height": _steps(0.5, 1.3, 0.2)},
        "D": _D,
        "E": {"shape": SHAPES, "width": _steps(0.4, 1.6), "height": _steps(0.4, 1.4), "barrier": BARRIERS,
              "opening_width": _steps(0.6, 1.6), "opening_height": _steps(0.6, 1.8)},
    },
}  # fmt: skip


def segment(trial: int) -> str:
    """train, valid or test: of a trial number (1..5000)."""
    for name, (first, last, _) in SEGMENTS.items():
        if first <= trial <= last:
            return name
    raise Problem(f"there is no trial {trial}; the trials of a category are 1..{TRIALS}")


def trials(split: str, full: bool = False) -> range:
    """Trial numbers of a segment: of the 10 % set, or of the full one."""
    _known(split, SEGMENTS, "segment")
    first, last, tenth = SEGMENTS[split]
    return range(first, last + 1 if full else first + tenth)


def stream(category: str, preset: str, seed: int) -> Iterator[dict]:
    """Settings as dicts, each uniform over the grid and none twice; it ends with the grid.

    As in the published set D never differs in size and in speed, and the kind of a barrier is drawn first, so that solid and
    soft ones, of which there are few, run short.
    """
    _known(category, CATEGORIES, "category")
    _known(preset, PRESETS, "preset")
    grid, rng, seen, misses = GRIDS[preset][category], np.random.default_rng([seed, ord(category)]), set(), 0
    while misses < 200_000:
        found = {name: values[i] for (name, values), i in zip(grid.items(), rng.integers([len(v) for v in grid.values()]))}
        misses += 1
        if category == "D" and found["left_size"] != found["right_size"] and found["left_speed"] != found["right_speed"]:
            continue
        if category == "E" and found["barrier"] != "opening":
            found |= {"opening_width": 0.0, "opening_height": 0.0}
        if (key := tuple(found.values())) not in seen:
            seen.add(key)
            misses = 0
            yield found


def enters(setting: Setting) -> bool:
    """Whether the object is no wider than the container: asked of C for validation and for test."""
    wider = 1.25 if setting.shape == "torus" and setting.container == "box" else 1.0
    return setting.width * wider <= setting.container_width + 1e-9


def sample(category: str, preset: str = "supplement", seed: int = 0, colors: str = "by_shape") -> list[Setting]:
    """5000 settings of a category, in the order of their trials."""
    drawn, found = stream(category, preset, seed), []
    for values in drawn:
        setting = Setting(category, len(found) + 1, **values, colors=colors, seed=seed)
        if category == "C" and setting.segment != "train" and not enters(setting):
            continue
        found.append(setting)
        if len(found) == TRIALS:
            return found
    raise Problem(f"the grid of category {category}, preset '{preset}', has no {TRIALS} settings that were asked for")


_COLUMNS = {
    "obj_width": "width", "obj_height": "height", "contact_point": "contact", "occluder_height": "middle",
    "left_height": "left_size", "right_height": "right_size", "wall_type": "barrier",
}  # fmt: skip
_WORDS = {"Normal": "solid", "Soft": "soft", "Open": "opening", "no_protude": "no_protrude"}


@lru_cache
def _published(category: str) -> tuple[Setting, ...]:
    raw = files("envs.voe").joinpath(f"released/{category}.csv.gz").read_bytes()
    rows = csv.DictReader(gzip.decompress(raw).decode().splitlines())
    values = ({_COLUMNS.get(name, name): _value(name, text) for name, text in row.items()} for row in rows)
    return tuple(Setting(category, trial, **value) for trial, value in enumerate(values, 1))


def _value(column: str, text: str) -> float | str:
    if column.endswith("shape") or column in ("container", "wall_type", "choice"):
        return _WORDS.get(text, text.lower() if column != "choice" else text)
    return float(text)


def published(category: str, colors: str = "by_shape", seed: int = 0) -> list[Setting]:
    """The 5000 settings of the published set (MIT licence in envs/voe/released), in the order of their trials.

    seed: of what they leave open: random colours, some ways and sides.
    """
    _known(category, CATEGORIES, "category")
    usual = colors == "by_shape" and seed == 0
    return [setting if usual else replace(setting, colors=colors, seed=seed) for setting in _published(category)]
