"""The ledger: settings are chosen on `select`, `final` is scored under one setting of a row, and runs are entered whole."""

import json
import os
import shutil

import pytest
import torch
from omegaconf import OmegaConf

from envs.problem import Problem
from eval.ledger import NOT_SCORED, collected, lines, run_lines
from eval.ledger import run as ledger_command
from eval.runs import Run
from eval.runs.ledger import DIVERGED, enter, entries, entry_of
from eval.runs.made_with import machine
from eval.score import score_run
from train.checkpoint_files import forget_scores

FEW = ["env.splits.select.episodes=20", "env.splits.final.episodes=20", "score.episodes=20"]


@pytest.fixture(scope="module")
def run(tmp_path_factory, fitted_here, small):
    """A tiny run that was chosen on `select` and is entered."""
    folder = tmp_path_factory.mktemp("ledger")
    fitted_here("env=physics3", "model=ae", "loss=contrastive", *small, *FEW, "score.split=select", "logger=csv", "name=chosen",
                "ledger=ledger", cwd=folder)  # fmt: skip
    return folder / "runs/chosen"


@pytest.fixture
def copied(run, tmp_path):
    """Of its folder, with the data where they were."""
    shutil.copytree(run.parents[1], tmp_path / "here")
    return tmp_path / "here/runs/chosen"


def changed(run, name: str, **values):
    """Another run with the same weights, whose config says otherwise."""
    other = run.with_name(name)
    shutil.copytree(run, other)
    (other / "results-final.json").unlink(missing_ok=True)
    config = OmegaConf.load(other / "config.yaml")
    for key, value in {"name": name, **values}.items():
        OmegaConf.update(config, key, value, force_add=True)
    OmegaConf.save(config, other / "config.yaml")
    return other


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


def test_a_refused_command_freezes_nothing(copied, command_here):
    """Seen: a mistyped planner, and a horizon that is too long, froze a row that was never scored on `final`."""
    there = copied.parents[1]
    with pytest.raises(Problem, match=r"horizon 50 is longer than the episodes of split 'final' \(10 actions\)"):
        score_run(copied, split="final", ledger=there / "ledger", horizons=[50])
    done = command_here("eval/plan.py", f"run={copied}", "seed=31", "ledger=ledger", "planners=[beem]", cwd=there)
    assert done.returncode != 0 and "did you mean 'beam'" in done.stderr
    done = command_here("eval/plan.py", f"run={copied}", "seed=31", "ledger=ledger", "reward=blocks", cwd=there)
    assert done.returncode != 0 and "reward=blocks reads blocks off a table" in done.stderr
    assert not (there / "ledger" / "frozen").exists()


def test_probes_are_entered_in_whatever_order_they_were_typed(copied):
    """Seen: the other order was scored into a file that the ledger passed over without a word."""
    for names in (["sensitivity", "ranking_pool"], ["ranking_pool", "sensitivity"]):
        score_run(copied, split="test", probes=names)
    assert [path.name for path in copied.glob("results-test*.json")] == ["results-test-ranking_pool-sensitivity.json"]
    entry = json.loads(enter(copied, copied.parents[1] / "other").read_text())
    assert {"test/hits@1/h1", "test/smallest_gap"} <= entry["scores"]["test"]["metrics"].keys()


def test_final_is_scored_under_one_setting(copied, command_here):
    """Other seeds of the frozen setting are welcome, another setting is told which one was first, another row is its own."""
    there = copied.parents[1]
    score = "eval/score.py", "split=final", "ledger=ledger"
    done = command_here(*score, f"run={copied}", cwd=there)
    assert done.returncode == 0, done.stderr
    header, rows = lines(collected(list(entries(there / "ledger"))))
    assert header[:4] == ["env", "row", "split", "H@1 at 1"]
    assert [row[2] for row in rows] == ["select", "final", "select - final"]
    one, other, difference = (row[3].split()[0] for row in rows)
    assert float(difference) == pytest.approx(float(one) - float(other), abs=0.011)
    assert command_here(*score, f"run={changed(copied, 'seed1', seed=1)}", cwd=there).returncode == 0
    assert "(2)" in lines(collected(list(entries(there / "ledger"))))[1][1][3]
    tuned = changed(copied, "tuned", **{"loss.learning_rate": 0.5})
    done = command_here(*score, f"run={tuned}", cwd=there)
    assert (
        done.returncode != 0 and "row 'ae + contrastive' was scored on 'final' of physics3 under another setting" in done.stderr
    )
    assert "loss.learning_rate: " in done.stderr and not (tuned / "results-final.json").exists()
    assert command_here(*score, f"run={changed(copied, 'own', row='ae, tuned', **{'loss.learning_rate': 0.5})}",
                        cwd=there).returncode == 0  # fmt: skip
    done = command_here("eval/ledger.py", "ledger=ledger", cwd=there)
    assert done.returncode == 0 and "ae, tuned" in done.stdout and NOT_SCORED not in done.stdout


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


def test_final_stays_shut(copied, tmp_path, command_here, small):
    """Without a ledger, by another door, in training, and where the frozen setting cannot be read."""
    there = copied.parents[1]
    done = command_here("eval/score.py", "split=final", f"run={copied}", cwd=there)
    assert done.returncode != 0 and "which a ledger keeps; name it: ledger=results/ledger" in done.stderr
    with pytest.raises(Problem, match="split 'final' is kept for a frozen setting"):
        Run.open(copied).file("final")
    done = command_here("train/fit.py", "env=physics3", "score.split=final", *small, cwd=there)
    assert done.returncode != 0 and "set score.split=select" in done.stderr
    frozen = there / "ledger/frozen/physics3/ae_contrastive.json"
    frozen.parent.mkdir(parents=True, exist_ok=True)
    frozen.write_text("{")
    done = command_here("eval/score.py", "split=final", "ledger=ledger", f"run={copied}", cwd=there)
    assert done.returncode != 0 and "ae_contrastive.json says under which setting" in done.stderr and frozen.read_text() == "{"
    (there / "ledger/physics3/broken.json").write_text("[]")
    done = command_here("eval/ledger.py", "ledger=ledger", cwd=there)
    assert done.returncode != 0 and "broken.json is no entry of a ledger" in done.stderr
    done = command_here("eval/ledger.py", f"ledger={tmp_path / 'none'}", cwd=there)
    assert done.returncode != 0 and "holds no run; enter some with" in done.stderr


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


def test_goals_that_are_kept_are_asked_of_one_setting(copied, command_here, tmp_path):
    """They were not kept at all: goals of every table were on the tasks of development."""
    ask = "eval/plan.py", f"run={copied}", "seed=31", "episodes=20", "horizons=[1]", "reward_steps=20"
    done = command_here(*ask, cwd=copied.parents[1])
    assert (
        done.returncode != 0
        and "which a ledger keeps; name it: ledger=results/ledger, or set another seed=" in " ".join(done.stderr.split())
    )
    ledger = tmp_path / "ledger"
    frozen = ledger / "frozen/physics3/ae_contrastive.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": "ae + contrastive", "setting": {"loss": {"window": 99}}}))
    done = command_here(*ask, f"ledger={ledger}", cwd=copied.parents[1])
    assert done.returncode != 0 and "was scored on 'final' of physics3 under another setting" in " ".join(done.stderr.split())
    assert not list(copied.glob("plan-*seed31*.json"))


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
