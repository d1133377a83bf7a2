"""Table 4 of violated expectations: the published cells, and Welch's t between any two."""

import json
import math
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

import eval.tables
from envs.problem import Problem
from eval.paper.table_specs import run_name
from eval.paper.voe_runs import FOUND, Row, Runs, jobs_of, told_of, voe_tables
from eval.paper.voe_stored import STORED
from eval.paper.voe_table import Cell, difference, fill, published, voe_specs
from eval.paper.voe_text import caption, lines, long_csv

T = {"voe_support": 4.2, "voe_occlusion": 7.8, "voe_containment": 1.7, "voe_collision": 3.1, "voe_barrier": 0.9}


def test_means_of_the_published_rows():
    means = {model: sum(cell.mean for cell in row.values()) / 5 for model, row in published().items()}
    assert means == {"OFPR-Net": pytest.approx(0.743, abs=6e-4), "OF-Net": pytest.approx(0.697, abs=6e-4)}


@pytest.mark.parametrize("env, t", T.items())
def test_welchs_t_between_the_published_rows(env, t):
    """From the rounded cells: a tenth beside the t of the unrounded ones at most."""
    table = published()
    found = difference(table["OFPR-Net"][env], table["OF-Net"][env])
    assert found.t == pytest.approx(t, abs=0.1) and (found.p < 0.05) == (t > 2.2)


def test_one_seed_has_no_spread():
    one = Cell.of([0.8])
    assert str(one) == "0.800" and math.isnan(difference(one, Cell.of([0.5, 0.7])).t)
    assert str(Cell.of([0.5, 0.7])) == "0.600 ± 0.141"


def test_cells_without_spread_have_no_t():
    """A row of constants, as the baseline is, has no test, and no warning."""
    half = Cell.of([0.5, 0.5])
    assert str(difference(Cell.of([0.6, 0.6]), Cell.of([0.4, 0.5]))) == "+0.150"
    assert str(difference(half, half)) == "+0.000" and math.isnan(difference(half, Cell.of([0.4, 0.4])).t)


ENVS = tuple(voe_tables()["envs"].values())


@pytest.fixture
def cfg(tmp_path):
    return {"budget": "40min", "seeds": 2, "runs_dir": str(tmp_path / "runs"), "data_dir": "data", "jobs": 1, "worker": 0,
            "out": str(tmp_path / "out"), "rows": None, "run_missing": False, "figure": None, "humans": None}  # fmt: skip


def write_run(
    folder: Path, model: str, env: str, seed: int, rate: float, observation="pixels", loss="labels", frames=None, **more
):
    """A scored run, as train/fit.py leaves it."""
    folder.mkdir(parents=True)
    number = "ABCDE"[ENVS.index(env)]
    metrics = {"voe/hit_rate": rate, f"voe/hit_rate/{number}1": 1.0, "voe/control/hit_rate": rate - 0.1,
               "voe/lawful/hit_rate": 0.5, "ceiling/features/voe/hit_rate": 1.0, "floor/random/voe/hit_rate": 0.52}  # fmt: skip
    results = {"env": env, "seed": seed, "model": model, "loss": loss, "metrics": metrics, "timing": {"fit_s": 60.0},
               "protocol": {"epochs": [30], "split": "test"}, "violation": {"pairs": {"surprising": 50}}}  # fmt: skip
    (folder / "results.json").write_text(json.dumps(results))
    (folder / "config.yaml").write_text(
        yaml.safe_dump({"env": {"observation": observation, **more}, "model": {"frames": frames}})
    )


