"""The sizes that models are built from: the columns that they may be shown, the action, the number of objects.

The header of every episode file holds `EnvSpec.to_dict()`, so that files describe themselves.
"""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields

from envs.problem import Problem, nearest

VALUES = ("binary", "real")


def _whole(value, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tuple(instance, name: str) -> tuple:
    """A field that JSON gives back as a list."""
    value = getattr(instance, name)
    if not isinstance(value, list | tuple):
        raise Problem(f"{name} of {type(instance).__name__} is a list of numbers, got {value!r}; write {name}=[...]")
    object.__setattr__(instance, name, tuple(value))
    return tuple(value)


@dataclass(frozen=True)
class Observation:
    """One observation that models may be shown.

    column: of the episode file.  shape: of one row, an image (H, W, C) uint8 or a table (N, F) of N entities and F numbers; a
    vector is (1, F).  values: binary, bytes / 255 or one-hot; real, any numbers.  resolution: real values that are
    rounded to the same multiple of it are one outcome in the ranking.
    """

    column: str
    shape: tuple[int, ...]
    values: str = "binary"
    resolution: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column or "/" in self.column:
            raise Problem(f"an observation names a column of the episode file, got {self.column!r}; set column=")
        shape = _tuple(self, "shape")
        if len(shape) not in (2, 3) or not all(_whole(size, 1) for size in shape):
            raise Problem(f"observation '{self.column}' is an image (H, W, C) or a table (N, F) of whole numbers >= 1, "
                          f"got shape {shape}; a vector is (1, F)")  # fmt: skip
        if self.values not in VALUES:
            raise Problem(f"observation '{self.column}' has no values '{self.values}': {nearest(str(self.values), VALUES)}")
        if not _number(self.resolution) or not 0 <= self.resolution < float("inf"):
            raise Problem(f"the resolution of observation '{self.column}' is a number >= 0, got {self.resolution!r}; "
                          f"set resolution=")  # fmt: skip
        if self.resolution and self.values == "binary":
            raise Problem(f"observation '{self.column}' is binary and equal only where all bytes are, got "
                          f"resolution={self.resolution}; set values=real or resolution=0")  # fmt: skip


@dataclass(frozen=True)
class Action:
    """size: width as transitions read it, 0 where nothing is done (a video).  discrete: the column holds an index below size.
    owners: equal blocks of the width, one for each object; 1: the action belongs to no object in particular.
    low, high: bounds of a vector, one number for each of its entries, or none.
    """

    size: int
    discrete: bool = False
    owners: int = 1
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        low, high = _tuple(self, "low"), _tuple(self, "high")
        if not _whole(self.size, 0):
            raise Problem(f"the size of an action is a whole number >= 0, got {self.size!r}; set size=")
        if not isinstance(self.discrete, bool) or self.discrete and not self.size:
            raise Problem(f"a discrete action is an index below its size, got discrete={self.discrete!r} and size="
                          f"{self.size}; set size= to 1 or more, or discrete=False")  # fmt: skip
        if not _whole(self.owners, 1) or self.size % self.owners:
            raise Problem(f"an action of size {self.size} is split into equal blocks, got owners={self.owners!r}; "
                          f"set owners= to a divisor of the size")  # fmt: skip
        if self.discrete and (low or high):
            raise Problem(f"a discrete action has no bounds, got low={low} and high={high}; leave them out")
        if len(low) != len(high) or low and len(low) != self.size:
            raise Problem(f"an action of size {self.size} has {self.size} bounds on either side or none, got {len(low)} low "
                          f"and {len(high)} high; write one for each entry")  # fmt: skip
        if not all(_number(a) and _number(b) and a < b for a, b in zip(low, high)):
            raise Problem(f"the bounds of an action are numbers, each low one below its high one, got low={low} and "
                          f"high={high}; set low= and high=")  # fmt: skip

    @property
    def choices(self) -> int:
        """Actions of one owner; 0 where actions cannot be counted."""
        return self.size // self.owners if self.discrete else 0


@dataclass(frozen=True)
class EnvSpec:
    """The interface of a world. Models are sized by this alone.

    observations: by the name that `env.observation` gives them.  objects: how many there are.
    """

    observations: dict[str, Observation]
    action: Action
    objects: int

    def __post_init__(self) -> None:
        known = isinstance(self.observations, Mapping) and all(
            isinstance(name, str) and isinstance(one, Observation) for name, one in self.observations.items()
        )
        if not known or not self.observations:
            raise Problem(f"a spec has one observation or more by their names, got {self.observations!r}; write "
                          f"observations={{'pixels': Observation(...)}}")  # fmt: skip
        if not isinstance(self.action, Action):
            raise Problem(f"a spec has an action, got {self.action!r}; write action=Action(size), of size 0 for a video")
        if not _whole(self.objects, 1):
            raise Problem(f"the objects of a spec are a whole number >= 1, got {self.objects!r}; set objects=")

    def shown(self, name: str) -> Observation:
        """The observation of this name."""
        if name not in self.observations:
            raise Problem(f"there is no observation '{name}': {nearest(str(name), self.observations)}; set env.observation=")
        return self.observations[name]

    def to_dict(self) -> dict:
        """Plain lists, numbers and words, as JSON and yaml keep them."""
        observations = {name: {**asdict(one), "shape": list(one.shape)} for name, one in self.observations.items()}
        action = {**asdict(self.action), "low": list(self.action.low), "high": list(self.action.high)}
        return {"observations": observations, "action": action, "objects": self.objects}

    @classmethod
    def from_dict(cls, plain: Mapping) -> "EnvSpec":
        """The inverse of `to_dict`."""
        _check_keys(cls, plain)
        observations = plain["observations"]
        if isinstance(observations, Mapping):
            observations = {name: _build(Observation, one) for name, one in observations.items()}
        return cls(observations, _build(Action, plain["action"]), plain["objects"])

    def difference(self, other: "EnvSpec") -> str | None:
        """The first entry in which another spec differs, with both sides; None where they are equal."""
        for path, own, theirs in _pairs(self.to_dict(), other.to_dict()):
            if own != theirs:
                return f"{path}: expected {own}, got {theirs}"
        return None


def _check_keys(cls, plain) -> None:
    if not isinstance(plain, Mapping):
        raise Problem(f"the {cls.__name__} of a header is a mapping, got {plain!r}; write it with to_dict()")
    names = [field.name for field in fields(cls)]
    needed = [field.name for field in fields(cls) if field.default is MISSING]
    for name in plain:
        if name not in names:
            raise Problem(f"{cls.__name__} has no key '{name}': {nearest(str(name), names)}")
    for name in needed:
        if name not in plain:
            raise Problem(f"{cls.__name__} lacks its key '{name}', got {', '.join(map(str, plain)) or 'none'}; write it with "
                          f"to_dict()")  # fmt: skip


def _build(cls, plain):
    _check_keys(cls, plain)
    return cls(**plain)


def _pairs(own, theirs, path: str = ""):
    """Every entry of two plain values with its path; None for an entry that one side lacks."""
    if isinstance(own, dict) and isinstance(theirs, dict):
        for key in dict.fromkeys((*own, *theirs)):
            yield from _pairs(own.get(key), theirs.get(key), f"{path}.{key}" if path else key)
    else:
        yield path, own, theirs
