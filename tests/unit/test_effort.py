"""Tables of equal effort: every row draws the same settings, one criterion chooses on select,
and the ledger is all that is read."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from effort_scripts import BEST, ENV, cfg, run_missing, scripts  # noqa: F401  fixtures

import eval.effort.command
from envs.problem import Problem
from eval.effort import jobs
from eval.effort.command import run_study
from eval.effort.filled import Filled
from eval.effort.jobs import finalist_job, table_job, tune_job, tune_name
from eval.effort.settings import causes, choice, chosen_file, drawn, envs_of, rows_of
from eval.effort.studies import studies
from eval.effort.table import curves, lines, setting_lines
from eval.paper.sweep import missing

MAIN = studies()["causes"]


@pytest.fixture(autouse=True)
def drawn_once(request, monkeypatch):
    """Charts take most of a table's time: those of the first test are drawn."""
    if request.function is not test_tunes_chooses_trains_and_prints:
        monkeypatch.setattr(eval.effort.command, "replace_chart", lambda figure, path: None)


def test_tunes_chooses_trains_and_prints(cfg, scripts, tmp_path):
    """From nothing to the table; what the ledger holds is not run again, not even with the runs gone."""
    cfg["rows"] = ["edge + InfoNCE", "AE + hinge, small encoder"]
    rows = rows_of(cfg["rows"])
    with pytest.raises(Problem, match="no setting was chosen for row 'edge . InfoNCE' on physics3; run first"):
        run_study("causes", cfg, run_missing)
    assert not run_study("causes", cfg | {"tune": True}, run_missing)
    best = max(range(8), key=lambda n: (drawn(n)["learning_rate"], -n))
    found = choice(tmp_path / "ledger", ENV, rows[0])
    assert found["chosen"] == best and found["overrides"] == rows[0].overrides(drawn(best)) and len(found["tried"]) == 8
    assert not missing([tune_job(row, ENV, n, cfg) for row in rows for n in range(8)])
    assert [n for n in range(8) if not finalist_job(rows[0], ENV, n, cfg).left()] == sorted(BEST[:2]), "two, for ten minutes"
    assert not run_study("causes", cfg, run_missing)
    elsewhere = cfg | {"runs_dir": str(tmp_path / "nowhere")}
    assert not missing([table_job(MAIN, "", row, ENV, seed, elsewhere) for row in rows for seed in (0, 1)])
    value = 1e4 * drawn(best)["learning_rate"]
    filled = [Filled.of(MAIN, "", row, ENV, cfg) for row in rows]
    assert filled[0].scores("what if", 10) == {0: value - 1, 1: value} and filled[0].fell == 1
    header, body = lines(filled)
    assert (dict(zip(header, body[0]))["updates"] == "10" and body[0][-1] == "2"
            and body[0][-2] in ("objects, cells, point", "objects, cells"))  # fmt: skip
    header, body = setting_lines(filled)
    there = mean(filled[0].scores("what if", h)[seed] for seed in (0, 1) for h in (1, 5, 10))
    assert dict(zip(header, body[0]))["worth - final"] == f"{found['tried'][best]['worth_at_end'] - there:+.1f}"
    assert "worth - final" not in setting_lines([replace(one, env="physics5") for one in filled])[0], "chosen on other boards"
    after = {title.split(" at ")[0]: body[0][1:] for title, (_, body) in curves(filled).items()}
    assert after["what if"] == [f"{value - 9 + .5:.1f} (1.0)", f"{value - 8 + .5:.1f} (2.0)",
                                f"{value - 5 + .5:.1f} (5.0)", f"{value - .5:.1f} (10.0)"]  # fmt: skip
    assert after["goals"] == [f"{value - 21 + .5:.1f} (1.0)", f"{value - 20 + .5:.1f} (2.0)",
                              f"{value - 17 + .5:.1f} (5.0)", f"{value + .5:.1f} (10.0)"]  # fmt: skip
    goals = replace(filled[0], entries={0: filled[0].entries[0], 1: filled[0].entries[1] | {"rounds": []}})
    assert curves([goals])["goals at 10 steps after (minutes)"][1][0][1:] == [
        f"{value - 21:.1f} (1.0) (1 of 2)", f"{value - 20:.1f} (2.0) (1 of 2)",
        f"{value - 17:.1f} (5.0) (1 of 2)", f"{value + .5:.1f} (5.0)",
    ]  # fmt: skip
    text = (tmp_path / "out/causes/physics3.md").read_text()
    assert ("edge + InfoNCE" in text and "of which one was chosen, all by the mean of what if" in text
            and (tmp_path / "out/causes/physics3.svg").exists())  # fmt: skip
    assert "physics3,edge + InfoNCE,what if,10,end,0," in (tmp_path / "out/causes/physics3.csv").read_text()


