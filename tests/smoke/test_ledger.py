"""The ledger: runs are entered whole, with the machine that trained them, and scores of the same weights stay."""

import json
import os

import pytest
import torch
from filelock import FileLock, Timeout
from ledger_runs import copied, run  # noqa: F401  fixtures
from omegaconf import OmegaConf

import eval.runs.ledger
from envs.problem import Problem
from eval.ledger import run as ledger_command
from eval.ledger import run_lines
from eval.runs.ledger import DIVERGED, enter, entries, entry_of
from eval.runs.made_with import machine
from eval.score import score_run
from train.checkpoint_files import forget_scores


def test_a_finished_run_is_entered(run):
    (entry,) = entries(run.parents[1] / "ledger")
    results = json.loads((run / "results.json").read_text())
    assert entry["row"] == "ae + contrastive" and entry["seed"] == 0 and entry["world"] is None
    assert entry["scores"]["select"]["metrics"] == results["metrics"] and entry["setting"]["loss"]["name"] == "contrastive"
    assert len(entry["losses"]["joint val/loss"]) == 1 and entry["machine"]["cores"] >= 1


def test_the_machine_is_that_of_the_training(run, monkeypatch):
    """A run that is entered elsewhere keeps the machine, and the GPU, that it was trained on."""
    here = json.loads((run / "results.json").read_text())["machine"]
    assert here == machine("cpu") and set(here) == {"processor", "cores"}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    assert machine("auto") == machine("gpu") == here | {"gpu": "a GPU"} and machine("cpu") == here
    assert json.loads(enter(run, run.parents[1] / "elsewhere").read_text())["machine"] == here


def test_scoring_again_keeps_the_machine(copied):
    path = copied / "results.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"machine": {"processor": "another", "cores": 3}}))
    for here in (None, machine("cpu")):  # of a finished run that train/fit.py takes up
        assert score_run(copied, machine=here)["machine"] == {"processor": "another", "cores": 3}
    assert json.loads(path.read_text())["machine"] == {"processor": "another", "cores": 3}


def test_results_that_are_made_again_keep_the_machine_of_the_training(copied):
    """Seen: the machine that repaired a lost results.json was entered as the one that had trained."""
    entered = enter(copied, copied.parents[1] / "ledger")
    entry = json.loads(entered.read_text())
    entered.write_text(json.dumps(entry | {"machine": {"processor": "another", "cores": 3}}))
    (copied / "results.json").unlink()
    score_run(copied, timing={"fit_s": entry["timing"]["fit_s"]}, machine=entry["machine"])  # as train/fit.py resume= does
    again = json.loads(enter(copied, copied.parents[1] / "ledger").read_text())
    assert again["machine"] == {"processor": "another", "cores": 3}
    assert again["timing"]["fit_s"] == entry["timing"]["fit_s"] and again["weights"] == entry["weights"]


def test_probes_are_entered_in_whatever_order_they_were_typed(copied):
    """Seen: the other order was scored into a file that the ledger passed over without a word."""
    for names in (["sensitivity", "ranking_pool"], ["ranking_pool", "sensitivity"]):
        score_run(copied, split="test", probes=names)
    assert [path.name for path in copied.glob("results-test*.json")] == ["results-test-ranking_pool-sensitivity.json"]
    entry = json.loads(enter(copied, copied.parents[1] / "other").read_text())
    assert {"test/hits@1/h1", "test/smallest_gap"} <= entry["scores"]["test"]["metrics"].keys()


def test_a_line_for_every_run_of_the_scores_asked_for():
    """Runs that lack all of them are left out, and a mean is one over those that have the score."""
    asked = ["structure/shd", "other"]
    runs = [{"env": "chain10", "row": "ours", "world": world, "seed": 0, "scores": {"select": {"metrics": metrics}}}
            for world, metrics in ((30, {"structure/shd": 2.0}), (31, {"structure/shd": 1.0, "other": 5.5}),
                                   (32, {"more": 9.0}))]  # fmt: skip
    header, rows = run_lines(runs, asked)
    assert header == ["env", "row", "split", "world", "seed", *asked]
    assert rows == [["chain10", "ours", "select", "30", "0", "2", ""], ["chain10", "ours", "select", "31", "0", "1", "5.5"],
                    ["", "", "mean", "", "", "1.50", "5.50"]]  # fmt: skip
    with pytest.raises(Problem, match=r"no run asked for has a score 'structure/sdh': did you mean 'structure/shd'\?"):
        run_lines(runs, ["structure/sdh"])


