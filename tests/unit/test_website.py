"""The site over all runs: everything inside one file, names escaped, broken runs told, budgets apart."""

import json
import re

import pytest

from envs.problem import Problem
from eval.adaptation import write_page
from eval.pages.frame import framed
from eval.pages.overview import overview_section, runs_section, seeds_section
from eval.pages.paper_section import table_sections
from eval.pages.site import write_site
from eval.runs import read_results, run_folders


@pytest.fixture
def make(tmp_path):
    """make(name, ...) writes a finished run below tmp_path and gives its results."""

    def write(name, seed=0, env="physics5", model="ae", loss="nll", budget="quick", pool=100, structure=None, **metrics):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "config.yaml").touch()
        usual = {"test/hits@1": 50.0, "test/mrr": 60.0, "test/cf_hits@1": 40.0, "plan/success": 30.0}
        usual["plan/success/model_closed"] = usual["plan/success"]
        values = {f"{key}/{h}": value for h in ("h1", "h5", "h10") for key, value in usual.items()}
        results = {
            "run": folder.name, "model": model, "loss": loss, "env": env, "seed": seed,
            "metrics": {**values, "test/cf_hits@1": 40.0, **metrics},
            "protocol": {"budget": budget, "pool": pool, "split": "test", "distinct": {"h1": 9, "h5": 9, "h10": 9}},
            "timing": {}, "setting_hash": f"{model}{loss}{env}", "structure": structure,
        }  # fmt: skip
        (folder / "results.json").write_text(json.dumps(results))
        return results

    return write


def site(folder) -> str:
    return write_site(folder, 0).read_text()


@pytest.fixture
def no_charts(monkeypatch):
    """They take most of a site's time; what is on them is still chosen."""
    for drawn in ("inline_svg", "scatter_chart"):
        monkeypatch.setattr(f"eval.pages.paper_section.{drawn}", lambda *_: "<i>drawn</i>")


def test_nothing_comes_from_outside(make, tmp_path):
    """No address, no file, no font: links lead to places on the page and to the runs' own reports."""
    graph = {"why": "x", "true": [[0, 0], [1, 0]], "edges": {"score": [[0, 0.1], [0.9, 0]], "threshold": 0.5}}
    numbers = {f"structure/edges/{key}": 1.0 for key in ("shd", "precision", "recall", "auroc")}
    make("tables/ae-nll-physics5-2min-s0", **numbers, structure=graph)
    make("other")
    (tmp_path / "other" / "report.html").touch()
    html = site(tmp_path)
    assert not re.search(r"https?:|src=\"(?!data:)|url\((?!#)|@import", html)
    assert set(re.findall(r'href="(?!data:|#)([^"]*)"', html)) == {"other/report.html"}
    for anchor in re.findall(r'<a href="#([^"]+)"', html):
        assert f'id="{anchor}"' in html
    for words in ("Learned edges", "Table 4, budget 2min", "Table 10, budget 2min", "not published", "Spearman", "too few"):
        assert words in html, words


def test_names_are_escaped(make, tmp_path):
    """Also where they are a link, a section, a point."""
    make("a<i>&b", model="<script>alert(1)</script>")
    (tmp_path / "a<i>&b" / "report.html").touch()
    html = site(tmp_path)
    assert "<i>" not in html and "<script>alert" not in html and "a%3Ci%3E%26b/report.html" in html


@pytest.mark.usefixtures("no_charts")
@pytest.mark.parametrize("text", ["", "[]", "{}", '{"metrics": {}}', "\x00\xff"])
def test_broken_results_are_listed(text, make, tmp_path):
    """They stop neither the site nor a table that they belong to."""
    make("tables/ae-nll-physics5-2min-s0")
    make("tables/ae-nll-physics5-2min-s1", seed=1)
    (tmp_path / "tables/ae-nll-physics5-2min-s1/results.json").write_text(text, encoding="latin-1")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "config.yaml").touch()
    html = site(tmp_path)
    assert "1 scored run<" in html and "Unreadable results" in html and "eval/score.py run=" in html
    assert "Without results" in html and "cut" in html


@pytest.mark.parametrize("damage", [{"metrics": {"a": None}}, {"metrics": 3}, {"protocol": {}}, {"protocol": None}])
def test_results_of_another_shape_are_refused(damage, make, tmp_path):
    results = make("run")
    (tmp_path / "run" / "results.json").write_text(json.dumps(results | damage))
    with pytest.raises(Problem, match="make it anew with: python eval/score.py"):
        read_results(tmp_path / "run")


