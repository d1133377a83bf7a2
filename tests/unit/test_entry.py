"""An entry of the ledger says what a run can have reached, or is refused in a sentence."""

import json
from pathlib import Path

import pytest

from envs.problem import Problem
from eval.runs import Run
from eval.runs.entry import read_entry
from eval.runs.final import check_select
from eval.runs.ledger import entries

SCORES = {
    "metrics": {"test/hits@1/h1": 99.0, "order/tau": -0.5},
    "protocol": {"pool": 10},
    "answers": {"test/hits@1/h1": "1x1 a b"},
}
WHOLE = {"run": "mine 1", "row": "ours", "env": "physics3", "seed": 0,
         "scores": {"final": SCORES}, "plans": {"background": SCORES}, "losses": {"joint val/loss": [2.0, 1.0]},
         "setting": {"trainer": {"precision": "32-true"}}, "machine": {"processor": "one"},
         "rounds": [{"round": 1, "stage": "joint", "cpu_s": 60.0, "updates": 9, "scores": {"final": SCORES}}]}  # fmt: skip


def write(place: Path, entry, name: str = "mine_1-abc.json") -> Path:
    (place / "physics3").mkdir()
    (place / "physics3" / name).write_text(json.dumps(entry))
    return place / "physics3" / name


def test_a_whole_entry_is_read(tmp_path):
    """Entries of before lack rounds, losses and plans."""
    before = {key: value for key, value in WHOLE.items() if key not in ("rounds", "losses", "plans", "setting", "machine")}
    assert read_entry(write(tmp_path, before)) == {"rounds": [], "losses": {}, "plans": {}} | before
    (tmp_path / "physics3/mine_1-abc.json").write_text(json.dumps(WHOLE))
    assert read_entry(tmp_path / "physics3/mine_1-abc.json") == WHOLE


def test_the_ledger_of_the_project_is_whole():
    ledger = Path(__file__).resolve().parents[2] / "results/ledger"
    assert len(list(entries(ledger))) > 50 and len(list(entries(ledger / "tune"))) > 100


@pytest.mark.parametrize("at, value, said", [
    (("scores", "final", "metrics", "test/hits@1/h1"), 989.0, r"says test/hits@1/h1 989.0 \(final\)"),
    (("scores", "final", "metrics", "order/tau"), float("nan"), "says order/tau nan"),
    (("scores", "final", "metrics", "order/tau"), "0.5", "has metrics that are no numbers"),
    (("scores", "final", "answers"), ["1x1"], "has answers of another kind"),
    (("scores", "final", "answers", "test/hits@1/h1"), 3, "has answers of another kind"),
    (("scores", "final", "protocol"), [], "has a protocol of another kind"),
    (("scores", "final"), None, "has metrics that are no numbers"),
    (("scores",), [], "has scores of another kind"),
    (("rounds",), {}, "has rounds of another kind"),
    (("rounds", 0), 5, "has rounds without a number, stage, seconds and updates"),
    (("rounds", 0, "stage"), None, "has rounds without"),
    (("rounds", 0, "cpu_s"), None, "has rounds without"),
    (("rounds", 0, "updates"), -1, "has rounds without"),
    (("rounds", 0, "scores", "final", "metrics", "plan/success/h1"), -4, r"says plan/success/h1 -4 \(round 1, final\)"),
    (("plans", "background", "metrics"), 4, r"has metrics that are no numbers \(plan background\)"),
    (("plans", "background"), 4, "has metrics that are no numbers"),
    (("losses", "joint val/loss"), [None, 1.0], "has losses that are no numbers"),
    (("losses", "joint val/loss"), 1.0, "has losses that are no numbers"),
    (("setting",), {}, "has setting of another kind"),
    (("setting",), {"trainer": {"precision": None}}, "has setting of another kind"),
    (("machine",), {}, "has machine of another kind"),
    (("parameters",), {"encoder": "x"}, "has parameters of another kind"),
    (("versions",), {"commit": 5}, "has versions of another kind"),
    (("seed",), None, "has seed of another kind"),
    (("seed",), True, "has seed of another kind"),
    (("env",), "physics5", "is of run 'mine 1' on physics5"),
    (("run",), "another", "is of run 'another' on physics3"),
])  # fmt: skip
def test_what_no_run_can_have_reached_is_refused(tmp_path, at, value, said):
    """Seen: 989 % was printed, lists in place of answers ended in a traceback."""
    entry = json.loads(json.dumps(WHOLE))
    inner = entry
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    with pytest.raises(Problem, match=f"mine_1-abc.json is no entry of a ledger, it {said}.*; take it from the history again"):
        read_entry(write(tmp_path, entry))


@pytest.mark.parametrize("entry", [[], 3, None])
def test_what_is_none_at_all_is_refused(tmp_path, entry):
    with pytest.raises(Problem, match="is no entry of a ledger, it is damaged"):
        read_entry(write(tmp_path, entry))


@pytest.mark.parametrize("world", [0, 9, 10, 12, 14])
def test_drawn_worlds_of_final_are_not_chosen_on(compose, world):
    run = Run(None, compose("fit", "env=chemistry_chain5", f"env.world.scm_seed={world}"), world="not asked")
    if world < 10:
        return check_select(run)
    with pytest.raises(Problem, match=f"drawn world {world} is kept for 'final'; choose on env.world.scm_seed=0 to 4"):
        check_select(run)
