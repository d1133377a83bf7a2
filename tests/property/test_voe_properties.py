"""What holds for every trial of violation of expectation."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pybullet")
from envs.voe.clip import CATEGORIES, Version  # noqa: E402
from envs.voe.features import features  # noqa: E402
from envs.voe.geometry import visible_top, volume_held  # noqa: E402
from envs.voe.labels import label, subtype  # noqa: E402
from envs.voe.rules import posterior_rules, prior_rules  # noqa: E402
from envs.voe.scenes import first_difference  # noqa: E402
from envs.voe.settings import published, sample  # noqa: E402
from envs.voe.simulate import simulate  # noqa: E402


@cache
def supplement(category):
    return sample(category, seed=11)


@pytest.mark.parametrize("category", CATEGORIES)
@given(trial=st.integers(0, 4999), preset=st.sampled_from(["published", "supplement"]))
@settings(max_examples=12)
def test_a_violation_breaks_a_posterior_rule_and_no_prior_one(category, trial, preset):
    drawn = published(category) if preset == "published" else supplement(category)
    setting = drawn[trial]
    expected, surprising = (simulate(setting, version) for version in (Version.EXPECTED, Version.SURPRISING))
    labels = [label(setting, one.clip) for one in (expected, surprising)]
    assert (labels[0]["prior"] == labels[1]["prior"]).all()
    broken = (labels[0]["posterior"] != labels[1]["posterior"]).any()
    assert broken == (subtype(setting, expected.clip) != "D2")
    assert first_difference(expected.clip, surprising.clip) >= expected.moment


@given(st.sampled_from(["cube", "sphere", "torus", "cylinder", "cone"]), st.integers(1, 99))
def test_what_is_not_held_is_beyond(shape, percent):
    """Shapes are symmetric: the share over the support and the share that would be with the edge mirrored are one together."""
    assert volume_held(shape, percent / 100) + volume_held(shape, 1 - percent / 100) == pytest.approx(1, abs=1e-6)


@given(st.sampled_from(["cube", "sphere", "torus", "cone"]), st.floats(0.4, 1.6), st.floats(0.1, 0.9))
def test_higher_objects_show_more(shape, height, middle):
    shown = visible_top(shape, height, middle)
    assert visible_top(shape, height + 0.01, middle) > shown > visible_top(shape, height, middle + 0.01)


@pytest.mark.parametrize("category", CATEGORIES)
def test_rules_do_not_write_into_features(category):
    setting = published(category)[0]
    found = features(setting, simulate(setting, Version.EXPECTED).clip)
    before = dict(found)
    first = prior_rules(found), posterior_rules(found)
    assert found == before and all(np.array_equal(a, b) for a, b in zip(first, (prior_rules(found), posterior_rules(found))))
