"""A setting is chosen among draws and finalists: what is missing, diverged or damaged is told."""

import json
from pathlib import Path

import pytest
from effort_scripts import BEST, ENV, cfg, no_charts, run_missing, scripts  # noqa: F401  fixtures

from envs.problem import Problem
from eval.effort.command import run_study
from eval.effort.filled import Filled
from eval.effort.jobs import finalist_name, tune_job, tune_ledger, tune_name
from eval.effort.settings import causes, choice, choose, chosen_file, drawn, finalists, rows_of
from eval.effort.studies import studies
from eval.effort.table import setting_lines
from eval.paper.sweep import missing

MAIN = studies()["causes"]
pytestmark = pytest.mark.usefixtures("no_charts")


def test_a_missing_draw_is_told(cfg, scripts, capsys):
    """A choice among fewer settings than other rows had would not be equal effort."""
    cfg |= {"rows": ["edge + InfoNCE"], "tune": True}
    run_study("causes", cfg, run_missing)
    (row,) = rows_of(cfg["rows"])
    next((tune_ledger(Path(cfg["ledger"])) / ENV).glob(f"{tune_name(row, ENV, 3)}-*")).unlink()
    chosen_file(Path(cfg["ledger"]), ENV, row).unlink()
    run_study("causes", cfg | {"run_missing": False}, run_missing)
    assert "7 of 8 drawn settings are there, none is chosen yet" in capsys.readouterr().out
    assert choice(Path(cfg["ledger"]), ENV, row) is None
    with pytest.raises(Problem, match="has 7 of 8 drawn settings on physics3, draw 3 is missing"):
        choose(Path(cfg["ledger"]), ENV, row, {n: {} for n in range(8) if n != 3}, {})


def test_a_draw_that_diverged_is_known_and_never_chosen(cfg, scripts):
    """It does not run again, and does not keep a row from its choice; where all diverge there is none."""
    cfg |= {"rows": ["edge + InfoNCE"], "tune": True}
    (row,) = rows_of(cfg["rows"])
    best = max(range(8), key=lambda n: (drawn(n)["learning_rate"], -n))
    scripts.diverges = f"draw{best}"
    assert not run_study("causes", cfg, run_missing)
    found = choice(Path(cfg["ledger"]), ENV, row)
    assert found["chosen"] != best and found["tried"][best]["worth"] is None
    assert not missing([tune_job(row, ENV, n, cfg) for n in range(8)])
    with pytest.raises(Problem, match="every drawn setting of row 'edge . InfoNCE' diverged"):
        choose(Path(cfg["ledger"]), ENV, row, dict.fromkeys(range(8), {}), {})


def test_a_row_that_cannot_be_chosen_does_not_stand_in_the_way(cfg, scripts, capsys):
    """Where all draws of one row diverged, or one of its entries was damaged, no row had finalists,
    and the same command said so again."""
    cfg |= {"rows": ["edge + InfoNCE", "AE + InfoNCE", "edge + hinge"], "tune": True}
    wrong, fine, harmed = (rows_of(name)[0] for name in cfg["rows"])
    scripts.diverges, ledger = "edge_infonce", Path(cfg["ledger"])
    (tune_ledger(ledger) / ENV).mkdir(parents=True)
    (tune_ledger(ledger) / ENV / f"{tune_name(harmed, ENV, 3)}-abc.json").write_text("{")
    run_study("causes", cfg, run_missing)
    shown = " ".join(capsys.readouterr().out.split())
    assert "physics3, edge + InfoNCE: not chosen; every drawn setting of row 'edge + InfoNCE' diverged" in shown
    assert "physics3, edge + hinge: not chosen; " in shown and "is no entry of a ledger" in shown
    assert [choice(ledger, ENV, row) is not None for row in (wrong, fine, harmed)] == [False, True, False]
    with pytest.raises(Problem, match="every drawn setting of row"):
        run_study("causes", cfg | {"rows": "edge + InfoNCE"}, run_missing)


