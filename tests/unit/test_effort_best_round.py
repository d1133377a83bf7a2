"""After which part of a training the scored weights were."""

import pytest

from eval.effort.best_round import best_round
from eval.effort.cells import kept_at
from eval.effort.filled import Filled
from eval.effort.settings import rows_of
from eval.effort.studies import studies
from eval.effort.table import lines

(ROW,) = rows_of("edge + InfoNCE")
MIDDLE = {"joint train/loss": [1.0, 0.0, 0.0, 0.0], "joint val/loss": [3.0, 1.0, 2.0, 4.0]}


def filled(*losses: dict[str, list[float]]) -> Filled:
    scores = {"final": {"metrics": {"test/hits@1/h10": 90.0, "floor/copy/hits@1/h10": 5.0, "test/cf_hits@1/mean/h10": 70.0}}}
    rounds = [{"round": n, "stage": "joint", "cpu_s": 60.0 * n, "updates": 10 * n, "scores": {}} for n in range(1, 5)]
    entries = {
        seed: {"rounds": rounds, "losses": found, "scores": scores if found else {}} for seed, found in enumerate(losses)
    }
    return Filled(studies()["causes"], "", ROW, "physics5_shuffled", None, entries)


@pytest.mark.parametrize("losses, found", [
    (MIDDLE, (2, 4)),
    ({"joint val/loss": [2.0, 2.0, 1.0, 1.0]}, (3, 4)),  # the first of equal ones
    ({"first val/loss": [0.0, 9.0], "second val/loss": [3.0, 1.0, 2.0]}, (4, 5)),  # a stage hands on its best, whatever it had
    ({"joint train/loss": [1.0]}, None),
    ({"joint val/loss": []}, None),
])  # fmt: skip
def test_the_least_validation_loss_says_where(losses, found):
    assert best_round({"losses": losses}) == found


def test_the_table_says_when_the_weights_were():
    """Of two seeds; a third that diverged has none."""
    one = filled(MIDDLE, {"joint val/loss": [4.0, 3.0, 2.0, 1.0]}, {})
    header, (row,) = lines([one])
    assert (
        row[header.index("kept at")] == kept_at(one) == "75 (50 to 100)" and kept_at(filled({"joint train/loss": [1.0]})) == "-"
    )
