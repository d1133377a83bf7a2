"""Interventions: a request to change variables, checked in every way before anything happens.

    intervene({"tool_block": {"mass": 0.04}, "floor_friction": 0.5})   or by path: {"tool_block/mass": 0.04}

A request is carried out whole or refused whole, with the reasons. A refused request leaves the world as it was, bit for bit:
it was tried in a scratch simulation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from envs.bodies.rotations import from_cylindrical, to_cylindrical, to_quaternion, to_turn
from envs.problem import Problem, nearest
from envs.trifinger.interventions.feasibility import SLACK, Feasibility, short
from envs.trifinger.scene.state import State
from envs.trifinger.scene.variables import Range, Variable
from envs.trifinger.tasks.family import APART
from envs.trifinger.tasks.task import Changes, Task

_LAYOUTS = 5
_OTHER_NAMES = {"cylindrical_position": "cartesian_position", "euler_orientation": "orientation"}
_TRANSLATED = {"cartesian_position": to_cylindrical, "orientation": to_turn}  # to the name that has spaces
_SAME_FACT = _OTHER_NAMES | {other: name for name, other in _OTHER_NAMES.items()}


@dataclass(frozen=True)
class Verdict:
    """accepted: whether the world was changed.  reasons: why not, in sentences.  applied: path -> value, all that changed."""

    accepted: bool
    reasons: tuple[str, ...] = ()
    applied: Changes = field(default_factory=dict)


def flat(request: Mapping) -> dict[str, object]:
    """{"tool_block": {"mass": m}} -> {"tool_block/mass": m}; paths stay. A Problem where one is given twice."""
    if not isinstance(request, Mapping):
        raise Problem(f"an intervention is a dict, name -> value or object -> {{name -> value}}; got {type(request).__name__}")
    paths = {}
    for name, value in request.items():
        more = {f"{name}/{key}": v for key, v in value.items()} if isinstance(value, Mapping) else {str(name): value}
        if twice := paths.keys() & more.keys():
            raise Problem(f"{twice.pop()} is given twice; give it once")
        paths |= more
    return paths


def merged(requests: Iterable[Mapping]) -> dict[str, object]:
    """Several requests as one; of two that speak of one fact, by whatever name, the later one counts."""
    paths = {}
    for request in map(flat, requests):
        for path in request:
            name, _, key = path.rpartition("/")
            paths.pop(f"{name}/{_SAME_FACT.get(key)}", None)
        paths |= request
    return paths


def value_of(state: State, task: Task, path: str) -> np.ndarray:
    """A variable's current value, by any of its names."""
    special = task.values(state)
    if path in special:
        return special[path]
    name, _, key = path.partition("/")
    if not key:
        return state[name]
    if key == "cylindrical_position":
        return to_cylindrical(state[name]["cartesian_position"])
    return to_turn(state[name]["orientation"]) if key == "euler_orientation" else state[name][key]


def applied(state: State, changes: Changes) -> State:
    """A new state; the old one stays, and what did not change is shared with it."""
    state = dict(state)
    for path, value in changes.items():
        name, _, key = path.partition("/")
        if not key:
            state[name] = np.array(value, float)
            continue
        if key == "cylindrical_position":
            key, value = "cartesian_position", from_cylindrical(value)
        elif key == "euler_orientation":
            key, value = "orientation", to_quaternion(value)
        elif key == "orientation":
            value = np.asarray(value, float) / np.linalg.norm(value)
        state[name] = {**state[name], key: np.array(value, float)}
    return state


