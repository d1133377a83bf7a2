"""What is damaged in a ledger, diverged, or was asked by hand: it is told, and stops nothing else."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from effort_scripts import ENV, cfg, no_charts, run_missing, scripts  # noqa: F401  fixtures

from envs.problem import Problem
from eval.effort import jobs
from eval.effort.claims import check
from eval.effort.command import run_study
from eval.effort.filled import Filled
from eval.effort.jobs import tune_ledger, tune_name
from eval.effort.ledger_rows import whole_of
from eval.effort.settings import choice, rows_of
from eval.effort.studies import studies
from eval.effort.table import setting_lines, tables
from eval.figures.charts import replace_chart
from eval.runs.answers import Answers
from eval.tables import expected_minutes

MAIN, ROW = studies()["causes"], "edge + InfoNCE"
pytestmark = pytest.mark.usefixtures("no_charts")


@pytest.fixture
def ledger(cfg, scripts):
    """Of two seeds of a row that was tuned and trained."""
    cfg["rows"] = ROW
    run_study("causes", cfg | {"tune": True}, run_missing)
    run_study("causes", cfg, run_missing)
    return Path(cfg["ledger"])


def one_seed(ledger) -> Path:
    (path,) = (ledger / ENV).glob("*-s1-*.json")
    return path


def test_a_damaged_entry_does_not_stop_the_table(cfg, ledger, capsys):
    """Seen: how long the work will take was asked of the damaged run as well,
    and the command ended before anything was trained."""
    cfg["rows"] = [ROW, "edge + SIGReg"]
    run_study("causes", cfg | {"rows": "edge + SIGReg", "tune": True}, run_missing)
    frozen = ledger / "frozen" / ENV / "edge_InfoNCE.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": ROW, "setting": {"trainer": {"precision": "32-true"}}}))
    path = one_seed(ledger)
    path.write_text(path.read_text()[:100])
    capsys.readouterr()
    failed = run_study("causes", cfg, run_missing)
    assert [why for why in failed.values() if "is no entry of a ledger, it is damaged" in why] and len(failed) == 1
    assert len(list((ledger / ENV).glob("edge_sigreg-*.json"))) == 2
    assert (
        f"{ENV}, {ROW}: left out; " in (shown := " ".join(capsys.readouterr().out.split()))
        and "edge + SIGReg" in shown.split("no run yet")[0]
    )


@pytest.mark.parametrize("key", ["test/cf_hits@1/several/h10", "test/hits@1/h5", "floor/copy/hits@1/h1"])
@pytest.mark.parametrize("text", ["no answers", Answers.of(np.ones(7, bool)).packed()], ids=["damaged", "other episodes"])
def test_damaged_answers_are_told_of_their_row(cfg, ledger, key, text):
    """Answers of what if where several objects change were not looked at, and damage there ended the table of all rows."""
    path = one_seed(ledger)
    for each in (ledger / ENV).glob("*.json"):
        entry = json.loads(each.read_text())
        entry["scores"]["final"]["answers"] = {key: text if each == path else Answers.of(np.ones(9, bool)).packed()}
        each.write_text(json.dumps(entry))
    found, wrong = whole_of(MAIN, rows_of([ROW, "edge + SIGReg"]), ENV, cfg)
    assert (
        [one.label for one in found] == ["edge + SIGReg"]
        and f"the ledger's answers of {ROW} on {ENV} are damaged" in str(wrong[ROW])
    )


def test_a_probe_asked_by_hand_is_no_worth(cfg, ledger):
    """The table of settings ended in a KeyError."""
    path = one_seed(ledger)
    entry = json.loads(path.read_text())
    entry["scores"]["final"] = {"metrics": {"blind/cf_hits@1/mean/h10": 87.5}}
    path.write_text(json.dumps(entry))
    one = Filled.of(MAIN, "", *rows_of(ROW), ENV, cfg)
    assert (
        "chosen settings" in tables([one])
        and setting_lines([one])[1] == setting_lines([replace(one, entries={0: one.entries[0]})])[1]
    )


def test_kept_goals_without_the_usual_ones_are_no_difference(cfg, ledger):
    path = one_seed(ledger)
    entry = json.loads(path.read_text())
    for key in [key for key in entry["scores"]["select"]["metrics"] if key.startswith("plan/")]:
        del entry["scores"]["select"]["metrics"][key]
    path.write_text(json.dumps(entry))
    (facts,) = [
        told for title, (_, told) in tables([Filled.of(MAIN, "", *rows_of(ROW), ENV, cfg)]).items() if title == MAIN.title
    ]
    assert any(fact.startswith("of 1 runs also 1000 tasks of seed 31") for fact in facts)


def test_a_damaged_promise_is_told_before_the_work(cfg, ledger):
    """Seen: all seeds were trained, and the first score of `final` refused."""
    frozen = ledger / "frozen" / ENV / "edge_InfoNCE.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text("{")
    with pytest.raises(Problem, match="says under which setting row 'edge . InfoNCE' is frozen, and is damaged"):
        run_study("causes", cfg | {"seeds": 3}, lambda *_: pytest.fail("it trains"))


@pytest.mark.parametrize("setting, refused", [
    ({"loss": {"learning_rate": 5e-05}}, False), ({"loss": {"learning_rate": 6e-05}}, True),
    ({"trainer": {"cpu_minutes": 10}}, False), ({"trainer": {"cpu_minutes": 7}}, True),
])  # fmt: skip
def test_the_setting_that_final_saw_is_compared_as_it_is_composed(cfg, ledger, monkeypatch, setting, refused):
    """A rate of 5e-05 was read as a word and refused under itself; other minutes were trained, and refused afterwards."""
    frozen = ledger / "frozen" / ENV / "edge_InfoNCE.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": ROW, "setting": setting}))
    (row,) = rows_of(ROW)
    found = choice(ledger, ENV, row)
    monkeypatch.setattr("eval.effort.studies.choice", lambda *_: found | {"overrides": ["loss.learning_rate=5e-05"]})
    reached = []
    try:
        run_study("causes", cfg, lambda *_: reached.append(1) or {})
    except Problem as problem:
        assert refused and "under another setting" in str(problem)
    assert bool(reached) != refused


def test_only_trainings_want_bfloat16(cfg, ledger, monkeypatch):
    """Where goals alone were left of a row that has it, a machine without it refused them."""
    frozen = ledger / "frozen" / ENV / "edge_InfoNCE.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": ROW, "setting": {"trainer": {"precision": "bf16-mixed"}}}))
    monkeypatch.setattr(jobs, "fast_precision", lambda accelerator: "32-true")
    path = one_seed(ledger)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"plans": {}}))
    assert not run_study("causes", cfg, run_missing) and "final" in json.loads(path.read_text())["plans"]
    with pytest.raises(Problem, match="this machine has no bfloat16 of its own"):
        run_study("causes", cfg | {"seeds": 3}, run_missing)


def test_a_row_that_diverged_is_told_so(cfg, ledger):
    """All of whose trainings did: it was said that its runs are missing."""
    failed = {"scores": {}, "rounds": [], "plans": {}, "diverged": "train loss is not finite"}
    one = Filled.of(MAIN, "", *rows_of(ROW), ENV, cfg)
    hinges = [
        replace(one, row=replace(one.row, name=name), entries=dict.fromkeys(range(3), failed))
        for name in ("edge + hinge", "edge + NLL")
    ]
    (said,) = [
        verdict
        for verdict in check([*hinges, one])
        if verdict.claim.startswith("with structure the contrastive loss ranks better")
    ]
    assert said.word == "not testable at this budget" and said.figures == "3 trainings of edge + hinge diverged"


def test_worlds_that_share_a_choice_are_tuned_once(cfg, scripts):
    """The same row was counted twice, so that what is wrong with all rows was told and refused nothing."""
    entry = tune_ledger(Path(cfg["ledger"])) / "chemistry_chain5" / f"{tune_name(*rows_of(ROW), 'chemistry_chain5', 0)}-0.json"
    entry.parent.mkdir(parents=True)
    entry.write_text("{")
    with pytest.raises(Problem, match="is no entry of a ledger"):
        run_study("causes", cfg | {"rows": ROW, "envs": ["chemistry_full5", "chemistry_collider5"], "tune": True}, run_missing)


def test_time_is_told_of_what_can_be_told(cfg, ledger):
    """None of a run whose entry is damaged."""
    todo = [jobs.table_job(MAIN, "", *rows_of(ROW), ENV, seed, cfg) for seed in (1, 2)]
    one_seed(ledger).write_text("{")
    assert expected_minutes(todo, 10, 1) == expected_minutes(todo[1:], 10, 1) > 10


def test_a_figure_of_other_runs_does_not_stay(tmp_path):
    """After choosing anew a table said "no run yet" beside the figure of the runs before."""
    for kind in ("svg", "png"):
        (tmp_path / f"physics3-rows.{kind}").touch()
    replace_chart(None, tmp_path / "physics3-rows")
    assert not list(tmp_path.iterdir())
