"""Trials as episodes: three versions of one stimulus, labels that fit what is seen, one set of bytes for any processes."""

from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

pytest.importorskip("pybullet")
import envs.collect as collecting  # noqa: E402
from envs.episodes import EpisodeFile  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.protocols import Source  # noqa: E402
from envs.voe import source  # noqa: E402
from envs.voe.clip import CATEGORIES, OBJECT, SUBTYPES, SUPPORT  # noqa: E402
from envs.voe.recording import DEPTH_STEP  # noqa: E402
from envs.voe.source import VoeSource  # noqa: E402
from envs.voe.table import COLUMNS  # noqa: E402

SIZE = 24
SPLIT = {"segment": "test", "version": "expected", "length": 49, "episodes": 3, "seed": 1}
VERSIONS = ("expected", "surprising", "control")


def world(category="support", **options) -> VoeSource:
    return VoeSource(category, **{"size": SIZE, "workers": 1, **options})


@pytest.fixture(scope="module")
def versions():
    """The first test trial of each category in its three versions: category -> version -> columns."""
    worlds = {category: world(category, size=32) for category in CATEGORIES.values()}
    return {c: {v: w.record({**SPLIT, "version": v}, None, 1)[0] for v in VERSIONS} for c, w in worlds.items()}


def test_columns_and_kinds(versions):
    columns = versions["support"]["expected"]
    kinds = {name: (values.dtype.name, values.shape[1:]) for name, values in columns.items()}
    assert kinds == {
        "pixels": ("uint8", (32, 32, 3)), "depth": ("uint16", (32, 32)), "mask": ("uint8", (32, 32)),
        "objects": ("float32", (2, 35)),
        "label_trial": ("int32", ()), "label_version": ("uint8", ()), "label_subtype": ("uint8", ()),
        "label_violation": ("int16", ()), "label_features": ("float32", (24,)), "label_prior": ("int8", (13,)),
        "label_posterior": ("int8", (9,)),
    }  # fmt: skip
    assert all(len(values) == 50 for values in columns.values())
    for name in kinds:
        assert not name.startswith("label") or (columns[name] == columns[name][:1]).all()  # constant over a clip
    spec = world().spec
    assert spec.observations["objects"].shape == (2, 35) and spec.action.size == 0 and isinstance(world(), Source)


@pytest.mark.parametrize("category", CATEGORIES.values())
def test_versions_are_one_stimulus_until_the_violation_shows(versions, category):
    expected, *others = (versions[category][version] for version in VERSIONS)
    assert expected["label_violation"][0] == -1
    for number, other in enumerate(others, 1):
        moment = other["label_violation"][0]
        assert 0 < moment < 50 and other["label_version"][0] == number
        for name in ("label_trial", "label_subtype", "label_prior"):
            assert np.array_equal(other[name], expected[name])
        apart = np.abs(other["pixels"].astype(int) - expected["pixels"]).max((1, 2, 3))
        assert apart[:moment].max() <= 8 < apart[moment] or (other["mask"][moment] != expected["mask"][moment]).any()
        assert np.array_equal(other["mask"][:moment], expected["mask"][:moment])
    assert SUBTYPES[expected["label_subtype"][0]][0] == {name: letter for letter, name in CATEGORIES.items()}[category]


def test_the_table_says_what_and_where(versions):
    columns = versions["support"]["expected"]
    thing, support = columns["objects"][0]
    assert thing[COLUMNS["kind"]].argmax() == OBJECT - 1 and support[COLUMNS["kind"]].argmax() == SUPPORT - 1
    assert thing[COLUMNS["seen"]] == 1 and support[COLUMNS["size"]] == pytest.approx([2.5, 2.0, 2.025])
    assert columns["objects"][:, 0, 3].min() < thing[3] - 0.5  # it falls
    near = (columns["depth"] * DEPTH_STEP)[columns["mask"] == SUPPORT]
    assert 15 < near.min() and near.max() < 35
    seen = versions["occlusion"]["expected"]
    hidden = ~(seen["mask"] == OBJECT).any((1, 2))
    assert hidden.any() and np.array_equal(seen["objects"][:, 0, 0] == 0, hidden)
    walls = versions["barrier"]["expected"]["objects"][0, 1]
    features = versions["barrier"]["expected"]["label_features"][0]
    assert walls[COLUMNS["opening"]] == pytest.approx(2 * features[16:18])


def test_workers_draw_with_the_renderer_of_the_header(monkeypatch):
    """Each chose for itself: one that found no OpenGL drew clips that look otherwise,
    beside a header that knew nothing of it."""
    asked = []

    def drawn(self, work, settings):
        asked.append(work.keywords["look"].renderer)
        raise KeyboardInterrupt

    monkeypatch.setattr(VoeSource, "_map", drawn)
    with pytest.raises(KeyboardInterrupt):
        world(renderer="auto").record({**SPLIT, "length": 2}, None, 1)
    assert asked == [world().header()["renderer"]] and asked != ["auto"]


