"""The command that measures chemistry's claims: a row for each world, none twice, what was broken off is finished."""

import csv
import json
import sys
from pathlib import Path

import pytest

from benchmarks import chemistry_claims
from benchmarks.chemistry_claims import COLUMNS, METRICS, main, numbers


@pytest.fixture
def start(tmp_path, monkeypatch):
    """start(*arguments, stop=None) -> the commands that were run; stop: a script that breaks off."""

    def begin(*arguments, stop=None):
        ran = []

        def run(script, *overrides):
            ran.append(script)
            if script == stop:
                raise SystemExit(f"{script} failed")
            told = dict(o.split("=", 1) for o in overrides)
            folder = Path(told.get("run") or Path(told["runs_dir"]) / told["name"])
            folder.mkdir(exist_ok=True)
            (folder / "config.yaml").touch()
            path = folder / "results.json"
            old = json.loads(path.read_text())["metrics"] if path.exists() else {}
            mine = {name: 50.0 for name in METRICS if name.startswith("plan/") == (script == "eval/plan.py")}
            timing = {"fit_s": 1.0, "score_s": 2.0}
            path.write_text(json.dumps({"seed": 0, "metrics": old | mine, "timing": timing, "versions": {"commit": "c"}}))

        monkeypatch.setattr(chemistry_claims, "run_command", run)
        places = ["--out", str(tmp_path / "out.csv"), "--runs", str(tmp_path / "runs")]
        monkeypatch.setattr(sys, "argv", ["chemistry_claims", *arguments, *places])
        try:
            main()
        except SystemExit:
            assert stop
        return ran

    return begin


def test_worlds_as_they_are_written():
    assert numbers("0-4") == [0, 1, 2, 3, 4] and numbers("3,10-11") == [3, 10, 11]


def test_a_row_for_every_world_and_none_twice(start, tmp_path, capsys):
    asked = "--worlds", "10-11", "--graphs", "chain5"
    assert start(*asked) == ["train/fit.py", "eval/plan.py"] * 4  # static and dynamic
    assert "50.0 / 50.0 / 50.0" in " ".join(capsys.readouterr().out.split())
    assert start(*asked) == []
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 and tuple(rows[0]) == COLUMNS
    assert "env.world.scm_seed=10" in rows[0]["command"]


def test_what_was_broken_off_is_finished(start, tmp_path):
    """A plan that failed leaves the training; a row that lacks what is asked today is scored anew."""
    asked = "--worlds", "0", "--graphs", "full5", "--movements", "static"
    assert start(*asked, stop="eval/plan.py") == ["train/fit.py", "eval/plan.py"]
    assert not (tmp_path / "out.csv").exists()
    path = tmp_path / "runs/categorical-chemistry_full5-w0/results.json"
    results = json.loads(path.read_text())
    del results["metrics"]["structure/reach/shown/shd"]
    path.write_text(json.dumps(results))
    assert start(*asked) == ["eval/score.py", "eval/plan.py"]
