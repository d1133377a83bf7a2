"""A study's folder: what is built, what is read back, and what is refused."""

import json
import shutil

import av
import numpy as np
import pytest
from tiny_study import square_pairs, tiny_study

from envs.problem import Problem
from eval.humans.build import Sizes, build
from eval.humans.choice import Check, choose_checks, choose_scenarios
from eval.humans.decision import decide
from eval.humans.encode import write_clip
from eval.humans.order import Rules
from eval.humans.study import Entry, Study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """One for the file; tests that damage it take a copy."""
    return tiny_study(tmp_path_factory.mktemp("studies") / "study")


@pytest.fixture
def copy(study, tmp_path):
    """A folder of one's own."""
    shutil.copytree(study.folder, tmp_path / "study")
    return tmp_path / "study"


def test_a_study_reads_back_as_it_was_built(study):
    """All of it, and its id is the digest of its contents."""
    assert Study.read(study.folder) == study and study.id == study.digest()


def test_the_same_seed_builds_the_same_study(study, tmp_path):
    """Up to the bytes of its clips; another seed gives other names and lists."""
    again, other = tiny_study(tmp_path / "again"), tiny_study(tmp_path / "other", seed=1)
    assert again.contents() == study.contents()
    for clip in study.clips.values():
        for name in (clip.mp4, clip.webm):
            assert (study.folder / name).read_bytes() == (again.folder / name).read_bytes()
    assert not set(other.clips) & set(study.clips) and other.lists != study.lists


def test_a_study_holds_what_was_asked_for(study):
    """Both versions of every test trial, checks and scenarios from validation trials, none of them twice."""
    roles = [clip.role for clip in study.clips.values()]
    assert (roles.count("test"), roles.count("check"), roles.count("familiarisation")) == (20, 2, 4)
    assert all((clip.trial > 4500) == (clip.role == "test") for clip in study.clips.values())
    shown = {(clip.category, clip.trial) for clip in study.clips.values() if clip.role == "check"}
    taught = {(clip.category, clip.trial) for clip in study.clips.values() if clip.role == "familiarisation"}
    assert not shown & taught
    for scenario in study.familiarisation:
        one, other = study.clips[scenario.expected], study.clips[scenario.surprising]
        assert (one.version, other.version, one.trial) == ("expected", "surprising", other.trial)


def test_a_file_tells_nothing_but_its_pictures(study):
    """Files of a suffix share size, time of change, length and metadata, in whatever order a folder lists them."""
    for suffix in ("mp4", "webm"):
        told = set()
        for path in study.folder.glob(f"clips/*.{suffix}"):
            with av.open(path) as file:
                stream = file.streams.video[0]
                data = (tuple(file.metadata.items()), tuple(stream.metadata.items()), file.duration, stream.average_rate)
            told.add((path.stat().st_size, path.stat().st_mtime, *data))
        assert len(told) == 1, told
    for clip in study.clips.values():
        assert not any(word in clip.mp4 for word in (clip.version, clip.subtype, str(clip.trial)))


def test_the_length_that_a_file_tells_does_not_depend_on_what_moves(tmp_path):
    """The encoder reordered pictures of a pan and none of a still: their mp4 files told 2.083008 and 2.083333 seconds."""
    drawn = np.random.default_rng(0).integers(0, 255, (16, 80, 3), np.uint8)
    told = set()
    for shift in (0, 1):
        write_clip(np.stack([drawn[:, shift * t : shift * t + 16] for t in range(50)]), tmp_path / "clip", (64, 36))
        with av.open(tmp_path / "clip.mp4") as file:
            told.add((file.duration, file.streams.video[0].duration))
    assert len(told) == 1, told


def test_a_padded_clip_shows_all_its_pictures(study):
    """Padding is skipped by a reader, and the square is where it was drawn."""
    for clip in study.clips.values():
        for name in (clip.mp4, clip.webm):
            with av.open(study.folder / name) as file:
                frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
            assert len(frames) == 6 and frames[0].shape == (36, 64, 3)
            assert abs(int(frames[0][2, -2, 0]) - 220) < 8  # the background keeps its grey


def test_a_missing_clip_is_named(copy, study):
    """At the start, not when somebody is to see it."""
    name = next(iter(study.clips.values())).webm
    (copy / name).unlink()
    with pytest.raises(Problem, match=f"{name} is missing"):
        Study.read(copy)
    assert Study.open(copy).id == study.id  # an analysis needs no clips


@pytest.mark.parametrize("content, says", [(b"", "is empty"), (b"no video at all", "cannot be played")])
def test_an_unplayable_clip_is_named(copy, study, content, says):
    """Empty, or something else than a video."""
    name = next(iter(study.clips.values())).mp4
    (copy / name).write_bytes(content)
    with pytest.raises(Problem, match=f"{name} {says}"):
        Study.read(copy)


