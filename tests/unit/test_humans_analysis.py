"""The analysis of human trials: kappa, hit rate, accuracy, files, and exports that are refused."""

import argparse
import csv
import json
import warnings

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from tiny_answers import export_of, guessing, knowing, write_export
from tiny_study import tiny_study

from envs.problem import Problem
from eval.humans import analyse
from eval.humans.analysis import Agreement, Rated, kappa, over_people
from eval.humans.answers import read_exports
from eval.humans.study import Clip, Study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Four lists of 27 clips, 20 of them test clips."""
    return tiny_study(tmp_path_factory.mktemp("studies") / "study", trials_each=4, repeats=4, checks=3, lists=4)


@pytest.fixture
def own(study, tmp_path):
    """The study in a folder of one's own: its clips are not looked at."""
    (tmp_path / "study.json").write_bytes((study.folder / "study.json").read_bytes())
    return Study.open(tmp_path)


def analysed(study):
    """analysis.json of the command."""
    analyse.run(argparse.Namespace(study=str(study.folder)))
    return json.loads((study.folder / "analysis/analysis.json").read_text())


def test_kappa_is_that_of_scikit_learn():
    """On 300 random pairs of raters of all kinds of leaning."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        size, lean = rng.integers(1, 30), rng.random(2)
        one, other = (np.where(rng.random(size) < p, rng.integers(50, 101, size), rng.integers(0, 50, size)) for p in lean)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it divides by zero where kappa is undefined
            expected = cohen_kappa_score(one >= 50, other >= 50, labels=[False, True])
        assert kappa(one, other) == pytest.approx(expected, nan_ok=True)


def test_kappa_by_hand():
    """Sides count, not distances; 50 is surprising."""
    assert kappa([0, 20, 80, 90], [10, 60, 70, 100]) == pytest.approx(0.5)
    assert kappa([0, 49, 50, 100], [49, 0, 100, 50]) == 1 and kappa([0, 0, 90, 90], [90, 90, 0, 0]) == -1
    assert kappa([0, 0, 90, 90], [0, 0, 0, 0]) == 0


def test_kappa_is_undefined_where_nobody_could_disagree():
    """No clip, or all on one side by both; not where each is constant on another side."""
    assert np.isnan(kappa([], [])) and np.isnan(kappa([10, 20], [0, 49])) and np.isnan(kappa([99], [50]))
    assert kappa([0, 0], [99, 99]) == 0
    with pytest.raises(ValueError, match="same clips"):
        kappa([1, 2], [1])


def rated(ratings, categories="A"):
    """People by clips; clips alternate between the two versions of a trial."""
    clips = [Clip("support", "A", 4501 + n // 2, ("expected", "surprising")[n % 2], "A1", "test",
                  "clips/0.mp4", "clips/0.webm", 2.0)
             for n in range(len(ratings[0]))]  # fmt: skip
    return Rated(tuple(f"p{n}" for n in range(len(ratings))), tuple(clips), np.array(ratings, float))


NAN = float("nan")


def test_the_hit_rate_compares_mean_ratings_of_both_versions():
    """Of each trial over the people who saw either; a trial that lacks a version is left out, ties are one half."""
    of = rated([
        [10, NAN, NAN, 60, 30, NAN, 5, NAN], [NAN, 20, 70, NAN, NAN, 30, NAN, NAN], [30, NAN, NAN, 50, 30, NAN, 9, NAN],
    ])  # fmt: skip
    expected, surprising = of.means()
    assert expected.tolist() == [20, 70, 30] and surprising.tolist() == [20, 55, 30]
    assert analyse._of_kind(of, Agreement.of(of))["metrics"]["voe/hit_rate"] == pytest.approx((0.5 + 0 + 0.5) / 3, abs=1e-4)


def test_accuracy_counts_clips_on_the_side_of_their_version():
    """50 says surprising; clips that a participant did not see do not count."""
    of = rated([[49, NAN, NAN, 50], [50, NAN, NAN, 49], [NAN, 90, 70, NAN]])
    assert of.right().tolist() == [1, 0, 0.5]
    mean, (low, high) = over_people(of.right())
    assert mean == 0.5 and (low, high) == (0, 1)
    assert over_people(np.array([0.8])) == (0.8, None)
    mean, ends = over_people(np.array([0.7, 0.8, 0.9]))
    assert ends == pytest.approx((0.8 - 4.30265 * 0.1 / 3**0.5, 1.0), abs=1e-4)


def test_pairs_are_asked_on_clips_that_both_saw_in_one_version():
    """A complementary pair has none in common; what is undefined is counted by its reason."""
    of = rated([[0, NAN, 90, NAN], [NAN, 90, NAN, 10], [0, NAN, 80, NAN], [10, NAN, 20, NAN], [NAN, 95, NAN, 70]])
    agreement = Agreement.of(of)
    found = dict(zip(agreement.pairs, zip(agreement.common.tolist(), agreement.values.tolist())))
    assert found[0, 2] == (2, 1) and found[0, 3] == (2, 0) and found[0, 1][0] == 0 and np.isnan(found[0, 1][1])
    assert found[1, 4] == (2, 0)
    summary = agreement.summary()
    assert (summary["pairs"], summary["no_common_clip"], summary["all_on_one_side"]) == (4, 6, 0)
    both_low = Agreement.of(rated([[0, NAN], [20, NAN]])).summary()
    assert both_low == {"pairs": 0, "mean": None, "quartiles": [None] * 3, "no_common_clip": 0, "all_on_one_side": 1}


def test_people_who_know_reach_one_and_people_who_guess_are_left_out(own):
    """Of six who finish, four know; the files tell it."""
    for index in range(4):
        write_export(own, export_of(own, index, knowing))
    write_export(own, export_of(own, 1, lambda clip, rng: 100 - knowing(clip, rng), seed=1))  # consistent, on the wrong side
    write_export(own, export_of(own, 2, lambda clip, rng: 50, seed=2))
    found = analysed(own)
    assert (found["finished"], found["accepted"], found["rejected"]) == (6, 4, {"consistency": 0, "checks": 2, "both": 0})
    assert found["ratings_of_a_version"] == {"2": 40} and found["demographics"] == {
        "age": [20, 23],
        "gender": {"undisclosed": 4},
    }
    for letter, of in zip("ABCDE", found["categories"].values()):
        assert of["metrics"]["voe/hit_rate"] == of["metrics"]["voe/accuracy"] == of["metrics"]["voe/auc"] == 1
        assert of["letter"] == letter and of["trials"] == 4 and of["metrics"][f"voe/hit_rate/{letter}1"] == 1
        assert of["kappa"]["mean"] in (1, None) and of["kappa"]["no_common_clip"] >= 2  # two complementary pairs of people
    with (own.folder / "analysis/ratings.csv").open() as file:
        answers = list(csv.DictReader(file))
    assert len(answers) == 6 * 27 and sum(int(one["accepted"]) for one in answers) == 4 * 27
    with (own.folder / "analysis/kappa.csv").open() as file:
        pairs = list(csv.DictReader(file))
    assert len(pairs) == 5 * 6 and all(pair["kappa"] == "" for pair in pairs if pair["common"] == "0")
    for name in ("kappa.svg", "kappa.png", "kappa-map.svg", "kappa-map.png"):
        assert (own.folder / "analysis" / name).stat().st_size > 1000


def test_chance_has_one_half(study):
    """Fifty people who guess, had they been accepted: hit rate, accuracy and AUC near one half, kappa near zero."""
    exports = [export_of(study, index, guessing, seed) for seed in range(13) for index in range(4)]
    ids = [name for name, clip in study.clips.items() if clip.role == "test"]
    given = [{one["clip"]: one["rating"] for one in export["responses"] if one["kind"] == "test"} for export in exports]
    ratings = [[of_person.get(name, NAN) for name in ids] for of_person in given]
    of = Rated(tuple(range(len(exports))), tuple(study.clips[name] for name in ids), np.array(ratings, float))
    assert abs(of.right().mean() - 0.5) < 0.06 and abs(of.single().mean() - 0.5) < 0.06
    assert abs(Agreement.of(of).summary()["mean"]) < 0.05


def test_one_participant_is_analysed(own):
    """Without an interval over people, and without a pair."""
    write_export(own, export_of(own, 0, knowing))
    found = analysed(own)
    assert found["all"]["kappa"]["pairs"] == 0 and "voe/accuracy" not in found["all"]["intervals"]
    assert found["all"]["trials"] == 0 and "voe/hit_rate" not in found["all"]["metrics"]  # no trial in both versions


def test_nothing_to_analyse_is_told(own):
    """No export, or nobody accepted."""
    with pytest.raises(Problem, match="holds no export"):
        analysed(own)
    write_export(own, export_of(own, 0, lambda clip, rng: 0))
    with pytest.raises(Problem, match="no participant of .* was accepted, 1 finished"):
        analysed(own)


def changed(export, **changes):
    """The export with other values at its top, or of its first answer."""
    first = {key: changes.pop(key) for key in list(changes) if key in export["responses"][0]}
    return export | changes | {"responses": [export["responses"][0] | first, *export["responses"][1:]]}


@pytest.mark.parametrize("change, says", [
    ({"study": "0123456789ab"}, "belongs to study 0123456789ab"), ({"list": 4}, "shown list 4, the study has 4"),
    ({"list": 1}, "does not follow list 1 at position 1"), ({"rating": 101}, "damaged at responses.0.rating"),
    ({"rating": 50.5}, "damaged at responses.0.rating"), ({"rating": True}, "damaged at responses.0.rating"),
    ({"version": "control"}, "damaged at responses.0.version"), ({"rt_ms": -1}, "responses.0.rt_ms"),
    ({"decision": {"accepted": True}}, "damaged at decision.consistency"), ({"more": 1}, "damaged at more"),
    ({"schema": 2}, "schema 2"),
])  # fmt: skip
def test_a_damaged_export_is_named_in_a_sentence(own, change, says):
    """And nothing is analysed without it."""
    write_export(own, export_of(own, 1, knowing))
    write_export(own, changed(export_of(own, 0, knowing), **change))
    with pytest.raises(Problem, match=f"person0x0.json .*{says}"):
        read_exports(own)


def test_an_export_with_an_answer_less_is_refused(own):
    """A list is shown whole."""
    export = export_of(own, 0, knowing)
    write_export(own, export | {"responses": export["responses"][:-1]})
    with pytest.raises(Problem, match="has 26 answers, its list has 27 clips"):
        read_exports(own)


def test_a_decision_that_does_not_follow_from_the_answers_is_refused(own):
    """Whoever changes an answer, or a decision, by hand."""
    export = export_of(own, 0, lambda clip, rng: 0)
    write_export(own, export | {"decision": export["decision"] | {"accepted": True}})
    with pytest.raises(Problem, match="another decision than its answers have"):
        read_exports(own)


def test_half_a_file_is_refused(own):
    """A copy that was cut off."""
    write_export(own, export_of(own, 0, knowing))
    path = own.folder / "exports/person0x0.json"
    path.write_text(path.read_text()[:-10])
    with pytest.raises(Problem, match="is not an export: it is no JSON mapping"):
        read_exports(own)


def test_one_list_is_accepted_once(own):
    """Otherwise its versions would be rated more often than their complements."""
    for seed in range(2):
        write_export(own, export_of(own, 0, knowing, seed))
    with pytest.raises(Problem, match="both accepted on list 0"):
        read_exports(own)