def test_no_runs_are_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(Problem, match="holds no run; make one with"):
            write_site(folder, 0)
    assert not list(tmp_path.iterdir())


def test_runs_are_found(make, tmp_path):
    """In folders of folders; what W&B keeps inside a run or beside the runs is none."""
    make("b"), make("tables/a")
    for inside in ("b/wandb/offline-run/files", "wandb/offline-run/files", ".hidden/run"):
        (tmp_path / inside).mkdir(parents=True)
        (tmp_path / inside / "config.yaml").touch()
    assert [folder.relative_to(tmp_path).as_posix() for folder in run_folders(tmp_path)] == ["b", "tables/a"]


def test_names_that_are_html_stay_words(tmp_path):
    """Names of envs and runs stood in menus, heads and the page of push accuracy as they were."""
    bad = "<img src=x onerror=alert(1)>"
    held = [{"observed": [0, 9], "accuracy": 50.0, "one_answer": 50.0, "ceiling": 90.0, "contacts": 7}]
    protocol = {"split": bad, "episodes": 1, "length": 10, "contacts": 7}
    page = write_page([{"run": bad, "env": bad, "buckets": held, "protocol": protocol}], tmp_path / "page.html")
    assert bad not in framed(bad, bad, {bad: "<p>filled</p>"}) and bad not in page.read_text()


@pytest.mark.usefixtures("no_charts")
def test_budgets_stay_apart(make, tmp_path):
    """A table for each budget; the best is the best of its own env, budget and pool."""
    runs = {tmp_path / "tables" / name: make(f"tables/{name}", **what) for name, what in {
        "ae-nll-physics5-2min-s0": {"test/hits@1/h10": 11.0}, "ae-nll-physics5-2min-s1": {"seed": 1, "test/hits@1/h10": 13.0},
        "ae-nll-physics5-5min-s0": {"test/hits@1/h10": 77.0, "budget": "longer", "pool": 200},
    }.items()}  # fmt: skip
    _, two, five, *_ = table_sections(runs).split("<section class=panel>")
    assert "budget 2min" in two and "12.0 ± 1.4" in two and "77.0" not in two
    assert "budget 5min" in five and "77.0" in five and "12.0" not in five
    best = overview_section(runs)
    assert "13.0 <small>ae + nll" in best and "77.0 <small>ae + nll" in best
    assert "12.00 ± 1.41" in seeds_section(runs) and "77" not in seeds_section(runs)


def test_rates_keep_their_digits(make, tmp_path):
    """A hit rate of .842 read 0.8 beside one of .751 that did, and .953 read 1.0."""
    runs = {tmp_path / name: make(name, **{"voe/hit_rate": rate}) for name, rate in (("a", 0.842), ("b", 0.953))}
    assert "0.953 <small>" in overview_section(runs) and "50.0 <small>" in overview_section(runs)
    every = runs_section(runs, tmp_path)
    assert "0.842" in every and "50.00" in every and "Percent where nothing else is said" in every


def test_the_best_is_the_best_of_its_split_and_horizons(make, tmp_path):
    """A run that was scored on `valid` or even `train` stood for the test, and H@1 after five steps for H@1 after ten."""
    runs = {tmp_path / name: make(name, **{"test/hits@1/h10": best}) for name, best in (("a", 50.0), ("b", 99.0), ("c", 70.0))}
    runs[tmp_path / "b"]["protocol"] |= {"split": "train"}
    runs[tmp_path / "c"]["protocol"] |= {"distinct": {"h1": 9, "h5": 9}}
    runs[tmp_path / "c"]["metrics"]["test/hits@1/h5"] = 60.0
    best = overview_section(runs)
    assert (
        "3 runs in 3 settings" in best
        and all(f"{value} <small>" in best for value in (50.0, 99.0, 60.0))
        and "<td class=text>train</td>" in best
    )


def test_many_runs_stay_quick(make, tmp_path):
    """A hundred runs are a matter of seconds, and every one can be found."""
    for i in range(100):
        make(f"run{i}", seed=i, env=f"physics{i % 5}", model=("ae", "gnn", "mine")[i % 3])
    html = site(tmp_path)
    assert html.count("<tr") > 100 and 'data-finds="all-runs"' in html and len(html) < 2**21