class Interventions:
    """Tries requests for one task. space: a | b | ab = requests must lie in this one; None = only in bounds."""

    def __init__(self, task: Task, feasibility: Feasibility, source: str = "code", space: str | None = "ab"):
        self._task, self._feasibility, self._source, self.space = task, feasibility, source, space

    def attempt(self, request: Mapping, state: State, rng: np.random.Generator) -> tuple[Verdict, State]:
        """-> the verdict, and the state that the world must be given (the old one where refused).

        rng: for what a change leaves open, such as the positions of new blocks.
        """
        table = self._task.variables(state, self._source)
        given, reasons = self._read(flat(request), table)
        family = {path: value for path, value in given.items() if path in self._task.family}
        reasons = reasons or self._within(family, table)
        if reasons:
            return Verdict(False, tuple(reasons)), state
        before = rng.bit_generator.state
        verdict, after = self._carried_out(given, family, table, state, rng)
        if not verdict.accepted:
            rng.bit_generator.state = before  # nothing was drawn either
        return verdict, after

    def _carried_out(self, given: Changes, family: Changes, table: Mapping[str, Variable], state: State, rng):
        """Builds, changes and checks; random layouts are drawn a few times."""
        for _ in range(_LAYOUTS if family else 1):
            try:
                built = self._task.rebuilt(state, family, rng) if family else state
            except Problem as problem:
                return Verdict(False, (str(problem),)), state
            known = self._task.variables(built, self._source) if family else table
            gone = [path for path in given if path not in known]
            if gone:
                return Verdict(False, (f"{gone[0]} does not exist any more with {', '.join(family)} as requested",)), state
            changes = self._task.linked({path: value for path, value in given.items() if path not in family}, built)
            after = applied(built, changes)
            reasons = self._within(given, self._task.variables(after, self._source))
            if not reasons and self.space:
                reasons = self._task.conflicts(given, state, after)
            if reasons:
                break
            new = [name for name in built if name not in state]
            reasons = self._feasibility.against(after, changes, rebuilt=bool(family.keys() - APART), new=new)
            if not reasons:
                return Verdict(True, (), {**family, **changes}), after
        return Verdict(False, tuple(reasons)), state

    def _read(self, request: Mapping[str, object], table: Mapping[str, Variable]) -> tuple[Changes, list[str]]:
        """Names, shapes and numbers.  -> values as arrays, reasons against them"""
        given, reasons = {}, []
        for path, value in request.items():
            if path not in table:
                own = [known for known in table if known.startswith(f"{path}/")]
                of_object = f"{path} is no variable but has some: {', '.join(own)}; give {{'{path}': {{name: value}}}}"
                reasons.append(of_object if own else f"there is no variable '{path}': {_near(path, table)}")
                continue
            try:
                value = np.asarray(value, float)
            except (TypeError, ValueError):
                reasons.append(f"{path} must be numbers, got {value!r}")
                continue
            if value.shape != table[path].shape:
                reasons.append(f"{path} must have shape {table[path].shape}, got {value.shape}")
            elif not np.isfinite(value).all():
                reasons.append(f"{path} must be finite, got {value.tolist()}")
            elif table[path].integer and (value != np.round(value)).any():
                reasons.append(f"{path} must be whole numbers, got {value.tolist()}")
            elif path.endswith("/orientation") and not np.linalg.norm(value) > 1e-6:
                reasons.append(f"{path} must be a quaternion xyzw, got {value.tolist()}")
            given[path] = value
            name, _, key = path.rpartition("/")
            if f"{name}/{_OTHER_NAMES.get(key)}" in request:
                reasons.append(f"{path} and {name}/{_OTHER_NAMES[key]} are two names of one fact; give one of them")
        return given, reasons

    def _within(self, given: Changes, table: Mapping[str, Variable]) -> list[str]:
        """Closed bounds, and the active space; those of the state after the change. A space binds every name of a fact, and
        what is in no space is refused while one is active, as in CausalWorld."""
        reasons = []
        for path, value in given.items():
            as_name, as_value = _in_space(path, value, table) if self.space else (path, value)
            space = table[as_name].space(self.space) if self.space else table[path].bounds
            if outside(value, table[path].bounds):
                reasons.append(f"{path} is out of its bounds: {_range(table[path].bounds)}, got {_rounded(value)}")
            elif space is None:
                reasons.append(
                    f"{path} is in no space, so space {self.space} refuses it; make the env with space=None to set it"
                )
            elif outside(as_value, space):
                other = "" if as_name == path else f", as {as_name}"
                reasons.append(f"{path} is out of its space {self.space}{other}: {_range(space)}, got {_rounded(as_value)}")
        return reasons

    def close(self) -> None:
        self._feasibility.close()


def outside(value: np.ndarray, span: Range) -> bool:
    """Whether any component lies outside a closed range."""
    return bool((value < span[0] - SLACK).any() or (value > span[1] + SLACK).any())


def _in_space(path: str, value: np.ndarray, table: Mapping[str, Variable]) -> tuple[str, np.ndarray]:
    """The fact by the name that has spaces: a position in cylindrical coordinates, an orientation as a rotation vector."""
    name, _, key = path.rpartition("/")
    other = f"{name}/{_SAME_FACT.get(key)}"
    if key not in _TRANSLATED or other not in table:
        return path, value
    value = _TRANSLATED[key](value)
    if key == "cartesian_position" and value[0] < SLACK:
        value[1] = 0.0  # in the middle there is no angle
    return other, value


def _range(span: Range) -> str:
    return f"{short(span[0])} to {short(span[1])}"


def _rounded(value: np.ndarray) -> list | float:
    return np.round(value, 6).tolist()


def _near(path: str, table: Mapping[str, Variable]) -> str:
    """The nearest names alone: all of them would be a page."""
    return (
        nearest(path, table).split("known:")[0].strip()
        or f"names begin with {', '.join(sorted({p.split('/')[0] for p in table})[:6])}"
    )