def test_trials_are_counted_from_the_start_of_a_block(monkeypatch, tmp_path):
    """Three trials at once, and one in each block; a file that was cut off after the first goes on with the second."""
    env = {"name": "x", "splits": {"test": {**SPLIT, "length": 2}}}
    at_once = collecting.collect(env, world(), "test", tmp_path / "a", quiet=True)
    one_each = {**env, "block_rows": 3}
    record, started, cut = VoeSource.record, [], [True]

    def cut_off(self, split, rng, episodes):
        started.append(split["start"])
        if split["start"] == 1 and cut.pop():
            raise KeyboardInterrupt
        return record(self, split, rng, episodes)

    monkeypatch.setattr(VoeSource, "record", cut_off)
    with pytest.raises(KeyboardInterrupt):
        collecting.collect(one_each, world(), "test", tmp_path / "b", quiet=True)
    cut.append(False)
    started.clear()
    in_parts = collecting.collect(one_each, world(), "test", tmp_path / "b", quiet=True)
    assert started[-2:] == [1, 2] and started.count(0) == 2  # two samples of columns: the first block was kept
    assert at_once.read("label_trial")["label_trial"].tolist() == [4501] * 3 + [4502] * 3 + [4503] * 3
    for name in at_once.columns:
        assert np.array_equal(at_once.read(name)[name], in_parts.read(name)[name])
    assert "start" not in at_once.header and at_once.header["version"] == "expected"


def test_a_dead_process_is_one_sentence(monkeypatch):
    class Dead:
        def __init__(self, *_, **__):
            pass

        def map(self, *_):
            raise BrokenProcessPool

    monkeypatch.setattr(source, "_WORTH", 0)
    monkeypatch.setattr(source, "ProcessPoolExecutor", Dead)
    with pytest.raises(Problem, match="a process that draws VoE died.*smaller env.world.workers="):
        world(workers=2).record({**SPLIT, "length": 1}, None, 2)


def test_processes_change_no_byte(monkeypatch):
    split = {**SPLIT, "length": 1}
    alone = world().record(split, None, 3)[0]
    monkeypatch.setattr(source, "_WORTH", 0)
    shared = world(workers=2).record(split, None, 3)[0]
    assert all(np.array_equal(alone[name], shared[name]) for name in alone)


def test_options_leave_out_columns_and_change_stimuli():
    split = {**SPLIT, "length": 1}
    bare = world(record_depth=False, record_mask=False).record(split, None, 1)[0]
    assert "depth" not in bare and "mask" not in bare and "pixels" in bare
    first = [
        world(**options).record(split, None, 1)[0]
        for options in ({}, {"seed": 1}, {"preset": "published"}, {"colors": "random"})
    ]
    assert len({one["label_features"].tobytes() for one in first}) == 3  # colours are no feature
    assert not np.array_equal(first[0]["pixels"], first[3]["pixels"])
    headers = [world(**options).header() for options in ({}, {"seed": 1}, {"preset": "published"}, {"size": 32})]
    assert len({str(header) for header in headers}) == 4


def test_files_of_other_settings_are_other_files(tmp_path):
    """The split's seed stood in the header in place of the settings': seed 1 was answered with the file of seed 0."""
    env = {"name": "x", "splits": {"test": {**SPLIT, "length": 1, "episodes": 1}}}
    first, other = (collecting.collect(env, world(seed=seed), "test", tmp_path, quiet=True) for seed in (0, 1))
    assert first.path != other.path and "settings_seed" not in first.header and other.header["settings_seed"] == 1
    features = [file.read("label_features")["label_features"] for file in (first, other)]
    assert not np.array_equal(*features)


def test_files_of_another_generator_are_other_files(monkeypatch, tmp_path):
    """Generator 1 wrote velocities of the center of mass: its clips of A and C stay as they are and are not read as ours."""
    env = {"name": "x", "splits": {"test": {**SPLIT, "length": 1, "episodes": 1}}}
    with monkeypatch.context() as before:
        before.setattr(source, "_GENERATOR", {})
        first = collecting.collect(env, world(), "test", tmp_path, quiet=True)
    now = collecting.collect(env, world(), "test", tmp_path, quiet=True)
    assert first.path != now.path and (first.header["generator"], now.header["generator"]) == (1, 2)
    with pytest.raises(Problem, match="generator: expected 2, file has 1"):
        EpisodeFile(first.path, now.header)
    assert len(EpisodeFile(first.path)) == 1  # by who asks for no header
    generators = {category: world(category).header()["generator"] for category in CATEGORIES.values()}
    assert generators == {"support": 2, "occlusion": 1, "containment": 2, "collision": 1, "barrier": 1}


def test_versions_of_a_split():
    assert world().versions("test") == {"expected": "test", "surprising": "test-surprising", "control": "test-control"}
    assert world().versions("test-control") == world().versions("valid-surprising") == {}
    assert world().subtypes == SUBTYPES


@pytest.mark.parametrize(("options", "sentence"), [
    ({"category": "colision"}, "did you mean 'collision'"),
    ({"preset": "release"}, "did you mean 'released'.*env.world.preset="),
    ({"renderer": "blender"}, "no renderer 'blender'"),
    ({"workers": 0}, "workers of VoE is a whole number >= 1, got 0"),
    ({"size": "big"}, "size of VoE is a whole number >= 8, got 'big'"),
    ({"preset": "published", "counts": "exact"}, "set env.world.counts=natural"),
])  # fmt: skip
def test_what_cannot_be_is_said(options, sentence):
    with pytest.raises(Problem, match=sentence):
        world(**options)


@pytest.mark.parametrize(("split", "sentence"), [
    ({"version": "odd"}, "version= one of expected, surprising, control, got 'odd'"),
    ({"segment": "dev"}, "segment= one of train, valid, test, got 'dev'"),
    ({"length": 50}, "clips have 50 frames, got length=50"),
    ({"start": 499}, "segment 'test' has 500 trials, got 502 episodes"),
    ({"episodes": 600}, "segment 'test' has 500 trials, got 600 episodes"),  # told with the first block
])  # fmt: skip
def test_splits_that_cannot_be_are_said(split, sentence):
    with pytest.raises(Problem, match=sentence):
        world().record({**SPLIT, **split}, None, 3)