@pytest.mark.parametrize("asked, said", [
    ({"metrics": []}, "an empty list names nothing"), ({"envs": []}, "an empty list names nothing"),
    ({"metrics": [3, None]}, "no run asked for has a score '3'"), ({"envs": [None]}, "holds no run of env 'None'"),
])  # fmt: skip
def test_odd_names_of_scores_and_envs_are_told(asked, said, tmp_path):
    """Seen: a list of numbers ended in a traceback, an empty one printed everything."""
    entry = {
        "run": "a", "row": "ours", "env": "physics3", "seed": 0, "scores": {"select": {"metrics": {"test/hits@1/h1": 5.0}}}
    }
    (tmp_path / "physics3").mkdir()
    (tmp_path / "physics3/a.json").write_text(json.dumps(entry))
    with pytest.raises(Problem, match=said):
        ledger_command(OmegaConf.create({"ledger": str(tmp_path), "run": None, "envs": None, "metrics": None} | asked))


def test_what_was_asked_apart_is_entered_too(copied, tmp_path):
    """Some probes on another split, and goals on other boards; another pool is none of it."""
    own = json.loads((copied / "results.json").read_text())
    own["protocol"] |= {"split": "zero-shot", "probes": ["weight_order"]}
    for name, metrics in (
        ("results-zero-shot-weight_order", {"order/tau": 0.5}),
        ("results-zero-shot-n50", {"test/hits@1/h1": 1.0}),
    ):
        (copied / f"{name}.json").write_text(json.dumps(own | {"metrics": metrics, "answers": {}}))
    plan = {"mode": "background", "planners": ["model_closed"], "timing": {}}
    (copied / "plan-horizons10-modebackground.json").write_text(
        json.dumps({"metrics": {"plan/success/h10": 3.0}, "plan": plan})
    )
    (copied / "plan-modebackground-rewardlatent.json").write_text(
        json.dumps({"metrics": {"plan/success/h10": 9.0}, "plan": plan})
    )
    entry = json.loads(enter(copied, tmp_path / "ledger").read_text())
    assert (
        entry["scores"]["zero-shot"]["metrics"] == {"order/tau": 0.5}
        and "test/hits@1/h1" in entry["scores"]["select"]["metrics"]
    )
    assert entry["plans"]["background"]["metrics"] == {"plan/success/h10": 3.0} and "final" not in entry["plans"]
    for seed, reached in ((31, 5.0), (32, 7.0)):
        found = {"metrics": {"plan/success/h10": reached}, "plan": plan | {"mode": "train", "seed": seed}}
        (copied / f"plan-horizons10-seed{seed}.json").write_text(json.dumps(found))
    assert json.loads(enter(copied, tmp_path / "ledger").read_text())["plans"]["final"]["metrics"] == {"plan/success/h10": 5.0}
    whole = json.loads((copied / "results.json").read_text())
    apart = whole | {"metrics": {"order/tau": 0.25}, "protocol": whole["protocol"] | {"probes": ["weight_order"]}}
    (copied / "results-select-weight_order.json").write_text(json.dumps(apart))
    scores = json.loads(enter(copied, tmp_path / "ledger").read_text())["scores"]["select"]
    assert {"order/tau", "test/hits@1/h1"} <= scores["metrics"].keys() and scores["protocol"] == whole["protocol"]


def test_goals_of_other_weights_are_none_of_it(copied, tmp_path):
    """A checkpoint that was lost and trained again, scored and not planned with:
    the goals of the old one stayed, as those of the new."""
    own, plan = (
        json.loads((copied / "results.json").read_text()),
        {"mode": "background", "planners": ["model_closed"], "timing": {}},
    )
    for weights, mode in (("0ther", "background"), (own["weights"], "zero-shot")):
        found = {"metrics": {"plan/success/h10": 3.0}, "plan": plan | {"mode": mode, "weights": weights}}
        (copied / f"plan-mode{mode}.json").write_text(json.dumps(found))
    assert set(json.loads(enter(copied, tmp_path / "ledger").read_text())["plans"]) == {"zero-shot"}


