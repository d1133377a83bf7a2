"""Tables: they declare runs that exist, run what is missing and nothing else, and show what the runs say, seed by seed."""

import json
import threading
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

import eval.paper.sweep
import eval.tables
from envs.problem import Problem
from eval.paper.sweep import missing, run_jobs
from eval.paper.table_specs import Cell, fill, is_agent_row, metrics_of, overrides_of, paper_tables, run_name, table_specs
from eval.paper.table_text import caption, latex, lines, long_csv
from eval.planning.kept import asked_of, file_name
from eval.tables import _workers, expected_minutes, jobs_of

PAGES = paper_tables()


@pytest.fixture
def cfg(tmp_path):
    return {"budget": "2min", "seeds": 2, "runs_dir": str(tmp_path / "runs"), "data_dir": "data", "jobs": 2,
            "ledger": str(tmp_path / "ledger")}  # fmt: skip


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """Stand-ins for fit.py and plan.py: they write the results their arguments name, and note every start."""
    for name, body in {
        "train/fit.py": "m = {f'test/{k}/h{h}': 50.0 + float(told['seed']) "
        "for k in ('hits@1', 'mrr', 'cf_hits@1') for h in (1, 5, 10)}\n"
        "out = {'metrics': m}",
        "eval/score.py": "for split in told['split'].strip('[]').split(','):\n"
        "    found = {f'test/{k}/h{h}': 7.0 for k in ('hits@1', 'cf_hits@1') for h in (1, 5, 10)}\n"
        "    (folder / f'results-{split}.json').write_text(json.dumps({'metrics': found}))\n"
        "out = json.loads(path.read_text())",
        "eval/plan.py": "ps = told['planners'].strip('[]').split(',')\n"
        "found = {f'plan/success/{p}/h{h}': 1.0 for p in ps for h in (1, 5, 10)}\n"
        "found |= {f'plan/success/h{h}': 1.0 for h in (1, 5, 10) if 'model_closed' in ps}\n"
        "out = json.loads(path.read_text())\n"
        "for mode in told['mode'].strip('[]').split(',') if 'mode' in told else ():\n"
        "    (folder / f'plan-mode{mode}.json').write_text(json.dumps({'metrics': found}))\n"
        "out['metrics'] |= {} if 'mode' in told else found",
    }.items():
        script = tmp_path / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            "import json, sys, pathlib, time\n"
            "told = dict(a.split('=', 1) for a in sys.argv[1:])\n"
            "folder = pathlib.Path(told['run'] if 'run' in told else told['runs_dir'] + '/' + told['name'])\n"
            "folder.mkdir(parents=True, exist_ok=True); path = folder / 'results.json'\n"
            f"open(folder / 'starts', 'a').write(sys.argv[0][-7:] + '\\n'); time.sleep(.2)\n{body}\n"
            "path.write_text(json.dumps(out))\n"
        )
    monkeypatch.setattr(eval.paper.sweep, "ROOT", tmp_path)


def test_every_declared_run_composes(compose, root):
    """Every row of every table is a command that train/fit.py understands; every row has its epochs in every budget."""
    every = table_specs(PAGES, "all", "all", None) + table_specs(
        PAGES, ["few-shot", "beam", "causes-first", "ablation", "trifinger", "trifinger-causes"], None, None
    )
    assert {p.key for p in every} >= {
        *(f"table{n}" for n in range(3, 15)),
        "table16-part3",
        "figure20-part1",
        "figure21-part2",
        "figure25-part3",
    }
    for panel in every:
        assert (root / "configs" / "env" / f"{panel.env}.yaml").exists()
    env_of = {row: panel.env for panel in every for row in panel.rows}  # one is enough: what a row asks of env= is a name
    for row, env in env_of.items():
        own = row in PAGES["groups"]["paper"] or is_agent_row(row)
        # composing takes a tenth of a second
        for name, budget in PAGES["budgets"].items() if own else [("2min", PAGES["budgets"]["2min"])]:
            if is_agent_row(row):
                assert compose("agent", *PAGES["rows"][row], *budget["rows"][row], f"env={env}").steps > 0
                continue
            config = compose("fit", *PAGES["rows"][row], *budget["rows"][row], f"env={env}")
            assert f"loss={config.loss.name}" in PAGES["rows"][row] and f"model={config.model.name}" in PAGES["rows"][row]
            if name == "paper" and row in PAGES["groups"]["paper"]:
                assert (config.model.size, config.model.width, config.loss.window) == ("medium", 128, 1)
    splits_of = {env: compose("fit", f"env={env}").env.splits for env in {panel.env for panel in every}}
    for panel in every:
        splits = splits_of[panel.env]
        for split in {column.split for column in panel.columns} - {None}:
            assert splits[split].mode == split  # plans go by the mode
    assert all(set(budget["rows"]) == set(PAGES["rows"]) for budget in PAGES["budgets"].values())