def test_no_row_is_lost_by_asking_for_another(cfg, scripts, tmp_path, capsys):
    """The terminal shows the rows asked for, the files all that the ledger has; one whose choice is damaged is told of."""
    run_study("causes", cfg | {"rows": ["edge + InfoNCE", "AE + hinge, small encoder"], "tune": True}, run_missing)
    run_study("causes", cfg | {"rows": ["edge + InfoNCE", "AE + hinge, small encoder"]}, run_missing)
    capsys.readouterr()
    run_study("causes", cfg | {"rows": "edge + InfoNCE"}, run_missing)
    text, csv = ((tmp_path / f"out/causes/physics3.{kind}").read_text() for kind in ("md", "csv"))
    assert ("claims" not in (shown := capsys.readouterr().out)
            and f"all rows and seeds of the ledger: {tmp_path / 'out/causes/physics3.md'}" in shown
            and "## physics3: claims" in text)  # fmt: skip
    assert ("edge + InfoNCE" in shown and "AE + hinge" not in shown.split("no run yet")[0]
            and "| AE + hinge, small encoder | 79.5 " in text and "AE + hinge" in csv)  # fmt: skip
    chosen_file(Path(cfg["ledger"]), ENV, rows_of("AE + hinge, small encoder")[0]).write_text("{}")
    run_study("causes", cfg | {"rows": "edge + InfoNCE"}, run_missing)
    assert "physics3, AE + hinge, small encoder: left out; " in " ".join(capsys.readouterr().out.split())
    run_study("causes", cfg | {"rows": ["edge + InfoNCE", "AE + hinge, small encoder"]}, run_missing)
    assert "physics3, AE + hinge, small encoder: not trained; " in " ".join(capsys.readouterr().out.split())
    with pytest.raises(Problem, match="is no choice of a setting"):
        run_study("causes", cfg | {"rows": "AE + hinge, small encoder"}, run_missing)


def test_runs_that_no_choice_reaches_are_told(cfg, scripts, capsys):
    """After another setting was chosen, what ran under the former one stands in the ledger and in no table;
    nor does another seed's."""
    (row,), place = rows_of("edge + InfoNCE"), Path(cfg["ledger"]) / ENV
    run_study("causes", cfg | {"rows": row.name, "tune": True}, run_missing)
    run_study("causes", cfg | {"rows": row.name}, run_missing)
    (path,) = place.glob("*-s1-*.json")
    entry = json.loads(path.read_text())
    former = f"{entry['run'][:-9]}abcdef-s1"
    (place / f"{former}-abc.json").write_text(json.dumps(entry | {"run": former}))
    capsys.readouterr()
    run_study("causes", cfg | {"rows": row.name}, run_missing)
    shown = " ".join(capsys.readouterr().out.split())
    assert (f"physics3, edge + InfoNCE: left out; its {former} ran under another setting "
            "than the one that is chosen today") in shown  # fmt: skip
    run_study("causes", cfg | {"rows": row.name, "seeds": 1}, run_missing)
    assert "left out" in capsys.readouterr().out, "the files have all seeds"
    path.write_text(json.dumps(entry | {"seed": 4}))
    with pytest.raises(Problem, match="-s1' of the ledger says seed 4; expected 1"):
        run_study("causes", cfg | {"rows": row.name}, run_missing)


