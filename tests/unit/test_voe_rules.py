"""Rules of violation of expectation, worked out by hand."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.voe.features import CLASSES, FEATURES, RELEVANT, relevant, vector  # noqa: E402
from envs.voe.geometry import visible_top, volume_held  # noqa: E402
from envs.voe.rules import POSTERIOR, PRIOR, posterior_rules, prior_rules  # noqa: E402

CUBE, SPHERE, TORUS = 0, 1, 2
A = {"object_height": 1.0, "object_width": 1.0, "object_shape": CUBE, "contact_point": 0.3}
B = {"object_height": 1.0, "object_width": 1.0, "object_shape": CUBE, "middle_segment_height": 0.5}
C = {
    "object_height": 0.8, "object_width": 0.8, "object_shape": CUBE,
    "container_height": 1.1, "container_width": 1.1, "container_shape": 0,
}  # fmt: skip
D = {
    "left_size": 0.5, "right_size": 1.0, "left_shape": CUBE, "right_shape": SPHERE,
    "left_prior_speed": 1.0, "right_prior_speed": 1.0, "left_prior_direction": 1, "right_prior_direction": 0,
    "left_posterior_speed": 0.8, "right_posterior_speed": 0.8, "left_posterior_direction": 0, "right_posterior_direction": 0,
}  # fmt: skip
E = {
    "object_height": 1.0, "object_width": 1.0, "object_shape": CUBE,
    "wall_opening": 1, "wall_soft": 0, "opening_width": 1.2, "opening_height": 1.1,
}  # fmt: skip


def prior(features, **other):
    return {name: int(rule) for name, rule in zip(PRIOR, prior_rules(features | other)) if rule != 2}


def posterior(features, **other):
    return {name: int(rule) for name, rule in zip(POSTERIOR, posterior_rules(features | other)) if rule != 2}


def test_support():
    assert list(prior(A).values()) == [1, 1] and list(prior(A, contact_point=0.7).values()) == [0, 0]
    assert list(prior(A, contact_point=0.5).values()) == [0, 0]  # half is no majority
    assert posterior(A, center_moved=0.01) == {"does_support_hold_object": 1}
    assert posterior(A, center_moved=2.0) == {"does_support_hold_object": 0}


@pytest.mark.parametrize("shape, contact, share", [
    ("cube", 0.3, 0.7), ("side_cylinder", 0.3, 0.7), ("sphere", 0.25, 27 / 32),
    ("cylinder", 0.25, 1 - (1 / 3 - np.sqrt(3) / 4 / np.pi)),
    ("sphere", 0.5, 0.5), ("torus", 0.5, 0.5), ("cone", 0.5, 0.5),
])  # fmt: skip
def test_volume_over_the_support(shape, contact, share):
    assert volume_held(shape, contact) == pytest.approx(share, abs=1e-6)


def test_occlusion():
    """A cube of height 1 goes up to z = 2; its far upper edge is at y = 1. The line from the camera at (y, z) = (-27.78, 10.6)
    meets the plane y = -2 at z = 10.6 - 8.6 * 25.78 / 28.78 = 2.896: over a middle of half of 5, not over one of .6 of it."""
    assert visible_top("cube", 1.0, 0.5) == pytest.approx(2.8964 - 2.5, abs=1e-3)
    assert list(prior(B).values()) == [1] and list(prior(B, middle_segment_height=0.6).values()) == [0]
    assert posterior(B, frames_seen_in_middle=5) == {"see_object_in_middle": 1}
    assert posterior(B, frames_seen_in_middle=0) == {"see_object_in_middle": 0}


def test_containment():
    """The box of 1.1 is 1.88 * 1.31 * 1.1 = 2.71 deep and 2 * 1.03 * 1.1 = 2.27 wide."""
    assert prior(C) == {"is_object_taller_than_container": 0, "is_object_thinner_than_container": 1}
    assert list(prior(C, object_height=1.4).values()) == [1, 1]  # 2.8 high
    assert list(prior(C, object_width=1.2).values()) == [0, 0]  # 2.4 wide
    assert list(prior(C, object_width=1.0, object_shape=TORUS).values()) == [0, 0]  # 2.5 wide
    rests = {"center_above_rim": -1.0, "top_above_rim": -0.2, "center_aside": 0.1}
    assert list(posterior(C, **rests).values()) == [1, 0]
    assert list(posterior(C, **rests | {"top_above_rim": 0.3}).values()) == [1, 1]
    assert list(posterior(C, **rests | {"center_aside": 1.5}).values()) == [0, 0]  # it lies beside the container
    assert list(posterior(C, **rests | {"center_above_rim": 0.5, "top_above_rim": 1.3}).values()) == [0, 1]


def test_collision():
    assert list(prior(D).values()) == [1, 0, 0, 1]  # right larger, same size, right faster, same speed
    assert list(prior(D, right_size=0.5, right_prior_speed=2.0).values()) == [0, 1, 1, 0]
    assert list(posterior(D).values()) == [0, 1, 0, 0]  # the left one is driven back
    assert list(posterior(D, left_posterior_speed=1.2).values()) == [0, 1, 0, 1]
    stopped = {"left_posterior_speed": 0.0, "left_posterior_direction": 1, "right_posterior_speed": 0.01}
    assert list(posterior(D, **stopped).values()) == [1, 1, 0, 0]  # what stands has changed direction


def test_barrier():
    assert list(prior(E).values()) == [1, 0, 1, 1]
    assert list(prior(E, opening_width=1.0, opening_height=0.9).values()) == [1, 0, 0, 0]
    closed = {"wall_opening": 0, "opening_width": 0.0, "opening_height": 0.0}
    assert list(prior(E, **closed).values()) == [0, 0, 0, 0] and list(prior(E, **closed, wall_soft=1).values()) == [0, 1, 0, 0]
    assert list(posterior(E, center_beyond_wall=7.0).values()) == [1]
    assert list(posterior(E, center_beyond_wall=-3.0).values()) == [0]


@pytest.mark.parametrize("features", [A, B, C, D, E])
def test_irrelevant_is_said(features):
    """A whole vector with -1 and the last classes gives the same rules as the category's own keys."""
    whole = dict(zip(FEATURES, vector(features)))
    assert (prior_rules(whole) == prior_rules(features)).all()
    category = "ABCDE"[[A, B, C, D, E].index(features)]
    assert {name for name, own in zip(FEATURES, relevant(category)) if own} == set(features)
    assert prior_rules(features).shape == (13,) and set(prior_rules(features)) <= {0, 1, 2}


def test_features_are_those_of_the_model():
    assert len(FEATURES) == 24 and len(CLASSES) == 10 and sum(map(len, RELEVANT.values())) == 33
    assert CLASSES["object_shape"] == 8 and CLASSES["wall_opening"] == 3


@pytest.mark.parametrize("features, sentence", [
    ({}, "these have 0"), (A | B, "these have 2"), ({"contact_point": 0.5}, "the rules of category A need 'object_shape'"),
    (A | {"object_shape": 9}, "'object_shape' must be the number of a shape"),
])  # fmt: skip
def test_bad_features(features, sentence):
    with pytest.raises(Problem, match=sentence):
        prior_rules(features)


def test_posterior_rules_need_what_was_measured():
    with pytest.raises(Problem, match="the rules of category A need 'center_moved'"):
        posterior_rules(A)