def test_finished_runs_of_the_published_budget_count(compose, cfg):
    """Two rows of ours train other epochs than a hundred, so their finished runs were taken for runs of something else."""
    every = table_specs(PAGES, list(PAGES["tables"]), None, None)
    env_of = {row: panel.env for panel in every for row in panel.rows if not is_agent_row(row)}
    of_loss = {next(one for one in PAGES["rows"][row] if one.startswith("loss=")): row for row in env_of}
    assert "ours (categorical + inverse action)" in of_loss.values() and "edge: two cycles" in of_loss.values()
    for row in of_loss.values():  # epochs are those of the loss; composing takes a tenth of a second
        config = compose("fit", *overrides_of(row, "paper"), f"env={env_of[row]}")
        folder = Path(cfg["runs_dir"]) / run_name(row, env_of[row], "paper", 0)
        folder.mkdir(parents=True)
        told = {"model": config.model.name, "loss": config.loss.name, "env": env_of[row], "seed": 0, "metrics": {"m": 1.0}}
        epochs = [stage.epochs for stage in config.loss.stages]
        (folder / "results.json").write_text(json.dumps(told | {"protocol": {"epochs": epochs}}))
        assert metrics_of(row, env_of[row], 0, cfg | {"budget": "paper"}) == {"m": 1.0}, (row, epochs)