def test_a_row_that_was_opened_under_another_setting_is_not_trained(cfg, scripts):
    """`final` would refuse it after ten minutes."""
    (row,), ledger = rows_of("edge + InfoNCE"), Path(cfg["ledger"])
    run_study("causes", cfg | {"rows": row.name, "tune": True}, run_missing)
    setting = choice(ledger, ENV, row)["setting"]
    loss = {"learning_rate": setting["learning_rate"], "stages": [{"weight_decay": setting["weight_decay"]}]}
    frozen = ledger / "frozen" / ENV / "edge_InfoNCE.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": row.name, "setting": {"loss": loss | {"window": setting["window"] + 1}}}))
    with pytest.raises(
        Problem, match=f"under another setting .*: loss.window {setting['window'] + 1}, got {setting['window']}; give what"
    ):
        run_study("causes", cfg | {"rows": row.name}, run_missing)
    assert not list((ledger / ENV).glob("*.json"))
    frozen.write_text(json.dumps({"row": row.name, "setting": {"loss": loss | {"window": setting["window"]}}}))
    assert not run_study("causes", cfg | {"rows": row.name}, run_missing) and len(list((ledger / ENV).glob("*.json"))) == 2


def test_a_row_is_held_against_what_it_was_frozen_with(cfg, scripts):
    """What the row itself sets was not asked for: it was refused after ten minutes."""
    (row,), ledger = rows_of("edge + hinge, same episode"), Path(cfg["ledger"])
    run_study("causes", cfg | {"rows": [row.name], "tune": True}, run_missing)
    frozen = ledger / "frozen" / ENV / "edge_hinge_same_episode.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": row.name, "setting": {"loss": {"same_episode": False}}}))
    with pytest.raises(Problem, match="loss.same_episode False, got True"):
        run_study("causes", cfg | {"rows": [row.name]}, run_missing)


def test_a_ledger_that_is_only_read_need_not_be_writable(cfg, scripts, monkeypatch):
    run_study("causes", cfg | {"rows": "edge + InfoNCE", "tune": True}, run_missing)
    run_study("causes", cfg | {"rows": "edge + InfoNCE"}, run_missing)
    asked = []
    monkeypatch.setattr(eval.effort.command, "check_writable", lambda path, key: asked.append(key))
    run_study("causes", cfg | {"rows": "edge + InfoNCE", "run_missing": False}, run_missing)
    assert asked == ["out"]


def test_another_setting_has_another_name(monkeypatch):
    """A run of before is not taken for one of a changed space or row."""
    (row,) = rows_of("edge + InfoNCE")
    before = tune_name(row, ENV, 0)
    assert tune_name(replace(row, fit=(*row.fit, "model.size=small")), ENV, 0) != before
    monkeypatch.setitem(causes()["space"], "width", [48])
    assert tune_name(row, ENV, 0) != before and tune_name(row, ENV, 0).startswith("edge_infonce-physics3-draw0-")


def test_folders_that_cannot_be_written_are_told_before_the_work(cfg, scripts, tmp_path):
    """A ledger that may not be written failed 152 trainings, each after its two minutes."""
    (tmp_path / "file").touch()
    for key in ("ledger", "out", "runs_dir"):
        with pytest.raises(Problem, match=f"is not a folder; choose another {key}="):
            run_study("causes", cfg | {"tune": True, key: str(tmp_path / "file/x")}, run_missing)
    assert not (tmp_path / "ledger").exists() and not (tmp_path / "runs").exists()


