"""Lines of tables of equal effort: intervals over seeds and episodes, floors, and the readers that a row is asked with."""

import re
from dataclasses import replace

import pytest
from effort_answers import answered, cfg  # noqa: F401  fixtures

from eval.effort.captions import of_reading
from eval.effort.differences import difference
from eval.effort.intervals import students
from eval.effort.read_off import places_lines, read_lines, same_chance_lines, structure_lines
from eval.effort.score_names import CHANGED
from eval.effort.studies import studies
from eval.effort.table import all_steps, lines, long_csv, mode_lines


def test_intervals_run_over_episodes_and_seeds(answered):
    one, other = answered
    found = one.estimate("what if", 10)
    assert found.low < found.mean < found.high and 2 < found.high - found.low < 15
    apart = difference(other, one, "what if", 10)
    assert apart[0] == pytest.approx(5, abs=1) and 3 < apart[1] < apart[0] < apart[2] < 7
    noisy = replace(one, entries={seed: entry | {"scores": entry["scores"] | {"final": entry["scores"]["final"] | {"metrics":
        {"test/cf_hits@1/mean/h10": 50.0 + 10 * seed}}}} for seed, entry in one.entries.items()})  # fmt: skip
    doubtful = difference(other, noisy, "what if", 10)
    assert doubtful.low < 0, "seeds that differ widen it, whatever the episodes say"
    assert doubtful.p == students(other.scores("what if", 10), noisy.scores("what if", 10), False).p > 0.05
    steady = replace(one, entries={seed: entry | {"scores": entry["scores"] | {"final": entry["scores"]["final"] | {"metrics":
        {"test/cf_hits@1/mean/h10": 59.9 + 0.1 * seed}}}} for seed, entry in one.entries.items()})  # fmt: skip
    assert difference(steady, one, "what if", 10).p > 0.05, "seeds that agree do not make episodes certain"
    assert one.above_floor("H@1", 10) is True and one.above_floor("H@1", 1) is None
    assert (lines(answered)[1][0][0] == "edge + SIGReg"
            and re.fullmatch(r"[\d.]+ ± [\d.]+ \((1|2)\d\.\d\)", lines(answered)[1][0][2]))  # fmt: skip


def test_a_single_seed_has_no_interval_of_a_difference(answered):
    """Its episodes do not say what another seed would have reached."""
    one, other = answered
    alone = replace(other, entries={0: other.entries[0]})
    assert difference(alone, one, "what if", 10) is None and difference(one, alone, "what if", 10) is None


def test_a_row_is_above_its_floor_by_seeds_as_well(answered):
    """The bootstrap of three seeds alone let 12 of 100 rows through that stand at their floor."""
    one = answered[0]
    assert one.above_floor("H@1", 10)
    for entry, floor in zip(one.entries.values(), (59.0, 55.0, 10.0)):
        entry["scores"]["final"]["metrics"]["floor/copy/hits@1/h10"] = floor
    assert one.above_floor("H@1", 10) is False


def test_goals_on_other_boards_stand_beside_those_of_training(answered):
    study = studies()["causes-factors"]
    header, body = mode_lines([replace(one, study=study) for one in answered])
    assert (header[:3] == ["", "as in training", "zero-shot"]
            and body[0][1:3] == ["51.0 ± 2.5", "41.0 ± 2.5 (-10.0 ± 0.0)"] and body[0][3] == "-")  # fmt: skip


def test_a_score_at_its_floor_is_marked_and_goals_have_their_bound(answered):
    assert lines(answered)[0][3] == "goals 10" and "*" not in lines(answered)[1][0][1]
    for seed, entry in answered[1].entries.items():
        entry["scores"]["final"]["metrics"]["floor/copy/hits@1/h10"] = (
            entry["scores"]["final"]["metrics"]["test/hits@1/h10"] + 5 * (1 - seed)
        )
        entry["scores"]["select"]["metrics"]["plan/true/greedy/h10"] = 97.6
    header, body = lines(answered)
    assert header[3] == "goals 10 (true world 97.6)" and body[0][0] == "edge + SIGReg"
    assert body[0][1].endswith(" *") and not body[0][2].endswith("*") and "*" not in "".join(body[1])
    for entry in answered[0].entries.values():  # a study in which rows have worlds of their own
        entry["scores"]["select"]["metrics"]["plan/true/greedy/h10"] = 99.0
    header, body = lines(answered)
    assert header[3] == "goals 10 (true world)" and [row[3] for row in body] == ["51.0 ± 2.5 (97.6)", "51.0 ± 2.5 (99.0)"]
    two = replace(answered[0], entries={seed: answered[0].entries[seed] for seed in (0, 1)})
    two.entries[0]["scores"]["final"]["metrics"]["floor/copy/hits@1/h10"] = 50.0
    assert "*" not in lines([two])[1][0][1], "t of two seeds holds almost everything"