def test_half_a_clip_is_refused(copy, study):
    """A copy that was cut off: of either format, in the head or in the last byte."""
    clip, unplayable = next(iter(study.clips.values())), "cannot be played"
    for name, left, says in ((clip.webm, 200, unplayable), (clip.mp4, 200, unplayable), (clip.webm, -1, "others of")):
        whole = (copy / name).read_bytes()
        (copy / name).write_bytes(whole[:left])
        with pytest.raises(Problem, match=f"{name}.* {says}"):
            Study.read(copy)
        (copy / name).write_bytes(whole)


@pytest.mark.parametrize("change, says", [
    (lambda told: told | {"schema": 2}, "schema 2, this code reads 1"), (lambda told: told | {"seed": "0"}, "damaged at seed"),
    (lambda told: told | {"more": 0}, "damaged at more"), (lambda told: [told], "no JSON mapping"),
    (lambda told: told | {"seed": 7}, "changed after it was built"),
    (lambda told: told | {"lists": [[{"position": 1}]]}, "lists.0.0.clip"),
])  # fmt: skip
def test_a_foreign_file_is_refused_in_a_sentence(copy, change, says):
    """Another version, another type, another content than was written."""
    path = copy / "study.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(Problem, match=says):
        Study.read(copy)


def test_no_study_is_told(tmp_path):
    """With the command that makes one."""
    with pytest.raises(Problem, match="build a study with: python -m eval.humans study"):
        Study.read(tmp_path)


def test_a_study_is_never_overwritten(study):
    """Participants hold its clips."""
    with pytest.raises(Problem, match="is there already"):
        tiny_study(study.folder)


def test_nothing_is_left_of_a_build_that_failed(tmp_path):
    """No half study, no temporary folder."""
    def broken(category, segment):
        if segment == "test":
            raise KeyboardInterrupt
        return square_pairs(category, segment)

    with pytest.raises(KeyboardInterrupt):
        build(broken, tmp_path / "study", Sizes(2, 1, 1, 2, Rules(1)), size=(64, 36), quiet=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("sizes, says", [
    ({"trials_each": 3}, "--trials-each is an even number"), ({"lists": 0}, "--lists is an even number"),
    ({"checks": 0}, "--checks is a whole number from 1"),
    ({"trials_each": 2, "rules": Rules(11)}, "--repeats is a whole number from 1 to 10"),
])  # fmt: skip
def test_sizes_that_cannot_be_are_refused(sizes, says):
    """Before anything is collected."""
    with pytest.raises(Problem, match=says):
        Sizes(**sizes)


def test_more_trials_than_there_are_is_told(tmp_path):
    """With both numbers."""
    with pytest.raises(Problem, match="support has 8 test trials, --trials-each is 10"):
        tiny_study(tmp_path / "study", trials_each=10)


def test_checks_are_the_trials_whose_versions_differ_most():
    """One of each category, then the second of each; three of five are expected. Openings of barriers are passed over."""
    distances = {"support": np.array([1.0, 9, 3]), "barrier": np.array([5.0, 2, 4, 6])}
    subtypes = {"support": ["A1", "A2", "A1"], "barrier": ["E1", "E2", "E2", "E3"]}
    chosen = choose_checks(distances, subtypes, 5, np.random.default_rng(0))
    assert [(check.category, check.row) for check in chosen] == [
        ("support", 1), ("barrier", 0), ("support", 2), ("barrier", 2), ("support", 0)
    ]  # fmt: skip
    assert [check.version for check in chosen].count("expected") == 3


def test_scenarios_show_every_subtype_and_no_check():
    """The most different trial of each that no check has taken."""
    distances = {"support": np.array([9.0, 8, 7]), "occlusion": np.array([1.0, 2, 3])}
    subtypes = {"support": ["A1", "A2", "A1"], "occlusion": ["B2", "B1", "B1"]}
    chosen = choose_scenarios(distances, subtypes, 4, [Check("support", 0, "expected")])
    assert chosen == [("support", 2), ("support", 1), ("occlusion", 2), ("occlusion", 0)]


def test_a_participant_is_judged_by_repeats_and_checks(study):
    """70 % of the repeats on one side of 50, 80 % of the checks right; 50 is surprising; nothing else counts."""
    clip = {clip.version: name for name, clip in study.clips.items() if clip.role == "check"}
    tests = [Entry(i, "a", "test", None) for i in range(1, 11)]
    repeats = [Entry(10 + i, "a", "repeat", i) for i in range(1, 11)]
    checks = [Entry(20 + i, clip["surprising" if i % 2 else "expected"], "check", None) for i in range(1, 6)]
    entries = [*tests, *repeats, *checks]
    good = {entry.position: 0 for entry in tests + repeats} | {20 + i: 50 if i % 2 else 49 for i in range(1, 6)}
    assert decide(entries, good, study).to_dict() == {
        "accepted": True, "consistency": 1.0, "consistent": 10, "repeats": 10, "checks_right": 5, "checks": 5
    }  # fmt: skip
    assert decide(entries, good | {11: 50, 12: 100, 13: 99}, study).accepted
    assert not decide(entries, good | {11: 50, 12: 100, 13: 99, 14: 60}, study).accepted
    assert decide(entries, good | {21: 49}, study).accepted
    assert not decide(entries, good | {21: 49, 22: 50}, study).accepted
