"""From nothing to the hidden-weights curve, as a user types it: a model with memory and one without, one chart."""

import json
import shutil

import pytest


@pytest.fixture(scope="module")
def runs(tmp_path_factory, fitted_here, small):
    """A finished small run with memory on weights that nothing tells, and its copy under another name."""
    here = tmp_path_factory.mktemp("elsewhere")
    fitted_here(
        *small, "model=lstm", "loss=memory", "env=physics5_hidden", "name=first", "data_dir=d", "runs_dir=r",
        "env.splits.long.episodes=20", "env.splits.long.length=30", "score.horizons=[1]", "score.counterfactuals=0",
        cwd=here,
    )  # fmt: skip
    shutil.copytree(here / "r" / "first", here / "r" / "second")
    config = here / "r" / "second" / "config.yaml"
    config.write_text(config.read_text().replace("name: first", "name: second"))
    return here


def test_one_chart_for_two_runs(runs, command_here):
    """The table names both runs, floor, ceiling and protocol; each run folder gets its numbers, the first the page."""
    done = command_here("eval/adaptation.py", "run=[r/first,r/second]", cwd=runs)
    assert done.returncode == 0, done.stderr[-2000:]
    said = " ".join(done.stdout.split())
    for line in ("observed steps", "20-29", "first", "second", "one answer", "ceiling", "20 episodes of 30 steps", "chance 50"):
        assert line in said
    for name in ("first", "second"):
        results = json.loads((runs / "r" / name / "adaptation.json").read_text())
        assert [b["observed"] for b in results["buckets"]] == [[0, 9], [10, 19], [20, 29]]
        assert sum(b["contacts"] for b in results["buckets"]) == results["protocol"]["contacts"]
        assert all(0 <= value <= 100 for value in results["metrics"].values())
    page = (runs / "r" / "first" / "adaptation.html").read_text()
    assert "<svg" in page and not (runs / "r" / "second" / "adaptation.html").exists()


def test_another_data_set_is_no_line_of_the_chart(runs, command_here):
    """Seen: runs measured on other episodes ended in a traceback of the chart, and short ones wrote NaN into the file."""
    config = runs / "r" / "second" / "config.yaml"
    longer = config.read_text()
    config.write_text(longer.replace("length: 30", "length: 40"))
    done = command_here("eval/adaptation.py", "run=[r/first,r/second]", cwd=runs)
    assert (
        done.returncode == 1 and "first and second were measured on other contacts (protocol" in " ".join(done.stderr.split())
    )
    config.write_text(longer)
    assert command_here("eval/adaptation.py", "run=r/second", "split=test", cwd=runs).returncode == 0
    results = json.loads((runs / "r" / "second" / "adaptation.json").read_text())
    assert list(results["metrics"]) == ["adapt/push_accuracy"], "ten actions hold no late contact"


def test_visible_weights_are_refused(runs, command_here):
    """Without hidden weights there is nothing to measure, and the sentence says so."""
    config = runs / "r" / "first" / "config.yaml"
    hidden = config.read_text()
    config.write_text(hidden.replace("hidden_weights: true", "hidden_weights: false"))
    done = command_here("eval/adaptation.py", "run=r/first", cwd=runs)
    config.write_text(hidden)
    assert done.returncode == 1 and "use a run on env=physics5_hidden" in " ".join(done.stderr.split())
