"""Rows, draws and studies of causes.yaml: every one composes to a run, under a name and a setting of its own."""

import json

import pytest
from omegaconf import OmegaConf

from envs.problem import Problem
from eval.effort import jobs
from eval.effort.command import run_study
from eval.effort.jobs import _usual, finalist_job, table_name, tune_job, tune_ledger, tune_name
from eval.effort.ledger_rows import seeds_of
from eval.effort.settings import causes, drawn, probes, rows_of, worth
from eval.effort.studies import studies

ENV = "physics3"


def test_draws_are_the_same_for_every_row_and_differ():
    settings = [drawn(n) for n in range(causes()["tune"]["draws"])]
    assert settings == [drawn(n) for n in range(len(settings))] and len({json.dumps(s) for s in settings}) == len(settings)
    for key, values in causes()["space"].items():
        assert {s[key] for s in settings} == set(values), "a value that is never dealt is not tried"


@pytest.mark.parametrize("row", rows_of(None), ids=lambda row: row.slug)
def test_every_row_composes_under_every_draw(compose, row):
    """What a draw says arrives in every stage that it concerns; hard windows only where the transition is trained."""
    setting = drawn(6)  # hard windows, of more than one transition, and a strength that is no default
    env = ENV if row.fits(ENV) else "chemistry_chain5"
    config = compose("fit", *row.fit, *row.overrides(setting), "trainer=minutes", f"env={env}", f'row="{row.name}"')
    assert config.row == row.name and row.fits(env) and ("width" in row.without or config.model.width == setting["width"])
    assert all((s.learning_rate, s.window, s.weight_decay)
               == tuple(setting[k] for k in ("learning_rate", "window", "weight_decay"))
               for s in config.loss.stages)  # fmt: skip
    assert all(s.hard_share == (setting["hard_share"] if "transition" in s.trains else 0) for s in config.loss.stages)
    strength = causes()["strengths"].get(row.loss)
    assert strength is None or OmegaConf.select(config, strength["key"]) == strength["values"][setting["strength"]]
    assert strength is not None or row.loss == "nll"
    assert (
        set(row.told) <= {"objects", "cells", "point", "blocks", "palette"}
        and len({one.slug for one in rows_of(None)}) == len(causes()["rows"])
    )


def test_unknown_rows_are_refused():
    with pytest.raises(Problem, match="no row 'edge . InfoNC': did you mean 'edge . InfoNCE'"):
        rows_of("edge + InfoNC")
    with pytest.raises(
        Problem, match="known: 'AE . InfoNCE', 'AE . hinge, small encoder', .*; a name with a comma is quoted once more"
    ):
        rows_of(["edge + hinge", "same episode"])  # what a shell makes of rows=[edge + hinge, same episode]


def test_worlds_are_asked_for_probes_that_they_answer(compose):
    """At the end of a run of the table as well, and only for probes that exist."""
    from hydra.utils import instantiate

    from eval.probes import every_probe

    known = {one.name: one for one in every_probe()}
    for env in ("physics5_shuffled", "physics9_7x7", "chemistry_chain5"):
        world = instantiate(compose("fit", f"env={env}").env.world)
        for more in (False, True):
            asked = probes(env, more)
            assert all(isinstance(world, need) for name in asked for need in known[name].needs)
        assert set(probes(env)) < set(asked)


def test_worth_is_a_mean_over_horizons():
    metrics = {f"test/cf_hits@1/mean/h{h}": value for h, value in zip((1, 5, 10), (90, 60, 30))}
    assert worth(metrics) == 60
    assert worth({f"test/cf_hits@1/h{h}": 50 for h in (1, 5, 10)}) == 50


def test_a_row_has_as_many_rounds_as_another():
    (one,), (three,) = rows_of("edge + InfoNCE"), rows_of("edge + NLL")
    assert one.rounds(10) == ["loss.stages.0.epochs=10"]
    assert three.rounds(10) == [f"loss.stages.{n}.epochs={k}" for n, k in enumerate((3, 3, 4))]
    assert (one.rounds_before_transition(10), three.rounds_before_transition(10)) == (0, 3)
    assert three.rounds(4, each=3) == [f"loss.stages.{n}.epochs=3" for n in range(3)]


@pytest.mark.parametrize("study", studies().values(), ids=lambda study: study.name)
def test_every_study_composes(compose, study):
    """Every row in every case, and what a study varies arrives in the run; no two cases have one name or one row."""
    names, rows = set(), set()
    for row in study.rows_of(None):
        for case in study.cases_of(row):
            setting = row.overrides(drawn(0)) if study.tuned else []
            overrides = _usual(study, case, row, study.envs[0], setting)
            config = compose("fit", *overrides)
            assert config.row.startswith(row.name) and list(config.score.horizons) == study.horizons
            # those are told by the ledger: here the trainer's own
            asked = study.minutes, 4000 if study.trains_missing_seeds else study.updates
            assert (
                (config.trainer.get("cpu_minutes"), config.trainer.get("updates")) == asked
                and max(study.horizons) <= config.env.splits.final.length
            )
            names.add(table_name(study, case, row, study.envs[0], setting, 0))
            rows.add(config.row)
    assert len(names) == len(rows) == sum(len(study.cases_of(row)) for row in study.rows_of(None))