def test_ours_stand_beside_the_published_ones(cfg):
    """Two seeds of one category, one of the others; what is not there says so."""
    runs = Path(cfg["runs_dir"])
    for row, model, rate in (("OFPR-Net", "ofpr", 0.7), ("OF-Net", "of", 0.6)):
        for env in ENVS:
            write_run(runs / run_name(row, env, "40min", 0), model, env, 0, rate)
        write_run(runs / run_name(row, ENVS[0], "40min", 1), model, ENVS[0], 1, rate + 0.02 if model == "ofpr" else rate + 0.03)
    (table,) = voe_specs(["voe"])
    filled = fill(table, cfg)
    header, rows = lines(filled, cfg)
    of = {row[0]: dict(zip(header[1:], row[1:])) for row in rows}
    assert header == ["", "A support", "B occlusion", "C containment", "D collision", "E barrier", "mean"]
    assert of["OFPR-Net, ours"]["A support"] == "0.710 ± 0.014"
    assert of["OFPR-Net, ours"]["B occlusion"] == "0.700 (1 of 2)" == of["OFPR-Net, ours"]["mean"]
    assert of["OFPR-Net, published"]["A support"] == "0.676 ± 0.023" and of["OFPR-Net, published"]["mean"] == "0.743"
    assert of["OFPR-Net, ours - published"]["A support"].startswith("+0.034, t 2.7, p ")
    assert of["OFPR-Net, ours - published"]["B occlusion"] == "-0.207"  # one seed has no spread
    assert of["OFPR-Net - OF-Net, ours"]["A support"].startswith("+0.095, t 5.3, p ")
    assert of["OFPR-Net - OF-Net, published"]["B occlusion"].startswith("+0.089, t 7.8, p < .001")
    baseline = of["baseline (always expected), ours"], of["baseline (always expected), published"]
    assert set(baseline[0].values()) == {"not run"} and set(baseline[1].values()) == {"not published"}
    assert of["comparison: trees on true features"]["mean"] == "1.000" and of["floor: change of pixels"]["mean"] == "not run"
    assert set(list(of["random, expectation"].values())[1:]) == {"0.500"}  # runs of before hold one draw
    assert of["OFPR-Net: A1, B1, C1, D1, E1"]["A support"] == "1.000 ± 0.000"
    assert not [name for name in of if name.startswith("baseline") and "A1" in name]
    third = of["OFPR-Net: D3, E3"]
    assert (third["A support"], third["D collision"], third["mean"]) == ("", "not run", "")
    text = caption(filled, cfg)
    for words in (
        "ties one half",
        "seeds 0, 1",
        "50 pairs a category, of split test",
        "epochs 30",
        "our data and backbone, not the published ones",
        "Welch",
    ):
        assert words in text
    told = long_csv([filled]).splitlines()
    assert "voe,voe_support,OFPR-Net,voe/hit_rate,,1,0.72" in told and "voe,voe_support,OFPR-Net,published mean,,,0.676" in told
    assert "voe,mean,OFPR-Net,voe/hit_rate,,0,0.7" in told


def test_a_name_alone_proves_nothing(cfg):
    """The folder of another seed, or of another number of epochs than the budget's, is not shown."""
    row = Row.of("OFPR-Net")
    write_run(Path(cfg["runs_dir"]) / run_name("OFPR-Net", ENVS[0], "40min", 0), "ofpr", ENVS[0], 7, 0.7)
    write_run(Path(cfg["runs_dir"]) / run_name("OFPR-Net", ENVS[0], "2min", 0), "ofpr", ENVS[0], 0, 0.7)
    assert Runs(cfg).results(row, ENVS[0], 0) is None and Runs({**cfg, "budget": "2min"}).results(row, ENVS[0], 0) is None


