"""What a table trains or asks again where something of a run is missing: never what `final` has seen."""

import json
from dataclasses import replace

import pytest
from effort_scripts import ENV, cfg, no_charts, run_missing, scripts, tuned_and_run  # noqa: F401  fixtures

from eval.effort.command import run_study
from eval.effort.jobs import table_job
from eval.effort.studies import studies

MAIN = studies()["causes"]
pytestmark = pytest.mark.usefixtures("no_charts")


def test_weights_that_are_gone_are_trained_again(cfg, scripts, tmp_path):
    """A run that was broken off before it was scored on `final`, and whose folder was removed."""
    row, path, entry = tuned_and_run(cfg)
    elsewhere = cfg | {"rows": row.name, "seeds": 1, "runs_dir": str(tmp_path / "elsewhere")}
    del entry["scores"]["final"]
    path.write_text(json.dumps(entry))
    first, *scores = table_job(MAIN, "", row, ENV, 0, elsewhere).left()
    assert first[0] == "train/fit.py" and [step[0] for step in scores] == [
        "eval/score.py", "eval/score.py", "eval/plan.py", "eval/plan.py",
    ], "all is asked again"  # fmt: skip
    assert not run_study("causes", elsewhere, run_missing) and not table_job(MAIN, "", row, ENV, 0, elsewhere).left()


def test_no_run_is_trained_again_for_its_curve(cfg, scripts, tmp_path):
    """One was, whose rounds had not been scored and whose weights were gone:
    81.4 of what if, which `final` had shown, became 33.3."""
    row, path, entry = tuned_and_run(cfg)
    entry["rounds"][0]["scores"] = {}
    path.write_text(json.dumps(entry))
    (step,) = table_job(MAIN, "", row, ENV, 0, cfg).left()
    assert step[0] == "eval/score.py" and "round=[1]" in step
    elsewhere = cfg | {"rows": row.name, "seeds": 1, "runs_dir": str(tmp_path / "elsewhere")}
    before = path.read_text()
    assert not table_job(MAIN, "", row, ENV, 0, elsewhere).left() and not run_study("causes", elsewhere, run_missing)
    assert path.read_text() == before
    assert "- of edge + InfoNCE some rounds of seed 0 were never scored" in (tmp_path / f"out/causes/{ENV}.md").read_text()


def test_no_run_is_trained_again_for_other_boards(cfg, scripts, tmp_path):
    """table=causes-factors, whose boards were never asked of 19 entered runs, trained them again
    and put other scores in the place of theirs."""
    row, path, entry = tuned_and_run(cfg)
    factors = replace(MAIN, modes=["background"], orders=["zero-shot"])
    assert [step[0] for step in table_job(factors, "", row, ENV, 0, cfg).left()] == ["eval/plan.py", "eval/score.py"]
    assert not table_job(factors, "", row, ENV, 0, cfg | {"runs_dir": str(tmp_path / "elsewhere")}).left()


def test_what_final_saw_stays_whatever_else_lacks(cfg, scripts, tmp_path):
    """Without its score on the split for choosing it was trained again, at hand or not."""
    row, path, entry = tuned_and_run(cfg)
    path.write_text(json.dumps(entry | {"scores": {"final": entry["scores"]["final"]}}))
    for runs in (cfg["runs_dir"], str(tmp_path / "elsewhere")):
        assert not table_job(MAIN, "", row, ENV, 0, cfg | {"runs_dir": runs}).left()


def test_a_training_that_is_to_come_is_asked_all_rounds(cfg, scripts, tmp_path):
    """Over a folder that holds another one, whose rounds are not those to come."""
    row, path, entry = tuned_and_run(cfg)
    path.write_text(json.dumps(entry | {"weights": "another", "scores": {}}))
    (tmp_path / "runs" / entry["run"] / "checkpoints/round-1.ckpt").unlink()
    assert [step[-1] for step in table_job(MAIN, "", row, ENV, 0, cfg).left()
            if any(word.startswith("round=") for word in step)][-1] == "round=[1, 2, 5]"  # fmt: skip


def test_weights_of_another_training_are_asked_nothing(cfg, scripts, tmp_path):
    """Any folder of that name was taken for the run that is entered;
    a round whose weights were removed kept goals from being asked."""
    row, path, entry = tuned_and_run(cfg)
    entry["rounds"][0] |= {"scores": {}}
    path.write_text(json.dumps(entry | {"plans": {}}))
    (tmp_path / "runs" / entry["run"] / "checkpoints/round-1.ckpt").unlink()
    ((script, *asked),) = table_job(MAIN, "", row, ENV, 0, cfg).left()
    assert script == "eval/plan.py" and "seed=31" in asked
    path.write_text(json.dumps(entry | {"plans": {}, "weights": "another"}))
    assert not table_job(MAIN, "", row, ENV, 0, cfg).left()
    del entry["weights"]  # one of before: known by what it reached
    path.write_text(json.dumps(entry | {"plans": {}}))
    assert table_job(MAIN, "", row, ENV, 0, cfg).left()
    results = tmp_path / "runs" / entry["run"] / "results.json"
    results.write_text(json.dumps(json.loads(results.read_text()) | {"metrics": {"test/hits@1/h1": -1.0}}))
    assert not table_job(MAIN, "", row, ENV, 0, cfg).left()


@pytest.mark.parametrize("probe", ["blind/cf_hits@1/mean/h10", "test/hits@1/h10"])
def test_a_probe_that_was_asked_by_hand_is_not_a_score(cfg, scripts, probe):
    """A split that holds nothing but what one probe said was taken for scored, and the table ended in a traceback."""
    row, path, entry = tuned_and_run(cfg)
    entry["scores"]["final"] = {"metrics": {probe: 87.5}}
    path.write_text(json.dumps(entry))
    run_study("causes", cfg | {"run_missing": False}, run_missing)
    ((script, *asked),) = table_job(MAIN, "", row, ENV, 0, cfg).left()
    assert (script == "eval/score.py" and "split=final" in asked
            and not any(one.startswith(("round=", "probes=")) for one in asked))  # fmt: skip


def test_goals_are_asked_that_nobody_saw_before(cfg, scripts, tmp_path):
    """All goals of a table were on the tasks of development. Runs whose weights are gone stay as they are."""
    row, path, entry = tuned_and_run(cfg)
    assert entry["plans"]["final"]["protocol"] == {"seed": 31}
    text, csv = ((tmp_path / f"out/causes/physics3.{kind}").read_text() for kind in ("md", "csv"))
    assert ("of 1 runs also 1000 tasks of seed 31, asked of the frozen setting alone, with a distance learned anew: "
            "-2.0 on average at 10 steps, from -2.0 to -2.0") in text  # fmt: skip
    assert "physics3,edge + InfoNCE,\"goals, final\",10,end,0," in csv
    path.write_text(json.dumps(entry | {"plans": {}}))
    ((script, *asked),) = table_job(MAIN, "", row, ENV, 0, cfg).left()
    assert script == "eval/plan.py" and {"seed=31", "horizons=[10]", f"ledger={cfg['ledger']}"} <= set(asked)
    assert not table_job(MAIN, "", row, ENV, 0, cfg | {"runs_dir": str(tmp_path / "elsewhere")}).left()