def test_finalists_decide_at_the_length_of_the_table(cfg, scripts, capsys):
    """Seen: InfoNCE at rate .008 was best after two minutes and lost a slot in the third.
    One that diverged at the end loses."""
    cfg |= {"rows": ["edge + InfoNCE"], "tune": True}
    (row,), ledger = rows_of(cfg["rows"]), Path(cfg["ledger"])
    scripts.worse = f"finalist{BEST[0]}"
    assert not run_study("causes", cfg, run_missing)
    found = choice(ledger, ENV, row)
    first, second = (found["tried"][n] for n in BEST[:2])
    assert found["chosen"] == BEST[1] and first["worth"] > second["worth"] and first["worth_at_end"] < second["worth_at_end"]
    assert sum("worth_at_end" in one for one in found["tried"]) == 2
    header, (line,) = setting_lines([Filled.of(MAIN, "", row, ENV, cfg)])
    shown = dict(zip(header, line))
    assert (shown["draw"], shown["worth"], shown["other finalist"]) == (
        str(BEST[1]),
        f"{second['worth_at_end']:.1f}",
        f"{first['worth_at_end']:.1f}",
    )
    (entered,) = (tune_ledger(ledger) / ENV).glob(f"{finalist_name(row, ENV, BEST[1])}-*")
    kept = entered.read_text()
    entered.write_text(json.dumps(json.loads(kept) | {"scores": {}, "diverged": "train loss is not finite"}))
    assert not run_study("causes", cfg, run_missing) and choice(ledger, ENV, row)["chosen"] == BEST[0]
    chosen_file(ledger, ENV, row).unlink()
    entered.unlink()
    run_study("causes", cfg | {"run_missing": False}, run_missing)
    assert "1 of 2 finalists are there, none is chosen yet" in capsys.readouterr().out and choice(ledger, ENV, row) is None
    scored = {n: {f"{kind}/cf_hits@1/h{h}": 50 + n for h in (1, 5, 10) for kind in ("test", "floor/copy")} for n in range(8)}
    assert finalists(row, ENV, scored) == [7, 6]
    with pytest.raises(Problem, match="has 1 of 2 finalists on physics3, draw 6 is missing"):
        choose(ledger, ENV, row, scored, {7: {}})
    with pytest.raises(Problem, match="every finalist of row 'edge . InfoNCE' diverged"):
        choose(ledger, ENV, row, scored, {7: {}, 6: {}})


def test_a_damaged_choice_is_told(tmp_path):
    (row,) = rows_of("edge + InfoNCE")
    path = chosen_file(tmp_path, ENV, row)
    path.parent.mkdir(parents=True)
    path.write_text('{"chosen": 1}')
    with pytest.raises(Problem, match="is no choice of a setting"):
        choice(tmp_path, ENV, row)
    scored = {n: {f"{kind}/cf_hits@1/h{h}": 50 + n for h in (1, 5, 10) for kind in ("test", "floor/copy")} for n in range(8)}
    whole = choose(tmp_path, ENV, row, scored, scored)
    for harm in ({"chosen": 99}, {"chosen": 0}):  # none of its draws; one that was no finalist
        path.write_text(json.dumps(whole | harm))
        with pytest.raises(Problem, match="is no choice of a setting"):
            choice(tmp_path, ENV, row)


def test_a_choice_among_other_settings_is_told(cfg, scripts, monkeypatch):
    run_study("causes", cfg | {"rows": ["edge + InfoNCE"], "tune": True}, run_missing)
    monkeypatch.setitem(causes()["space"], "width", [48])
    with pytest.raises(Problem, match="was chosen among other settings"):
        run_study("causes", cfg | {"rows": ["edge + InfoNCE"]}, run_missing)


def test_draws_that_learned_nothing_are_told(cfg, scripts):
    """Two of the eight rates end below the floor of 15 and one point."""
    run_study("causes", cfg | {"rows": "edge + InfoNCE", "tune": True}, run_missing)
    (row,) = rows_of("edge + InfoNCE")
    header, (shown,) = setting_lines([Filled.of(MAIN, "", row, ENV, cfg)])
    few = sum(1e4 * drawn(n)["learning_rate"] <= 16 for n in range(8))
    assert few and dict(zip(header, shown))["copying, 2 min"] == str(few)
    path = chosen_file(Path(cfg["ledger"]), ENV, row)
    found = json.loads(path.read_text())
    path.write_text(json.dumps(found | {"tried": [{k: v for k, v in one.items() if k != "copying"} for one in found["tried"]]}))
    header, (shown,) = setting_lines([Filled.of(MAIN, "", row, ENV, cfg)])
    assert dict(zip(header, shown))["copying, 2 min"] == "-", "choices of before"
