"""After which part of a training the scored weights were."""

from eval.effort.filled import Filled
from eval.effort.kept import kept_at, kept_text
from eval.effort.settings import rows_of
from eval.effort.studies import studies
from eval.effort.table import lines

(ROW,) = rows_of("edge + InfoNCE")


def filled(*losses: dict[str, list[float]]) -> Filled:
    scores = {"final": {"metrics": {"test/hits@1/h10": 90.0, "floor/copy/hits@1/h10": 5.0}}}
    entries = {seed: {"rounds": [], "losses": found, "scores": scores if found else {}} for seed, found in enumerate(losses)}
    return Filled(studies()["causes"], "", ROW, "physics5_shuffled", None, entries)


def test_the_least_validation_loss_says_where():
    """A run that found its best in the middle, one whose two best are equal, of which the first is kept, and one that diverged."""
    one = filled({"joint train/loss": [1.0, 0.0], "joint val/loss": [3.0, 1.0, 2.0, 4.0]}, {"joint val/loss": [2.0, 2.0, 1.0, 1.0]}, {})
    assert kept_at(one) == {0: 50.0, 1: 75.0} and kept_text(one) == "62 (50 to 75)"
    header, (row,) = lines([one])
    assert row[header.index("kept at")] == "62 (50 to 75)"


def test_stages_hand_on_their_best():
    """The last one alone is chosen from: its second round of three is round 4 of 5."""
    assert kept_at(filled({"first val/loss": [0.0, 9.0], "second val/loss": [3.0, 1.0, 2.0]})) == {0: 80.0}


def test_runs_of_before_do_not_say():
    assert kept_text(filled({"joint train/loss": [1.0]})) == "-"