def test_a_case_may_be_of_some_rows_and_tell_less():
    """Every name of `only` and `untold` is one that the study has, and every case is of some row."""
    for study in studies().values():
        names = {row.name for row in study.rows_of(None)}
        assert {*study.only, *study.untold} <= {*study.cases} and {name for of in study.only.values() for name in of} <= names
        assert {case for row in study.rows_of(None) for case in study.cases_of(row)} == {*study.cases}
    units, (ae, gnn) = studies()["causes-units"], rows_of(["GNN + InfoNCE", "AE + InfoNCE"])
    assert units.cases_of(gnn) == [
        "128 units",
        "128 units, setting of edge",
        "128 units, whole action",
        "128 units, messages hold the action",
        "128 units, messages hold the action, setting of edge",
    ] and units.cases_of(ae) == ["128 units"]
    assert units.told("128 units", gnn) == gnn.told and "blocks" in gnn.told
    assert units.told("128 units, whole action", gnn) == tuple(word for word in gnn.told if word != "blocks")


def test_the_setting_of_edge_is_the_one_that_was_chosen(root):
    """Cases repeat it key by key; what both rows chose alike need not be said again."""
    edge, gnn = (
        json.loads((root / "results/ledger/chosen/physics5_shuffled" / name).read_text())["overrides"]
        for name in ("edge_infonce.json", "gnn_infonce.json")
    )
    cases = {case: set(said) for case, said in studies()["causes-units"].cases.items() if "setting of edge" in case}
    assert len(cases) == 2 and all(
        set(edge) - set(gnn) == {one for one in said if "transition" not in one} for said in cases.values()
    )


@pytest.mark.parametrize("name", ["GNN + hinge, small encoder", "GNN + InfoNCE"])
def test_a_row_of_a_study_has_a_setting_of_its_own(compose, name):
    """`final` is scored under one setting of a row: where a study trains otherwise, its rows are called otherwise."""
    (row,) = rows_of(name)
    called = [compose("fit", *_usual(study, case, row, "physics5_shuffled", row.overrides(drawn(0)) if study.tuned else [])).row
              for study in studies().values() if study.runs == study.name and row in study.rows_of(None)
              for case in study.cases_of(row)]  # fmt: skip
    assert len(set(called)) == len(called) > 1


def test_seeds_are_those_of_a_study_and_its_rows(tmp_path):
    names = ["edge_infonce-physics3-causes-abcdef-s3-0a.json", "edge_infonce-physics3-causes-minutes-abcdef-s5-0a.json",
             "gone-physics3-causes-abcdef-s7-0a.json", "edge_infonce-physics3-causes-abcdef-s8-0a-old.json"]  # fmt: skip
    (tmp_path / ENV).mkdir()
    for name in names:
        (tmp_path / ENV / name).write_text("{}")
    assert seeds_of(studies()["causes"], ENV, tmp_path) == 4 and seeds_of(studies()["causes-minutes"], ENV, tmp_path) == 6
    assert seeds_of(studies()["causes"], "physics5", tmp_path) == 0


def test_a_study_has_rows_of_its_own():
    with pytest.raises(Problem, match="table causes-published has no row 'edge . InfoNCE'"):
        studies()["causes-published"].rows_of("edge + InfoNCE")


def test_draws_are_multiplied_as_the_first_of_their_row(tmp_path, monkeypatch, compose):
    """Settings that were drawn on two machines would be compared across bfloat16 and single precision."""
    asked = {"ledger": str(tmp_path), "runs_dir": str(tmp_path / "runs"), "data_dir": "data"}
    (row,), place = rows_of(["edge + InfoNCE"]), tune_ledger(tmp_path) / ENV
    place.mkdir(parents=True)
    monkeypatch.setattr(jobs, "fast_precision", lambda accelerator: "bf16-mixed")
    assert "trainer.precision=bf16-mixed" in tune_job(row, ENV, 0, asked).left()[0]
    for there in ("32-true", "bf16-mixed"):
        name = tune_name(row, ENV, 2)
        (place / f"{name}-0.json").write_text(json.dumps({"run": name, "env": ENV, "seed": 90, "row": row.name,
                                                          "rounds": [], "scores": {},
                                                          "setting": {"trainer": {"precision": there}}}))  # fmt: skip
        for job in (tune_job(row, ENV, 0, asked), finalist_job(row, ENV, 1, asked)):
            assert f"trainer.precision={there}" in job.left()[0]
    monkeypatch.setattr(jobs, "fast_precision", lambda accelerator: "32-true")
    cfg = OmegaConf.to_container(compose("tables")) | asked
    with pytest.raises(Problem, match="its other runs were trained in bf16-mixed, and this machine has no bfloat16 of its own"):
        run_study(
            "causes",
            cfg | {"table": "causes", "envs": [ENV], "rows": [row.name], "tune": True},
            lambda *_: pytest.fail("it trains"),
        )
