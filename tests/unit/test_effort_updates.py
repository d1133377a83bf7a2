"""Seeds that the main table lacks, trained on any machine with the fewest updates that a training of the row made there."""

import json
from pathlib import Path

import pytest
from effort_scripts import ENV, cfg, no_charts, run_missing, scripts, tuned_and_run  # noqa: F401  fixtures

from envs.problem import Problem
from eval.effort import jobs
from eval.effort.captions import caption, one_line
from eval.effort.command import run_study
from eval.effort.filled import Filled
from eval.effort.jobs import seeds_to_train, table_job, table_name, updates_of
from eval.effort.settings import rows_of
from eval.effort.studies import studies
from eval.effort.table import waiting
from eval.runs.entry import named

MAIN, FILLING = studies()["causes"], studies()["causes-updates"]


@pytest.fixture
def of_main(cfg, scripts, no_charts):  # noqa: F811
    """One seed of a row in the main table.  -> the row, its ledger, and the file of its entry."""
    row, path, _ = tuned_and_run(cfg)
    return row, Path(cfg["ledger"]), path


def with_updates(path: Path, seed: int, **more) -> None:
    """The entry of a file again as another seed's."""
    entry = json.loads(path.read_text())
    run = f"{entry['run'].removesuffix('-s0')}-s{seed}"
    (path.parent / f"{run}-abc.json").write_text(json.dumps(entry | {"run": run, "seed": seed} | more))


def rounds(**updates: int) -> dict:
    return {
        "rounds": [
            {"round": n, "stage": stage, "cpu_s": 1.0, "updates": done, "scores": {}}
            for n, (stage, done) in enumerate(updates.items(), 1)
        ]
    }


def test_a_machine_without_bfloat16_trains_what_lacks(of_main, cfg, monkeypatch, tmp_path, capsys):  # noqa: F811
    """The main table refuses its seeds there; these are rows of their own, and what the main table has is not trained again."""
    row, ledger, path = of_main
    entry = json.loads(path.read_text())
    path.write_text(json.dumps(entry | {"setting": {"trainer": {"precision": "bf16-mixed"}}}))
    monkeypatch.setattr(jobs, "fast_precision", lambda accelerator: "32-true")
    with pytest.raises(
        Problem, match=r"train it on one that has, or run: python eval/tables.py table=causes-updates envs=\[physics3\] seeds=2"
    ):
        run_study("causes", cfg | {"seeds": 2}, run_missing)
    ((script, *asked), *_) = table_job(FILLING, "", row, ENV, 1, cfg).left()
    told = dict(word.split("=", 1) for word in asked)
    assert (
        script == "train/fit.py"
        and {"trainer=updates", "trainer.updates=[10]", "trainer.precision=32-true", "seed=1"} <= set(asked)
    )
    assert "trainer.cpu_minutes" not in told and told["row"] == '"edge + InfoNCE, as many updates as in ten minutes"'
    assert not run_study("causes-updates", cfg | {"seeds": 3}, run_missing)
    there = {found.name for found in (ledger / ENV).glob("*-causes-updates-*.json")}
    assert [name[-11:] for name in sorted(there)] == ["s1-abc.json", "s2-abc.json"]
    found = Filled.of(FILLING, "", row, ENV, cfg | {"seeds": 3})
    assert list(found.entries) == [1, 2] and list(Filled.of(MAIN, "", row, ENV, cfg | {"seeds": 3}).entries) == [0]
    assert ("in each stage the fewest updates that a training of the row made in table causes for every row, "
            "seeds 0 to 2 at most, of which each row has those that it lacked there") in one_line(caption([found]))  # fmt: skip
    monkeypatch.setattr(jobs, "fast_precision", lambda accelerator: "bf16-mixed")
    assert "trainer.precision=32-true" in table_job(FILLING, "", row, ENV, 4, cfg).left()[0], (
        "what one machine trained, any may go on with"
    )
    assert waiting([Filled.of(FILLING, "", row, ENV, cfg)]) == "no run yet, or none that table causes lacks: edge + InfoNCE"
    assert "physics3,edge + InfoNCE,what if,10,end,2," in (tmp_path / "out/causes-updates/physics3.csv").read_text()


def test_each_stage_has_its_fewest(of_main, cfg, monkeypatch):  # noqa: F811
    """Of all seeds, whatever their number; of trainings that ended."""
    (row,), (_, ledger, path) = rows_of("edge + NLL"), of_main
    name = named(table_name(MAIN, "", row, ENV, ["loss.window=1"], 0))
    monkeypatch.setattr("eval.effort.studies.choice", lambda *_: {"overrides": ["loss.window=1"]})
    path = path.rename(path.with_name(f"{name}-abc.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run": name}))
    with_updates(path, 1, **rounds(reconstruction=30, prediction=4, finetune=7))
    with_updates(path, 12, **rounds(reconstruction=20, prediction=9, finetune=8))
    with_updates(path, 3, diverged="loss is not finite", **rounds(reconstruction=1))
    with_updates(path, 5, **rounds(warmup=1, prediction=1, finetune=1))  # stages of before
    path.unlink()
    assert updates_of(FILLING, "", row, ENV, ledger) == [20, 4, 7]


def test_seeds_are_those_that_final_never_saw_in_the_main_table(of_main, cfg):  # noqa: F811
    """One that the main table would train again is missing; one that was begun here is scored to its end."""
    row, ledger, path = of_main
    with_updates(path, 1, scores={"select": json.loads(path.read_text())["scores"]["select"]})
    with_updates(path, 2, diverged="loss is not finite", scores={})
    assert seeds_to_train(FILLING, row, ENV, ledger, 4) == [1, 3]
    assert seeds_to_train(MAIN, row, ENV, ledger, 2) == [0, 1], "what the main table has, its jobs leave out themselves"
    run_study("causes-updates", cfg | {"seeds": 4}, run_missing)
    with_updates(path, 3)
    assert seeds_to_train(FILLING, row, ENV, ledger, 4) == [1, 3]


def test_a_row_keeps_its_updates(of_main, cfg):  # noqa: F811
    """A slower seed that the main table has later changes no seed that `final` saw, nor the next one."""
    row, ledger, path = of_main
    updates = lambda: next(  # noqa: E731
        word for word in table_job(FILLING, "", row, ENV, 2, cfg).left()[0] if word.startswith("trainer.updates=")
    )
    with_updates(path, 1, **rounds(joint=6))
    assert updates() == "trainer.updates=[6]"
    run_study("causes-updates", cfg | {"seeds": 3}, run_missing)
    (begun,) = path.parent.glob("*-causes-updates-*-s2-*.json")  # broken off before `final`
    begun.write_text(
        json.dumps(
            json.loads(begun.read_text()) | {"setting": {"trainer": {"updates": [7], "precision": "32-true"}}, "scores": {}}
        )
    )
    assert updates() == "trainer.updates=[7]"
    frozen = ledger / "frozen" / ENV / "edge_InfoNCE_as_many_updates_as_in_ten_minutes.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": row.name, "setting": {"trainer": {"updates": [8], "precision": "32-true"}}}))
    assert updates() == "trainer.updates=[8]"


def test_a_row_without_a_training_has_nothing_to_count(of_main, cfg):  # noqa: F811
    row, ledger, path = of_main
    path.unlink()
    with pytest.raises(
        Problem,
        match="table causes has no training of row 'edge . InfoNCE' on physics3 "
        "that ended and tells its updates in joint; run first",
    ):
        run_study("causes-updates", cfg, run_missing)
