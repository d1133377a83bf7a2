"""The table of `eval/ledger.py`: one name for one score, and differences over the runs that have both."""

from eval.ledger import collected, lines


def entry(run: str, setting: str = "a", **splits: dict) -> dict:
    return {
        "run": run,
        "config_hash": setting,
        "env": "physics3",
        "row": "ours",
        "scores": {split: {"metrics": metrics} for split, metrics in splits.items()},
    }


def test_what_if_is_one_score():
    """The share over all actions stood under the name of the mean over their classes: 96.4 for the 66.7 of another table."""
    header, rows = lines(collected([entry("a", select={"test/cf_hits@1/h1": 96.4, "test/cf_hits@1/mean/h1": 66.7})]))
    assert dict(zip(header[3:], rows[0][3:])) == {"what if at 1": "66.70 (1)"}


def test_choosing_is_compared_over_the_runs_that_have_both():
    """Five seeds on the one split and two on the other gave a fall that was partly seeds."""
    runs = [
        entry("a", select={"test/hits@1/h1": 90.0}, final={"test/hits@1/h1": 89.0}),
        entry("b", select={"test/hits@1/h1": 30.0}),
    ]
    assert [row[3] for row in lines(collected(runs))[1]] == ["60.00 ± 42.43 (2)", "89.00 (1)", "+1.00"]


def test_runs_of_one_name_under_two_settings_are_two():
    """One of them was dropped without a word, which one was a matter of its hash."""
    runs = [entry("a", setting, select={"test/hits@1/h1": score}) for setting, score in (("x", 90.0), ("y", 30.0))]
    assert lines(collected(runs))[1][0][3] == "60.00 ± 42.43 (2)"
