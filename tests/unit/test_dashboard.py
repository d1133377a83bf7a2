"""The dashboard: finished runs with their groups, scores and losses, and the workspace, offline and without the package."""

import json
import sys
from types import SimpleNamespace

import pytest

import eval.dashboard
from eval.dashboard import log_run, of_folders, of_ledger, tables_of

ROWS = ("fit,0,train/loss,3.0", "fit,0,val/loss,4.0", "fit,1,val/loss,9.0", "fit,1,val/loss,2.0", "fit,1,val/x,1")
LINES = "\n".join(["stage,epoch,metric,value", *ROWS, ""])


@pytest.fixture
def runs(tmp_path):
    """One run of a table, one of none, one that is not finished."""
    for name, env in (("tables/gnn-nll-physics5-2min-s0", "physics5"), ("mine", "chemistry_chain5"), ("open", None)):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "config.yaml").touch()
        (folder / "metrics.csv").write_text(LINES)
        results = {
            "run": folder.name, "model": "gnn", "loss": "nll", "env": env, "seed": 0, "timing": {}, "setting_hash": "x",
            "metrics": {"test/hits@1/h1": 50.0, "test/mrr/h1": 60.0, "plan/success/h1": 20.0},
            "protocol": {"budget": "quick", "pool": 10, "split": "test", "distinct": {"h1": 9}},
        }  # fmt: skip
        if env:
            (folder / "results.json").write_text(json.dumps(results))
    return tmp_path


@pytest.fixture
def logged(monkeypatch):
    """What W&B is told, run by run."""
    told = []

    def init(**asked):
        one = SimpleNamespace(asked=asked, history=[], summary={}, finish=lambda: told.append(one))
        one.log = lambda values, step: one.history.append((step, values))
        return one

    monkeypatch.setattr(eval.dashboard.wandb, "init", init)
    return told


def test_a_run_is_logged_with_its_group(runs, logged):
    """Its table and all its tables as tags, losses epoch by epoch, scores in the summary under its env too; same id again."""
    mine, folder = of_folders(runs)[0]
    tables = ["table4", "table10", "table16", "figure21"]
    assert tables_of({0})[folder.name] == tables
    for _ in range(2):
        log_run(folder, runs, tables_of({0})[folder.name], "p", "offline")
    one, again = logged
    assert one.asked["group"] == "table4" and one.asked["tags"] == ["gnn", "nll", "quick", *tables]
    assert one.asked["mode"] == "offline" and one.asked["id"] == again.asked["id"]
    train, val = "physics5/fit/train/loss", "physics5/fit/val/loss"
    assert one.history == [(1, {train: 3.0, val: 4.0}), (2, {val: 2.0})]
    assert one.summary["test/hits@1/h1"] == one.summary["physics5/test/hits@1/h1"] == 50.0
    log_run(mine, runs, [], "p", "offline")
    assert logged[-1].asked["group"] == "chemistry_chain5" and logged[-1].asked["id"] != one.asked["id"]


def test_curves(runs):
    """A repeated epoch counts once, by its last line; no file, no curves."""
    found, unread = of_folders(runs)
    assert unread == 1 and found[0].history == {("fit", "train/loss"): [3.0], ("fit", "val/loss"): [4.0, 2.0]}
    (runs / "mine/metrics.csv").unlink()
    assert of_folders(runs)[0][0].history == {}


def test_a_ledger_is_logged_by_its_last_scores(tmp_path, logged):
    """On final where a run has some, else on its own split; a training that diverged has nothing to show."""
    place = tmp_path / "ledger/physics5"
    place.mkdir(parents=True)
    scores = {split: {"metrics": {"test/hits@1/h1": value}, "protocol": {"budget": "minutes", "distinct": {"h1": 9}}}
              for split, value in (("select", 40.0), ("final", 30.0))}  # fmt: skip
    scores["select"]["metrics"]["plan/success/h10"] = 97.0  # asked on no split
    common = {"row": "x", "env": "physics5", "model": "ae", "loss": "nll", "split": "select",
              "losses": {"joint train/loss": [3.0, 2.0]}}  # fmt: skip
    for seed, run, of_run in ((0, "both", scores), (1, "one", {"select": scores["select"]}), (2, "none", {})):
        (place / f"{run}.json").write_text(json.dumps(common | {"run": run, "seed": seed, "scores": of_run}))
    found, without = of_ledger(tmp_path / "ledger")
    assert without == 1
    for one in found:
        log_run(one, tmp_path, [], "p", "offline")
    assert {one.asked["name"]: one.summary["test/hits@1/h1"] for one in logged} == {"both": 30.0, "one": 40.0}
    assert {one.summary["physics5/plan/success/h10"] for one in logged} == {97.0}, "goals vanished beside scores on final"
    assert {one.asked["config"]["row"] for one in logged} == {"x"}, "rows of one model under one loss are several"
    assert logged[0].history == [(1, {"physics5/joint/train/loss": 3.0}), (2, {"physics5/joint/train/loss": 2.0})]


def test_without_an_account(runs, logged, command_here):
    """Exit code 0, one sentence, and the workspace as JSON: a section for each env with its metrics and losses."""
    pytest.importorskip("wandb_workspaces")
    done = command_here("eval/dashboard.py", "runs_dir=.", cwd=runs)
    assert done.returncode == 0, done.stderr
    assert "not logged in to W&B, so the workspace was written to dashboard.json" in done.stdout
    assert "2 runs logged to wandb, 1 without results left out" in done.stdout and len(logged) == 2
    spec = json.loads((runs / "dashboard.json").read_text())["spec"]
    sections = {s["name"]: s["panels"] for s in spec["section"]["panelBankConfig"]["sections"]}
    assert list(sections) == ["chemistry_chain5", "physics5"]
    assert [p["config"]["chartTitle"] for p in sections["physics5"]] == [
        "H@1, 1 step", "MRR, 1 step", "success, 1 step", "train/loss, stage fit", "val/loss, stage fit",
    ]  # fmt: skip
    assert "physics5/test/hits@1/h1" in json.dumps(sections["physics5"])
    assert [key["name"] for key in spec["section"]["runSets"][0]["grouping"]] == ["group", "row.value"]


def test_the_workspace_alone(runs, logged, command_here):
    pytest.importorskip("wandb_workspaces")
    assert command_here("eval/dashboard.py", "runs_dir=.", "log_runs=false", cwd=runs).returncode == 0
    assert (runs / "dashboard.json").is_file() and not logged


def test_without_the_package(runs, logged, command_here, monkeypatch):
    """One sentence with the pip line, nothing logged, nothing written."""
    for name in ("wandb_workspaces", "wandb_workspaces.workspaces", "wandb_workspaces.reports.v2"):
        monkeypatch.setitem(sys.modules, name, None)
    done = command_here("eval/dashboard.py", "runs_dir=.", cwd=runs)
    assert done.returncode == 1 and "pip install 'wandb-workspaces" in done.stderr and "Traceback" not in done.stderr
    assert not logged and not (runs / "dashboard.json").exists()


def test_no_finished_run(command_here, tmp_path):
    done = command_here("eval/dashboard.py", "runs_dir=.", cwd=tmp_path)
    assert done.returncode == 1 and "holds no finished run" in done.stderr
