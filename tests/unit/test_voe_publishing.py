"""Collected clips are published as folders, and what is read from those is what was collected."""

import json
from functools import partial

import numpy as np
import pytest

pytest.importorskip("pybullet")
cv2 = pytest.importorskip("cv2")
from envs.collect import collect  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.voe import publishing  # noqa: E402
from envs.voe.clip import CATEGORIES, Version  # noqa: E402
from envs.voe.published import PublishedVoe  # noqa: E402
from envs.voe.published_files import FOLDERS  # noqa: E402
from envs.voe.source import VoeSource  # noqa: E402
from envs.voe.table import COLUMNS  # noqa: E402

SIZE = 16
SPLIT = {"segment": "test", "length": 49, "seed": 1, "episodes": 1}
SPLITS = {version.value: {**SPLIT, "version": version.value} for version in Version}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """files(category, version) -> the collected file of its first test trial."""
    folder, found = tmp_path_factory.mktemp("data"), {}

    def of(category, version, **options):
        key = category, version, str(options)
        if key not in found:
            world = VoeSource(category, size=SIZE, workers=1, **options)
            found[key] = collect({"name": category, "splits": SPLITS}, world, version, folder, quiet=True)
        return found[key]

    return of


@pytest.mark.parametrize("category", CATEGORIES.values())
def test_what_is_published_is_read_as_it_was_collected(files, category, tmp_path):
    versions = list(Version) if category == "occlusion" else list(Version)[:2]
    home = publishing.publish([files(category, version.value) for version in versions], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [home.name]
    for labels in ("released", "ours"):  # they have no faults to be mended
        world = PublishedVoe(category, str(tmp_path), size=SIZE, labels=labels)
        assert world.versions("test").keys() == set(versions)
        for version in versions:
            made, (read, lengths) = files(category, version.value).read(), world.record(SPLITS[version.value], None, 1)
            assert lengths.tolist() == [50] and read.keys() == made.keys() - {"ep_len", "ep_offset"}
            for name in made:
                if name != "objects":
                    assert np.array_equal(read[name], made[name]) and read[name].dtype == made[name].dtype, name
            same = np.r_[COLUMNS["position"], COLUMNS["axes"], COLUMNS["kind"]]
            assert np.abs(read["objects"][..., same] - made["objects"][..., same]).max() < 1e-4
            sizes, ours = (clip["objects"][0][:, COLUMNS["size"]] for clip in (read, made))
            known = sizes.any(1)  # of objects and containers
            assert known[0] and np.allclose(sizes[known], ours[known], atol=1e-5)


def test_lists_and_manifest(files, tmp_path):
    home = publishing.publish([files("occlusion", version.value) for version in Version], tmp_path)
    lines = (home / "test.txt").read_text().splitlines()
    assert lines == ["B_occlusion/test/expected/trial_4501 0", "B_occlusion/test/surprising/trial_4501 100"]
    assert (home / "test_control.txt").read_text() == "B_occlusion/test/control/trial_4501 0\n"
    manifest = json.loads((home / "manifest.json").read_text())
    assert (manifest["preset"], manifest["seed"], manifest["versions"]) == ("supplement", 0, list(Version))
    assert manifest["parts"]["test/control"]["made_with"]["generator"] == 1
    scene = json.loads((home / "test/surprising/trial_4501/scene_data.json").read_text())
    assert scene["violation"] and set(scene["instance"]) == {"0", "3", "6"} and len(scene["frame"]) == 50
    assert (np.load(home / "test/expected/trial_4501/inst_raw.npz")["arr_0"] == 6).any()  # as published


def test_random_colors_are_not_called_by_the_shape(files, tmp_path):
    home = publishing.publish([files("support", "expected", colors="random")], tmp_path)
    instance = json.loads((home / "test/expected/trial_4501/scene_data.json").read_text())["instance"]
    assert "colour" not in instance["1"] and instance["5"]["colour"] == "gray"


def test_the_command(files, root, command_here, tmp_path):
    """It collects nothing, refuses worlds without such clips, and needs a folder."""
    ask = ["env.world.size=16", "env.splits.test.episodes=1", f"data_dir={tmp_path}/data", "split=test", "env.world.workers=1"]
    publish = partial(command_here, root / "envs/publish.py", cwd=tmp_path)
    for words, sentence in (
        ([*ask, f"to={tmp_path}/out"], "does not exist; make it with: python envs/collect.py env=voe_barrier split=test"),
        (ask, "no folder given; name one"), (["env=physics3", "to=out"], "env 'physics3' has none; set env=voe_barrier"),
        ([*ask[:3], "split=tests", "to=out"], "no split 'tests': did you mean 'test'"),
    ):  # fmt: skip
        done = publish(*words)
        assert done.returncode == 1 and sentence in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
    assert command_here(root / "envs/collect.py", "env=voe_barrier", *ask, cwd=tmp_path).returncode == 0
    done = publish(*ask, f"to={tmp_path}/out")
    assert done.returncode == 0 and "E_barrier: 1 trials" in done.stdout, done.stderr
    assert (tmp_path / "out/E_barrier/test/expected/trial_4501/rgb.avi").exists()


def broken(*_):
    raise OSError(28, "No space left on device")


def test_nothing_is_left_half_written(files, tmp_path, monkeypatch):
    file = files("support", "expected")
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "scene", broken)
        with pytest.raises(OSError, match="No space left"):
            publishing.publish([file], tmp_path / "new")
    assert not list((tmp_path / "new").iterdir())
    publishing.publish([file], tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Problem, match=r"A_support is there already; choose another folder with to="):
        publishing.publish([file], tmp_path)
    assert sorted(tmp_path.rglob("*")) == before and FOLDERS["A"] == "A_support"


def test_what_cannot_be_published_is_said(files, tmp_path):
    publish = partial(publishing.publish, to=tmp_path / "out")
    with pytest.raises(Problem, match="no column 'depth'.*env.world.record_depth=true"):
        publish([files("support", "expected", record_depth=False)])
    short = {**SPLITS["expected"], "length": 2}
    world = VoeSource("support", size=SIZE, workers=1)
    with pytest.raises(Problem, match="clips of 3 frames, a published one has 50.*length=49"):
        publish([collect({"name": "short", "splits": {"test": short}}, world, "test", tmp_path, quiet=True)])
    with pytest.raises(Problem, match="several of the splits belong in test/expected"):
        publish([files("support", "expected")] * 2)
    assert not (tmp_path / "out").exists()