def test_runs_of_any_name_are_found(cfg):
    """budget=found: by what runs are; the alternate reality and other observations are apart; models of no row follow."""
    runs, cfg = Path(cfg["runs_dir"]), cfg | {"budget": FOUND}
    write_run(runs / "mine", "ofpr", ENVS[2], 0, 0.8)
    write_run(runs / "key", "ofpr", ENVS[2], 0, 0.9, frames=[0, 2])
    write_run(runs / "no-speeds", "ofpr", ENVS[2], 0, 0.1)
    (runs / "no-speeds/config.yaml").write_text(yaml.safe_dump({"model": {"frames": None, "posterior_speeds": False}}))
    write_run(runs / "deeper" / "swapped", "ofpr", ENVS[2], 0, 0.4, frames=[0, 2], stored_as={"train": "train-surprising"})
    write_run(runs / "rim", "rim", ENVS[2], 1, 0.9, loss="nll", frames=())
    asked = {"loss": "nll", "violation": {"horizons": [1, 6], "of_clip": "peak"}}
    assert (
        "asked [1, 6] frames ahead, peak of a clip" in told_of([asked])
        and "asked" not in told_of([asked | {"loss": "labels"}])
    )
    normal, alternate, control = (fill(voe_specs([name])[0], cfg) for name in ("voe", "voe-alternate", "voe-control"))
    assert normal.values["OFPR-Net", 0]["C"] == {0: 0.8} and normal.values["OFPR-Net, key frames", 0]["C"] == {0: 0.9}
    assert alternate.values["OFPR-Net, alternate", 0]["C"] == {0: 0.4}
    assert [row.name for row in control.rows][-1] == "rim + nll, pixels"
    assert control.values["rim + nll, pixels", 0]["C"] == {1: 0.8} and not jobs_of(normal.table.rows, cfg)
    (runs / "rim/config.yaml").write_text("{")
    with pytest.raises(Problem, match="rim/config.yaml is damaged"):
        fill(voe_specs(["voe"])[0], cfg)
    (runs / "rim/config.yaml").unlink()
    write_run(runs / "twice", "ofpr", ENVS[2], 0, 0.7)
    with pytest.raises(
        Problem, match="are both ofpr . labels, pixels, whole clips on voe_containment with seed 0; move one of them"
    ):
        fill(voe_specs(["voe"])[0], cfg)


def test_runs_scored_on_valid_are_shown_on_test(cfg):
    """What was chosen on validation pairs is scored on test by eval/surprise.py, into a file of its own."""
    place, cfg = Path(cfg["runs_dir"]) / "lstm", cfg | {"budget": FOUND}
    write_run(place, "lstm", ENVS[2], 0, 0.9, loss="memory", frames=())
    results = json.loads((place / "results.json").read_text())
    (place / "results.json").write_text(json.dumps(results | {"protocol": results["protocol"] | {"split": "valid"}}))
    filled = fill(voe_specs(["voe-control"])[0], cfg)
    assert filled.values["LSTM + memory", 0]["C"] == {0: 0.8} and "of split valid" in caption(filled, cfg)
    (place / "surprise-test.json").write_text(
        json.dumps({"metrics": {"voe/control/hit_rate": 0.3}, "violation": results["violation"]})
    )
    filled = fill(voe_specs(["voe-control"])[0], cfg)
    assert filled.values["LSTM + memory", 0]["C"] == {0: 0.3} and "of split test" in caption(filled, cfg)


def test_a_run_serves_all_variants_of_its_trees(cfg):
    """One training, then one way of asking after the other; what is there is not asked again."""
    (table,) = voe_specs(["voe-trees"])
    jobs = jobs_of(table.rows, cfg)
    assert len(jobs) == 2 * len(ENVS) and [step[0] for step in jobs[0].left()] == ["train/fit.py", *["eval/surprise.py"] * 5]
    assert "trees=direct" in jobs[0].left()[2] and "posterior_speeds=false" in jobs[0].left()[4]
    folder = Path(cfg["runs_dir"]) / jobs[0].name
    write_run(folder, "ofpr", ENVS[0], 0, 0.7)
    (folder / "surprise-trees-direct-posterior_speeds-false.json").write_text('{"metrics": {"voe/hit_rate": 0.9}}')
    assert [step[0] for step in jobs[0].left()] == ["eval/surprise.py"] * 4
    assert fill(table, cfg).values["direct, no speeds and directions afterwards", 0]["A"] == {0: 0.9}


def test_every_row_composes(compose):
    book = voe_tables()
    rows = [Row.of(name) for name in book["rows"]]
    for row in {row.fit: row for row in rows}.values():
        config = compose("fit", *row.fit, *book["budgets"]["2min"]["fit"], "env=voe_barrier")
        assert (config.model.name, config.loss.name, config.env.observation) == (
            row.kind.model,
            row.kind.loss,
            row.kind.observation,
        )
        assert ("stored_as" in config.env) == row.kind.alternate
    assert compose("surprise", *sum((row.ask for row in rows), ())).observed == "heads"
    assert {row for tables in book["tables"].values() for table in tables for row in table["rows"]} == set(book["rows"])


