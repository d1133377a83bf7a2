"""What models read off clips and what worlds label them with have the same names, in the same order:
neither may import the other."""

import inspect

import pytest

pytest.importorskip("pybullet")
from envs.voe import features, published_files, rules  # noqa: E402
from models import ofpr  # noqa: E402
from models.trees import Rules  # noqa: E402

SHORT = {  # of the heads of posterior rules -> the rule
    "support_holds": "does_support_hold_object", "seen_in_middle": "see_object_in_middle", "fit": "did_the_object_fit",
    "protrude": "did_the_object_protrude", "right_changed_direction": "did_right_object_change_direction",
    "left_changed_direction": "did_left_object_change_direction", "right_sped_up": "did_right_object_increase_speed",
    "left_sped_up": "did_left_object_increase_speed", "passed_through": "did_the_object_pass_through_the_wall",
}  # fmt: skip


def test_features():
    assert list(ofpr.FEATURES) == list(features.FEATURES)
    assert {name: classes for name, classes in ofpr.FEATURES.items() if classes} == features.CLASSES
    numbers = {name for name, classes in ofpr.FEATURES.items() if not classes}
    assert {features.FEATURES[name] for name in numbers} == {ofpr.MISSING}
    assert [list(features.FEATURES)[number] for number in ofpr.POSTERIOR_SPEEDS] == [
        f"{side}_posterior_{what}" for what in ("speed", "direction") for side in ("left", "right")
    ]
    assert ofpr.FEATURES.keys() >= published_files.CLASSES_SAID.keys() == features.CLASSES.keys()
    assert all(len(words) + 1 == features.CLASSES[name] for name, words in published_files.CLASSES_SAID.items())


def test_rules():
    assert [SHORT[name] for name in ofpr.POSTERIOR] == list(rules.POSTERIOR)
    assert {rules.NO, rules.YES, rules.IRRELEVANT} == set(range(ofpr.RULES))
    counts = inspect.signature(Rules).parameters
    assert (counts["prior"].default, counts["posterior"].default) == (len(rules.PRIOR), len(rules.POSTERIOR))
    assert all(len(of) == 5 for of in (rules.PRIOR_OF, rules.POSTERIOR_OF, features.RELEVANT))
    assert sorted(n for of in rules.POSTERIOR_OF.values() for n in of) == list(range(len(rules.POSTERIOR)))
    assert {n for of in features.RELEVANT.values() for n in of} == set(range(len(features.FEATURES)))