def test_a_row_keeps_its_precision(cfg, scripts, monkeypatch):
    """An emulated bfloat16 is two to thirty times slower, ten minutes of it hold as little,
    and the ledger would have called them a second seed."""
    cfg |= {"rows": ["edge + InfoNCE"], "seeds": 1}
    (row,), ledger = rows_of(cfg["rows"]), Path(cfg["ledger"])
    precise = lambda: next(  # noqa: E731
        word for word in table_job(MAIN, "", row, ENV, 1, cfg).left()[0] if word.startswith("trainer.precision=")
    )
    run_study("causes", cfg | {"tune": True}, run_missing)
    for here in ("bf16-mixed", "32-true"):
        monkeypatch.setattr(jobs, "fast_precision", lambda accelerator, here=here: here)
        assert precise() == f"trainer.precision={here}", "of a row of which nothing is frozen, the fastest"
    run_study("causes", cfg, run_missing)
    (path,) = (ledger / ENV).glob("*-s0-*.json")
    entry = json.loads(path.read_text())
    path.write_text(json.dumps(entry | {"setting": {"trainer": {"precision": "16-mixed"}}}))
    assert precise() == "trainer.precision=16-mixed", "broken off before `final`, perhaps on another machine"
    path.write_text(json.dumps(entry))
    frozen = ledger / "frozen" / ENV / "edge_InfoNCE.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": row.name, "setting": {"trainer": {"precision": "bf16-mixed"}}}))
    assert precise() == "trainer.precision=bf16-mixed"
    run_study("causes", cfg, run_missing)  # all is there: nothing to refuse
    with pytest.raises(Problem, match="its other runs were trained in bf16-mixed, and this machine has no bfloat16 of its own"):
        run_study("causes", cfg | {"seeds": 2}, run_missing)
    monkeypatch.setattr(jobs, "fast_precision", lambda accelerator: "bf16-mixed")
    assert not run_study("causes", cfg | {"seeds": 2}, run_missing)


@pytest.mark.parametrize("asked, said", [
    ({"envs": ["physics3", "nonsense"]}, "no env 'nonsense'"),
    ({"envs": "trifinger_pushing"}, "asks physics and chemistry"),
    ({"envs": "chemistry_chain10"},
     "chemistry_chain10 is a drawn world, and nobody says which are for choosing and which for 'final'"),
    ({"envs": "physics5_hidden"}, "the frames of physics5_hidden do not show the weights that every row is asked for"),
    ({"envs": ["chemistry_full5"], "seeds": 6}, "5 are kept for 'final'; set seeds=5 or fewer"),
])  # fmt: skip
def test_worlds_that_cannot_be_asked_are_told(cfg, asked, said):
    with pytest.raises(Problem, match=said):
        envs_of(cfg | asked)


@pytest.mark.parametrize("asked", [{"rows": ["categorical + inverse action"]}, {"rows": []}])
def test_rows_that_fit_no_world_are_told(cfg, asked):
    with pytest.raises(Problem, match="no row asked for is made for physics3"):
        run_study("causes", cfg | asked, run_missing)


def test_factors_are_those_of_blocks(cfg):
    with pytest.raises(Problem, match="changes what blocks look like, and chemistry_full5 has none"):
        run_study("causes-factors", cfg | {"envs": "chemistry_full5"}, run_missing)


def test_no_seed_is_lost_by_asking_for_fewer(cfg, scripts, tmp_path, capsys):
    """Choosing anew, or asking for one seed, left files of one seed where there had been more."""
    run_study("causes", cfg | {"rows": "edge + InfoNCE", "tune": True}, run_missing)
    run_study("causes", cfg | {"rows": "edge + InfoNCE"}, run_missing)
    for fewer in ({"seeds": 1}, {"seeds": 1, "tune": True}):
        capsys.readouterr()
        run_study("causes", cfg | {"rows": "edge + InfoNCE"} | fewer, run_missing)
        text = (tmp_path / "out/causes/physics3.md").read_text()
        assert "seeds 0 to 1 at most\n" in text and "every row, seed 0;" in " ".join(capsys.readouterr().out.split())
