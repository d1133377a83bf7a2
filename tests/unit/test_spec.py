"""The spec of a world: what it refuses, and that it survives a header."""

import json

import pytest

from envs.chemistry import ChemistryWorld
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.spec import Action, EnvSpec, Observation

PIXELS = Observation("pixels", (50, 50, 3))
ROBOT = EnvSpec(
    {"pixels": PIXELS, "objects": Observation("objects", (5, 20), "real", 1e-3)},
    Action(3, low=(-1.0, -1.0, 0.0), high=(1.0, 1.0, 2.5)), 5,
)  # fmt: skip
VIDEO = EnvSpec({"pixels": PIXELS}, Action(0), 3)


@pytest.mark.parametrize("spec", [PhysicsWorld(3).spec, ChemistryWorld(movement="dynamic").spec, ROBOT, VIDEO])
def test_a_spec_survives_a_header(spec):
    """As JSON and back it is the same, to the last number."""
    again = EnvSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec and spec.difference(again) is None


def test_what_grid_worlds_are_sized_by():
    """By hand: 3 blocks, 25 cells and 3 weight ranks; 5 directions for each block."""
    spec = PhysicsWorld(3).spec
    assert spec.shown("pixels") == PIXELS and spec.shown("state") == Observation("objects", (3, 28))
    assert spec.action == Action(15, discrete=True, owners=3) and spec.action.choices == 5 and spec.objects == 3
    assert ROBOT.action.choices == VIDEO.action.choices == 0


def test_the_first_difference_is_named():
    """With its place and both sides."""
    small, large = PhysicsWorld(3).spec, PhysicsWorld(4).spec
    assert small.difference(large) == "observations.state.shape: expected [3, 28], got [4, 29]"
    assert "objects" in VIDEO.difference(EnvSpec({"pixels": PIXELS}, Action(0), 4))


WRONG = {
    "no column": (lambda: Observation("", (2, 3)), "names a column of the episode file, got ''"),
    "a group": (lambda: Observation("a/b", (2, 3)), "names a column .* got 'a/b'"),
    "a vector": (lambda: Observation("x", (3,)), r"whole numbers >= 1, got shape \(3,\); a vector is \(1, F\)"),
    "no width": (lambda: Observation("x", (3, 0)), r"got shape \(3, 0\)"),
    "a word": (lambda: Observation("x", "50x50"), "shape of Observation is a list of numbers, got '50x50'"),
    "values": (lambda: Observation("x", (2, 3), "reel"), "no values 'reel': did you mean 'real'"),
    "resolution": (lambda: Observation("x", (2, 3), "real", -1), "resolution .* a number >= 0, got -1"),
    "not a number": (lambda: Observation("x", (2, 3), "real", float("nan")), "resolution .* got nan"),
    "binary resolution": (lambda: Observation("x", (2, 3), resolution=0.1), "set values=real or resolution=0"),
    "negative": (lambda: Action(-1), "size of an action is a whole number >= 0, got -1"),
    "true": (lambda: Action(True), "size of an action .* got True"),
    "index below 0": (lambda: Action(0, discrete=True), "an index below its size, got discrete=True and size=0"),
    "blocks": (lambda: Action(9, owners=4), "equal blocks, got owners=4; set owners= to a divisor"),
    "bounded index": (lambda: Action(2, discrete=True, low=(0, 0), high=(1, 1)), "a discrete action has no bounds"),
    "bounds": (lambda: Action(3, low=(0, 0), high=(1, 1)), "has 3 bounds on either side or none, got 2 low and 2 high"),
    "upside down": (lambda: Action(1, low=(1,), high=(0,)), "each low one below its high one"),
    "nothing to see": (lambda: EnvSpec({}, Action(1), 1), "one observation or more by their names"),
    "no action": (lambda: EnvSpec({"pixels": PIXELS}, 15, 3), "a spec has an action, got 15"),
    "no objects": (lambda: EnvSpec({"pixels": PIXELS}, Action(1), 0), "objects of a spec are a whole number >= 1, got 0"),
    "misspelt": (lambda: ROBOT.shown("pixel"), "no observation 'pixel': did you mean 'pixels'.*set env.observation="),
    "a list": (lambda: EnvSpec.from_dict([1]), r"EnvSpec of a header is a mapping, got \[1\]"),
    "a key too few": (lambda: EnvSpec.from_dict({"action": {"size": 1}, "objects": 1}), "lacks its key 'observations'"),
    "a key too many": (lambda: EnvSpec.from_dict({**VIDEO.to_dict(), "object": 1}), "no key 'object': did you mean 'objects'"),
    "an empty part": (lambda: EnvSpec.from_dict({**VIDEO.to_dict(), "action": {}}), "Action lacks its key 'size', got none"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_spec_is_one_sentence(case):
    build, said = WRONG[case]
    with pytest.raises(Problem, match=said):
        build()
