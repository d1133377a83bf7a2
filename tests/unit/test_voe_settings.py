"""Settings of violation of expectation: the published ones, drawn ones, and how many there are of every sub-type."""

from collections import Counter

import pytest

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.voe.clip import CATEGORIES  # noqa: E402
from envs.voe.counts import compare, exact, published_counts, table  # noqa: E402
from envs.voe.labels import subtype  # noqa: E402
from envs.voe.settings import FIELDS, GRIDS, PRESETS, Setting, published, sample, segment, stream, trials  # noqa: E402

CUBE = {"shape": "cube", "width": 1.0, "height": 1.0}


@pytest.mark.parametrize("category", ["D", "E"])
def test_published_counts_in_every_cell(category):
    rows = compare(category, [subtype(setting) for setting in published(category)])
    assert len(rows) == 18
    assert all(row["ours"] == row["published"] for row in rows), table(rows)


@pytest.mark.parametrize("category", ["A", "B"])
def test_published_counts_within_two_percent(category):
    """Those of B follow from where the camera is; those of A from the contact point,
    and from a fitted table where it is a half."""
    for row in compare(category, [subtype(setting) for setting in published(category)]):
        assert abs(row["ours"] - row["published"]) <= 0.02 * row["published"], row


@pytest.mark.parametrize("category, preset", zip(CATEGORIES, PRESETS * 3))
def test_drawn_settings(category, preset):
    """Each on the grid, none twice, and those of another seed are others."""
    settings = sample(category, preset, seed=3)
    keys = {tuple(getattr(setting, name) for name in FIELDS[category]) for setting in settings}
    assert len(keys) == 5000 and [setting.trial for setting in settings] == list(range(1, 5001))
    for name, values in GRIDS[preset][category].items():
        seen = {getattr(setting, name) for setting in settings}
        assert seen - {0.0} == set(values)
    first, other = (next(stream(category, preset, seed)) for seed in (3, 4))
    assert all(getattr(settings[0], name) == value for name, value in first.items()) and first != other


def test_size_and_speed_never_both_differ():
    for setting in sample("D"):
        assert setting.left_size == setting.right_size or setting.left_speed == setting.right_speed


def test_objects_enter_where_it_is_asked_for():
    """Wider objects than containers are met in training alone."""
    wide = [setting.segment for setting in sample("C") if setting.width > setting.container_width]
    assert set(wide) == {"train"}


@pytest.mark.parametrize("category, preset", [("A", "supplement"), ("D", "supplement"), ("E", "released")])
def test_exact_counts(category, preset):
    settings = exact(category, preset, seed=1)
    assert all(row["ours"] == row["published"] for row in compare(category, [subtype(setting) for setting in settings]))
    assert len({tuple(getattr(setting, name) for name in FIELDS[category]) for setting in settings}) == 5000


def test_counts_by_hand():
    assert published_counts("D", True, "train") == {"D1": 1665, "D2": 404, "D3": 1681}
    assert all(
        sum(published_counts(category, full, which).values()) == len(trials(which, full))
        for category in CATEGORIES for full in (True, False) for which in ("train", "valid", "test")
    )  # fmt: skip


def test_segments():
    assert [len(trials(which)) for which in ("train", "valid", "test")] == [375, 75, 50]
    assert trials("valid", full=True) == range(3751, 4501) and trials("test")[0] == 4501
    assert [segment(trial) for trial in (1, 3750, 3751, 4500, 4501, 5000)] == ["train"] * 2 + ["valid"] * 2 + ["test"] * 2


def test_ways_of_surprise():
    """A way that the setting leaves open is drawn by its seed and trial, both in half of them."""
    ways = Counter(_equal(trial).way for trial in range(1, 401))
    assert 150 < ways["left"] < 250 and _equal(7).way == _equal(7).way
    assert published("C", "random", 1)[0].seed == 1 and published("C", seed=0) == published("C"), "the seed was ignored"
    assert published("C")[4500].choice in ("no_contain", "no_protrude")


def _equal(trial):
    sides = {"shape": "cube", "size": 1.0, "speed": 1.0}
    return Setting("D", trial, **{f"{side}_{name}": value for side in ("left", "right") for name, value in sides.items()})


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: Setting("F", 1), "there is no category 'F'"),
    (lambda: Setting("A", 1, **CUBE), "a setting of category A lacks 'contact'"),
    (lambda: Setting("A", 1, **CUBE | {"shape": "cub"}, contact=0.5), "did you mean 'cube'"),
    (lambda: Setting("A", 1, **CUBE | {"width": -1.0}, contact=0.5),
     "'width' of a setting must be a positive number, not -1.0"),
    (lambda: Setting("A", 1, **CUBE, contact=0.5, choice="left"), "category A has no choice 'left'"),
    (lambda: sample("A", "supplements"), "there is no preset 'supplements'"),
    (lambda: published("G"), "there is no category 'G'"),
    (lambda: segment(5001), "there is no trial 5001"),
    (lambda: trials("validation"), "did you mean 'valid'"),
])  # fmt: skip
def test_bad_input(wrong, sentence):
    with pytest.raises(Problem, match=sentence):
        wrong()