def test_goals_have_no_column_where_none_are_asked(answered):
    rows = [replace(one, study=studies()["causes-horizon"]) for one in answered]
    assert not any("goals" in name for table in (lines, all_steps) for name in table(rows)[0])
    assert all(len(header) == len(row) for header, body in (lines(rows), all_steps(rows)) for row in body)


def test_all_places_stand_at_all_steps_beside_what_needs_no_weights(answered):
    """Pages told them after one step and after five, and no table held those."""
    assert places_lines(answered) == (["", "steps", "all places", *(f"all places, {n}" for n in CHANGED)], [])
    one = answered[0]
    for seed, small in enumerate([60.0, 70.0, 80.0]):
        scores = one.entries[seed]["scores"]
        scores["select"]["metrics"] |= {"readout/linear/frames": 50.0, "readout/mlp/frames": 90.0}
        scores["final"]["metrics"] |= {"readout/linear/what_if/place/h5": 99.0, "readout/mlp/what_if/place/h5": small,
                                       "readout/mlp/what_if/place/several/h5": small - 10, "floor/copy/what_if/h5": 33.3333,
                                       "blind/what_if/place/h5": 93.9, "blind/what_if/place/several/h5": 82.8}  # fmt: skip
    assert places_lines(answered)[1] == [
        ["weights unknown", "5", "93.9", "-", "-", "82.8"],
        ["floor", "5", "33.3", "-", "-", "-"],
        [one.label, "5", "70.0 ± 24.8", "-", "-", "60.0 ± 24.8"],
    ]
    assert f"{one.label},all places,5,end,1,70.0\n" in long_csv(answered).replace('"', "")


def test_true_counterfactuals_stand_beside_bayes_and_floors(answered):
    """They were entered, and in no table."""
    assert same_chance_lines(answered)[1] == []
    one = answered[0]
    for seed, exact in enumerate([70.0, 71.0, 72.0]):
        one.entries[seed]["scores"]["final"]["metrics"] |= {"same_chance/exact": exact, "ceiling/same_chance": 72.0,
                                                            "floor/same_chance/copy": 2.0}  # fmt: skip
    header, (row,) = same_chance_lines(answered)
    assert header[1:4] == ["exact", "exact Bayes", "of exact Bayes"]
    assert row == [one.label, "71.0 ± 2.5", "72.0 ± 0.0", "-", "-", "2.0 ± 0.0", "-"]
    assert f"{one.label},\"same chance, exact\",,end,2,72.0" in long_csv(answered)


def test_the_reader_of_more_factors_is_asked_by_what_select_says(answered):
    """The small network read 85 of 100 outcomes where the linear one read all, and its failure was told as the model's."""
    one = answered[0]
    for seed, (linear, small) in enumerate([(99.0, 90.0), (80.0, 90.0), (99.0, 98.0)]):
        scores = one.entries[seed]["scores"]
        scores["select"]["metrics"] |= {"readout/linear/frames": linear, "readout/mlp/frames": small}
        scores["final"]["metrics"] |= {"readout/linear/frames": 10.0, "readout/mlp/frames": 20.0,
                                       "readout/linear/what_if/h10": 1.0, "readout/mlp/what_if/h10": 2.0,
                                       "blind/cf_hits@1/mean/h10": 87.5,
                                       "floor/copy/what_if/h10": 33.3, "test/smallest_gap": 0.2, "order/asks": 75.0}
    assert (one.at_once("of every action") == {0: 1.0, 1: 2.0, 2: 1.0}
            and one.at_once("factors read") == {0: 10.0, 1: 20.0, 2: 10.0})  # fmt: skip
    header, body = read_lines(answered)
    found = {name: cell for head, rows in ((header, body), structure_lines(answered))
             for row in rows if row[0] == one.label for name, cell in zip(head, row)}  # fmt: skip
    assert (found["of every action (floor 33.3)"] == "1.3 ± 1.4"
            and found["smallest gap"] == "20.0 ± 0.0" and found["pushes told"] == "75.0 ± 0.0")  # fmt: skip
    assert lines(answered)[0][2] == "what if 10 (floor; weights unknown 87.5)"
    assert any("the true world under every order of the weights" in fact for fact in of_reading(answered))
    assert "own R2" not in header and [row[1] for row in body if row[0] != one.label] == ["-"]
    assert of_reading(answered)[0].endswith("reads more factors on select")
    for scores in (one.entries[0]["scores"], one.entries[2]["scores"]):
        del scores["final"]["metrics"]["order/asks"]  # asked of one of three seeds: not the mean that stands beside it
    assert "75.0 (1 of 3)" in next(row for row in structure_lines(answered)[1] if row[0] == one.label)
    for seed in range(3):
        one.entries[seed]["scores"]["valid"] = one.entries[seed]["scores"].pop("select")
    assert of_reading([one])[0].endswith("on valid, which holds the frames that they learned from")