def test_what_a_folder_no_longer_holds_stays(copied, tmp_path):
    """Entered again from a folder without them, a run lost its scores on `final`, and was asked for them once more."""
    own, final = json.loads((copied / "results.json").read_text()), copied / "results-final.json"
    final.write_text(json.dumps(own | {"protocol": own["protocol"] | {"split": "final"}}))
    plan = {"metrics": {"plan/success/h10": 3.0}, "plan": {"mode": "background", "planners": ["model_closed"]}}
    (copied / "plan-modebackground.json").write_text(json.dumps(plan))
    assert "final" in json.loads(enter(copied, tmp_path / "ledger").read_text())["scores"]
    for left in (final, copied / "plan-modebackground.json", copied / "metrics.csv"):
        left.unlink()
    one = own["protocol"] | {"split": "final", "probes": ["weight_order"]}
    (copied / "results-final-weight_order.json").write_text(json.dumps(own | {"metrics": {"order/tau": 0.5}, "protocol": one}))
    entry = json.loads(enter(copied, tmp_path / "ledger").read_text())
    assert set(entry["scores"]) == {"select", "final"} and set(entry["plans"]) == {"background"} and entry["losses"]
    assert entry["scores"]["final"]["metrics"] == own["metrics"] | {"order/tau": 0.5}, "what was asked again, and the rest"
    (copied / "results.json").write_text(json.dumps(own | {"weights": "0ther"}))
    entry = json.loads(enter(copied, tmp_path / "ledger").read_text())
    assert set(entry["scores"]) == {"select"} and not entry["plans"], "those were of other weights"


def test_of_a_probe_that_was_asked_again_the_newest_is_entered(copied, tmp_path):
    """Files were read by their names: the older whole one came last, and took the place of what was asked again."""
    whole = copied / "results.json"
    own = json.loads(whole.read_text())
    again = copied / "results-select-sensitivity.json"
    again.write_text(
        json.dumps(own | {"metrics": {"test/smallest_gap": 0.75}, "protocol": own["protocol"] | {"probes": ["sensitivity"]}})
    )
    scored = lambda: (  # noqa: E731
        json.loads(enter(copied, tmp_path / "ledger").read_text())["scores"]["select"]["metrics"]["test/smallest_gap"]
    )
    for at, found in ((own["scored_at"] + 1, 0.75), (own["scored_at"] - 1, own["metrics"]["test/smallest_gap"])):
        again.write_text(json.dumps(json.loads(again.read_text()) | {"scored_at": at}))
        for newest in (again, whole):  # as planning, which writes into the whole one, and copying leave them
            os.utime(newest, (3e9, 3e9))
            assert scored() == found


def test_scores_of_other_weights_are_not_entered(copied, tmp_path):
    """A run that was trained again, elsewhere or from its beginning, has none of the scores that it had."""
    own = json.loads((copied / "results.json").read_text())
    own["protocol"]["split"] = "zero-shot"
    (copied / "results-zero-shot.json").write_text(json.dumps(own))
    assert json.loads(enter(copied, tmp_path / "ledger").read_text())["scores"].keys() == {"select", "zero-shot"}
    (copied / "results-zero-shot.json").write_text(json.dumps(own | {"weights": "another"}))
    assert json.loads(enter(copied, tmp_path / "anew").read_text())["scores"].keys() == {"select"}
    before = {key: value for key, value in json.loads((copied / "results.json").read_text()).items() if key != "weights"}
    (copied / "results.json").write_text(json.dumps(before))
    path = enter(copied, tmp_path / "anew")
    assert json.loads(path.read_text())["scores"].keys() == {"select", "zero-shot"}, "it does not say"
    (copied / "results.json").unlink()
    (copied / DIVERGED).write_text("train loss is not finite")
    enter(copied, tmp_path / "anew")
    assert json.loads(path.read_text())["scores"], "a training that diverged takes the place of no scores"


def test_training_from_the_beginning_forgets_scores(tmp_path):
    """What was measured of weights that are gone goes with them; logs and the config stay."""
    for name in ("results.json", "results-final.json", "plan-modezero-shot.json", "metrics.csv", "config.yaml",
                 "checkpoints/round-1.ckpt"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    forget_scores(tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["config.yaml"]


def test_entries_that_cannot_be_told_apart_are_told(copied, tmp_path):
    path = enter(copied, tmp_path / "ledger")
    path.with_name(f"{path.stem[:-12]}000000000000.json").write_text(path.read_text())
    with pytest.raises(Problem, match="holds 2 runs called 'chosen'"):
        entry_of(tmp_path / "ledger", "physics3", "chosen")
    path.write_text('{"run": "chosen"')
    with pytest.raises(Problem, match="is no entry of a ledger"):
        entry_of(tmp_path / "ledger", "physics3", "chosen")
    assert entry_of(tmp_path / "ledger", "physics3", "other") is None


def test_a_run_is_entered_by_one_command_at_a_time(copied, tmp_path, monkeypatch):
    """Scores and goals asked side by side each wrote what the other did not know of."""
    held, read = [], eval.runs.ledger._scored

    def scored(*asked):
        with pytest.raises(Timeout):
            FileLock(next((tmp_path / "ledger").glob("*/*.lock"))).acquire(timeout=0)
        held.append(True)
        return read(*asked)

    monkeypatch.setattr(eval.runs.ledger, "_scored", scored)
    assert enter(copied, tmp_path / "ledger").exists() and held, "from the first file that is read"