def test_names_are_apart():
    """No two rows, settings, budgets or seeds share a run folder."""
    names = [
        run_name(row, env, b, s)
        for row in PAGES["rows"]
        for env in ("physics3", "physics5")
        for b in ("2min", "paper")
        for s in (0, 1)
    ]
    assert len(set(names)) == len(names) and all(set(n) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_") for n in names)


@pytest.mark.parametrize(
    "asked, said",
    [((40, None, None), "no table '40'"), ((None, 5, None), "no figure '5'"), ((None, None, None), "nothing asked for"),
     ((4, None, ["GNN + NL"]), "no row 'GNN . NL': did you mean 'GNN . NLL'")],
)  # fmt: skip
def test_unknown_names_are_refused(asked, said):
    with pytest.raises(Problem, match=said):
        table_specs(PAGES, *asked)


def test_one_run_serves_ranking_and_success(cfg):
    """A run that two tables ask for is one job; it plans if one of them wants success; time is told beforehand."""
    jobs = jobs_of(table_specs(PAGES, [4, 10], None, ["GNN + NLL"]), cfg)
    assert len(jobs) == 2 and all([s[0] for s in job.left()] == ["train/fit.py", "eval/plan.py"] for job in jobs)
    assert expected_minutes(jobs, 2, workers=1) == pytest.approx(2 * (120 + 75 + 90) / 60)
    assert expected_minutes(jobs, 2, workers=8) == pytest.approx((120 + 75 + 90) / 60)


def test_as_many_runs_as_fit(monkeypatch):
    """One for each core; of those that train on a GPU as many as its free memory holds, one at least."""
    monkeypatch.setattr(eval.tables, "cores", lambda: 8)
    assert _workers(False) == _workers(True) == 8
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for free, runs in ((1 << 30, 1), (13 << 30, 2), (78 << 30, 8)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda free=free: (free, 80 << 30))
        assert _workers(True) == runs and _workers(False) == 8


def test_what_is_done_is_skipped(cfg, scripts, tmp_path):
    """Trains once, plans when success is asked for later, and never starts a finished job again."""
    ranking, success = (table_specs(PAGES, n, None, ["GNN + NLL"]) for n in (4, 10))
    folder = tmp_path / "runs" / run_name("GNN + NLL", "physics5", "2min", 1)
    for asked, starts in (
        (ranking, ["/fit.py"]),
        (ranking, ["/fit.py"]),
        (success, ["/fit.py", "plan.py"]),
        (success, ["/fit.py", "plan.py"]),
    ):
        todo = missing(jobs_of(asked, cfg))
        assert not run_jobs(todo, 2, tmp_path / "logs", lambda _: None)
        assert (folder / "starts").read_text().split() == starts
    cell = fill(ranking[0], cfg)["GNN + NLL", "H@1", 1]
    assert cell.values == {0: 50.0, 1: 51.0} and str(cell) == "50.5 ± 0.7"
    assert str(fill(success[0], cfg)["comparison: greedy, true world", "closed loop", 10]) == "-"


def test_other_splits_are_scored_and_planned_on(cfg, scripts, tmp_path):
    """Zero-shot: one training, one scoring of all splits, one planning in all modes, each number in its own column."""
    asked = table_specs(PAGES, 16, None, ["GNN + NLL"])
    cfg["seeds"] = 1
    assert not run_jobs(missing(jobs_of(asked, cfg)), 1, tmp_path / "logs", lambda _: None)
    assert not missing(jobs_of(asked, cfg))
    folder = tmp_path / "runs" / run_name("GNN + NLL", "physics5", "2min", 0)
    starts = (folder / "starts").read_text().split()
    assert (starts[0], starts.count("core.py"), starts.count("plan.py"), len(starts)) == ("/fit.py", 1, 2, 4)
    ranking, _, success = (fill(panel, cfg) for panel in asked)
    assert (
        ranking["GNN + NLL", "as trained", 5].values == {0: 50.0}
        and ranking["GNN + NLL", "any shades", 5].values == {0: 7.0}
    )
    assert success["GNN + NLL", "unseen shapes", 10].values == {0: 1.0}


def test_files_are_those_that_score_and_plan_write(compose):
    """The file a column reads is the one the commands write."""
    usual = asked_of(OmegaConf.to_container(compose("plan")))
    column = table_specs(PAGES, 16, None, None)[2].columns[1]
    assert column.split == "zero-shot" and column.file == file_name({**usual, "mode": "zero-shot"})
    assert table_specs(PAGES, 16, None, None)[0].columns[4].file == "results-zero-shot.json"


def test_agents_have_the_closed_loop_alone(cfg):
    """Trained and measured by one command; in success tables only; what they lack is a dash."""
    row = "PPO (model-free)"
    (job, other) = jobs_of(table_specs(PAGES, 9, None, [row]), cfg)
    ((script, *arguments),) = job.left()
    assert script == "train/agent.py" and {"algo=ppo", "env=physics3", "seed=0"} <= set(arguments)
    folder = Path(cfg["runs_dir"]) / job.name
    folder.mkdir(parents=True)
    (folder / "results.json").write_text('{"metrics": {"plan/success/h5": 41.5}}')
    assert not job.left() and other.left()
    (panel,) = table_specs(PAGES, 9, None, [row])
    cells = fill(panel, cfg)
    assert str(cells[row, "closed loop", 5]) == "41.5 (1 of 2)"
    assert str(cells[row, "open loop", 5]) == str(cells[row, "simulator", 5]) == "-"
    with pytest.raises(Problem, match="no table asked for has the rows"):
        table_specs(PAGES, 3, None, [row])


def test_two_sweeps_share_the_work(cfg, scripts, tmp_path):
    """Started at once for the same table, every run is trained once."""
    asked = table_specs(PAGES, 4, None, ["GNN + NLL", "AE + NLL"])
    todo = jobs_of(asked, cfg)
    both = [threading.Thread(target=run_jobs, args=(todo, 2, tmp_path / "logs", lambda _: None)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert not missing(todo)
    assert all(path.read_text().split() == ["/fit.py"] for path in (tmp_path / "runs").glob("*/starts"))


def test_what_is_written(cfg):
    """Published cells stand beside ours or say that they are not; LaTeX is escaped; the csv has one line for each number."""
    panel = table_specs(PAGES, 4, None, ["GNN + NLL"])[0]
    pages = {**PAGES, "published": {"table4": {"AE + NLL": {"H@1": [1, 2, 3]}}}}
    cells = fill(panel, cfg)
    header, rows = lines(panel, pages, cells)
    assert header[0] == "" and header[-1] == "published" and rows == [["GNN + NLL", "-", "-", "-", "not published"]]
    both = table_specs(PAGES, 4, None, ["AE + NLL"])[0]
    assert lines(both, pages, fill(both, cfg))[1] == [["AE + NLL", "-", "-", "-", "H@1 1 / 2 / 3"]]
    assert header[1:3] == ["H@1 1 / 5 / 10", "MRR 1 / 5 / 10"]
    assert str(Cell({0: 50.0, 2: 52.0}, asked=3)) == "51.0 ± 1.4 (2 of 3)"
    ablation = table_specs(PAGES, "ablation", None, None)[0]
    assert "published" not in lines(ablation, PAGES, fill(ablation, cfg))[0]
    success = table_specs(PAGES, 10, None, None)[0]
    assert "PPO 150,000 steps" in caption(success, PAGES, cfg)
    text = caption(panel, pages, cfg)
    assert "PPO" not in text
    for words in ("budget 2min", "seeds 0, 1", "pool 10000", "ties against us", "modular only 50"):
        assert words in text
    assert r"50.00 $\pm$ 1" in latex(["a"], [["50.00 ± 1"]], "50 %_")
    assert long_csv([(panel, cells)]).splitlines() == ["table,env,row,metric,steps,seed,value"]


def test_rows_that_are_not_asked_for_stay_in_the_files(cfg, tmp_path, capsys):
    """A command with rows=, or with fewer seeds, replaced a whole table by them."""
    for row, seed in (("GNN + NLL", 0), ("GNN + NLL", 1), ("GNN + NLL", 3), ("AE + NLL", 0)):  # one of 2 would be lost, too
        folder = Path(cfg["runs_dir"]) / run_name(row, "physics5", "2min", seed)
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps({"metrics": {"test/hits@1/h10": 50.0 + seed}}))
    asked = {"table": 4, "figure": None, "rows": "AE + NLL", "seeds": 1, "run_missing": False, "out": str(tmp_path / "out")}
    eval.tables.run(OmegaConf.create(cfg | asked))
    printed, files = capsys.readouterr().out, tmp_path / "out" / "2min"
    assert "AE + NLL" in printed and "GNN + NLL" not in printed
    assert "| GNN + NLL | - / - / 51.3 ± 1.5 |" in (files / "table4.md").read_text()
    assert "table4,physics5,GNN + NLL,H@1,10,1,51.0" in (files / "table4.csv").read_text()
    before, entry = (files / "table4.csv").read_bytes(), Path(cfg["ledger"]) / "physics5" / "gnn-nll-physics5-2min-s2-0.json"
    entry.parent.mkdir(parents=True)
    entry.write_text("{")
    eval.tables.run(OmegaConf.create(cfg | asked))  # a damaged row that was not asked for
    printed = capsys.readouterr().out
    assert "AE + NLL" in printed and "files of table4 stay as they are: " in printed
    assert (files / "table4.csv").read_bytes() == before


def test_a_folder_that_cannot_be_written_is_told_before_trainings(cfg, tmp_path, monkeypatch):
    """It was told after hours of them."""
    monkeypatch.setattr(eval.tables, "_run_missing", lambda *_, **__: pytest.fail("it trained first"))
    (tmp_path / "file").write_text("")
    asked = {"table": 4, "figure": None, "rows": None, "run_missing": True, "out": str(tmp_path / "file"), "humans": None}
    for table in (4, "voe"):
        with pytest.raises(Problem, match="cannot write .*choose another out="):
            eval.tables.run(OmegaConf.create(cfg | asked | {"table": table, "budget": "2min" if table == 4 else "40min"}))


def test_what_stands_beside_a_row_is_a_line_below_it(cfg):
    """Errors read off the true outcome, of runs that were asked for them; one of before is shown without."""
    known, before = "GNN + InfoNCE, table", "AE + InfoNCE, table"
    cfg |= {"seeds": 1, "budget": "5min"}
    ranked, panel = table_specs(PAGES, "trifinger-causes", None, [known, before])[:2]
    for row, more in ((known, {"test/cause/block_size/a/eyes/h5": 30.25}), (before, {})):
        folder = Path(cfg["runs_dir"]) / run_name(row, panel.env, "5min", 0)
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps({"metrics": {"test/cause/block_size/a/block_error/h5": 37.0, **more}}))
    header, rows = lines(panel, PAGES, fill(panel, cfg))
    assert header.index("block size 1 / 5 / 10") == 3
    assert [row[0] for row in rows] == [before, known, f"{known}: read off the true outcome"]
    assert [row[3] for row in rows] == ["- / 37.0 / -", "- / 37.0 / -", "- / 30.2 / -"]
    assert len(lines(ranked, PAGES, fill(ranked, cfg))[1]) == 2
    below = [line for line in long_csv([(panel, fill(panel, cfg))]).splitlines() if "read off the true outcome" in line]
    assert len(below) == 1 and below[0].endswith(",5,0,30.25"), "two seeds could not be told apart"
    assert "a column has the states that took a value: block size 232, block position 249" in caption(panel, PAGES, cfg)