def test_pages_are_written_and_bad_names_told(cfg, capsys):
    eval.tables.run(OmegaConf.create(cfg | {"table": ["voe", "voe-control"], "budget": FOUND}))
    out = Path(cfg["out"]) / FOUND
    assert {path.name for path in out.iterdir()} == {
        f"{name}.{kind}" for name in ("voe", "voe-control") for kind in ("md", "csv", "tex")
    }
    write_run(Path(cfg["runs_dir"]) / "late", "ofpr", ENVS[0], 42, 0.7)
    eval.tables.run(OmegaConf.create(cfg | {"table": "voe", "budget": FOUND, "seeds": 1}))
    assert "voe,voe_support,OFPR-Net,voe/hit_rate,,42,0.7" in (out / "voe.csv").read_text(), "files hold every run there is"
    page = (out / "voe-control.md").read_text()
    assert "### voe-control-part2" in page and "not run" in page and told_of([]) == "no run is there"
    for asked, said in (({"table": "voe-tree"}, "no table 'voe-tree': did you mean 'voe-trees'"),
                        ({"table": "voe", "budget": "5min"}, "no budget '5min'"),
                        ({"table": "cuases"}, "no table 'cuases': did you mean 'causes'"),
                        ({"table": "4", "humans": "people.json"}, "humans= is of tables voe...; .* got 4; leave it out"),
                        ({"table": "voe", "rows": ["OFPR-Ne"]}, "leave out rows=, or name some: did you mean 'OFPR-Net'"),
                        ({"table": "voe", "rows": ["GNN + NLL"]}, "no table asked for has the rows GNN . NLL")):  # fmt: skip
        with pytest.raises(Problem, match=said):
            eval.tables.run(OmegaConf.create(cfg | asked))


def test_stored_runs_fill_the_same_table(cfg, tmp_path):
    """What benchmarks wrote, without a run folder; what is asked otherwise is not run; a damaged file is told."""
    cfg |= {"budget": STORED, "runs_dir": str(tmp_path)}
    metrics = {"voe/hit_rate": 0.75, "voe/control/hit_rate": 0.5, "voe/lawful/hit_rate": 0.5}
    runs = [{"row": row, "env": env, "seed": seed, "epochs": 30, "train_seconds": 60.0,
             "metrics": metrics | {"voe/hit_rate": rate + seed / 10}}
            for row, rate in (("ofpr-whole", 0.75), ("ofpr-no_speeds", 0.1)) for env in ENVS for seed in (0, 1)]  # fmt: skip
    (tmp_path / "voe_labels.json").write_text(json.dumps({"runs": runs}))
    told = {"metrics": metrics, "pairs": {"surprising": 50}, "horizons": [15], "of_clip": "mean"}
    surprise = {
        f"{env.removeprefix('voe_')}/lstm/s0": {"epochs": [4, 40], "fit_s": 30.0, "test": told, "valid": told} for env in ENVS
    }
    (tmp_path / "voe_surprise.json").write_text(
        json.dumps(surprise | {"support/lstm/s1": {"epochs": [1], "fit_s": 1.0, "valid": told}})
    )
    filled = fill(voe_specs(["voe"])[0], cfg)
    assert (
        filled.values["OFPR-Net", 0]["mean"] == {0: 0.75, 1: pytest.approx(0.85)}
        and not filled.values["OFPR-Net, key frames", 0]["A"]
    )
    filled = fill(voe_specs(["voe-control"])[0], cfg)
    assert filled.values["LSTM + memory", 0]["A"] == {0: 0.5} and "50 pairs a category, of split test" in caption(filled, cfg)
    trees = fill(voe_specs(["voe-trees"])[0], cfg)
    assert not any(trees.values[row.name, 0]["A"] for row in trees.rows[1:])
    assert jobs_of([Row.of("OFPR-Net")], cfg) == []
    (tmp_path / "voe_labels.json").write_text("[")
    with pytest.raises(Problem, match="voe_labels.json cannot be read .JSONDecodeError."):
        fill(voe_specs(["voe"])[0], cfg)
