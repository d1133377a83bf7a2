"""The page of results: from the ledger alone, whole without a network, and the same numbers as the table."""

import base64
import json
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest

from envs.problem import Problem
from eval.effort.jobs import table_name
from eval.effort.ledger_rows import whole_of
from eval.effort.settings import causes, choice, choose, rows_of
from eval.effort.studies import studies
from eval.pages.results_page import write_results
from eval.pages.row_pairs import compare_rows
from eval.runs.answers import Answers, weighted

ENV, MAIN = "physics5_shuffled", studies()["causes"]


@pytest.fixture
def ledger(tmp_path):
    """Two rows, two seeds, and a gif of each."""
    gifs = tmp_path / "ledger/gifs" / ENV
    gifs.mkdir(parents=True)
    draw, place = np.random.default_rng(0), tmp_path / "ledger"
    (place / ENV).mkdir(parents=True)
    for row, share in zip(rows_of(["edge + InfoNCE", "AE + InfoNCE"]), (0.95, 0.4)):
        scored = {
            n: {f"{kind}/cf_hits@1/mean/h{h}": n for h in (1, 5, 10) for kind in ("test", "floor/copy")} for n in range(8)
        }
        found = choose(place, ENV, row, scored, scored)
        for seed in range(2):
            answers = {f"{name}/h{h}": Answers.of(draw.random(200) < p) for h in (1, 5, 10) for name, p in
                       (("test/hits@1", 0.99), ("floor/copy/hits@1", 0.1), ("test/cf_hits@1/mean", share))}  # fmt: skip
            metrics = {name: float(weighted([one], np.ones((1, 200)))[0, 0]) for name, one in answers.items()}
            final = {"metrics": metrics, "answers": {name: one.packed() for name, one in answers.items()}}
            run = table_name(MAIN, "", row, ENV, found["overrides"], seed)
            rounds = [
                {"round": n, "stage": "joint", "cpu_s": 60.0 * n, "updates": n, "scores": {"final": {"metrics": metrics}}}
                for n in (1, 2, 5, 10)
            ]
            entry = {"run": run, "row": row.name, "env": ENV, "seed": seed, "rounds": rounds, "split": "select",
                     "scores": {"final": final,
                                "select": {"metrics": {f"plan/success/h{h}": 50.0 + seed for h in (1, 5, 10)}}}}  # fmt: skip
            (place / ENV / f"{run}-0.json").write_text(json.dumps(entry))
            if seed == 0:
                (gifs / f"{run}-reached.gif").write_bytes(b"GIF89a")
    return place


@pytest.fixture
def no_charts(monkeypatch):
    """They take most of a page's time; what is on them is still chosen."""
    for drawn in ("inline_svg", "row_chart"):
        monkeypatch.setattr(f"eval.pages.results_page.{drawn}", lambda *_: "<i>drawn</i>")


@pytest.mark.usefixtures("no_charts")
def test_goals_on_other_boards_are_there(ledger, tmp_path):
    """The study that takes the runs of the main one was left out with it."""
    title = "<h3>Goals where a factor is changed</h3>"
    assert title not in write_results(ledger, tmp_path / "none", tmp_path / "out/page").read_text(), "no other board was asked"
    for path in (ledger / ENV).glob("edge_infonce-*.json"):
        path.write_text(
            json.dumps(
                json.loads(path.read_text())
                | {"plans": {"background": {"metrics": {"plan/success/h10": 16.0}, "protocol": {}}}}
            )
        )
    text = write_results(ledger, tmp_path / "none", tmp_path / "out/page").read_text()
    assert title in text and "16.0 {16.0, 16.0}" in text


@pytest.mark.usefixtures("no_charts")
def test_a_picture_is_of_the_weights_that_are_entered(ledger, tmp_path):
    """Trained again under the same name, a run kept the pictures of its weights of before."""
    (path,) = (ledger / ENV).glob("edge_infonce-*-s0-0.json")
    shown = lambda: (  # noqa: E731
        write_results(ledger, tmp_path / "none", tmp_path / "out/page").read_text().count("data:image/gif")
    )
    before, entry = shown(), json.loads(path.read_text())
    assert "data:image/gif" not in write_results(ledger, tmp_path / "none", tmp_path / "out", gifs=False).read_text()
    path.write_text(json.dumps(entry | {"weights": "0123456789ab"}))
    assert before > 0 and shown() == before - 1
    (kept,) = (ledger / "gifs" / ENV).glob(f"{entry['run']}-reached.gif")
    kept.rename(kept.with_name(f"{entry['run']}-0123456789ab-reached.gif"))
    assert shown() == before


def test_the_page_says_what_the_ledger_holds(ledger, tmp_path):
    text = write_results(ledger, tmp_path / "none", tmp_path / "out/page").read_text()
    assert (
        "<b>1 of 2</b> rows, of 2 seeds each, know more than 90 %" in text
        and "would have done under every seed: edge + InfoNCE (" in text
    )
    assert text.index("<b>1 of 2</b> rows") < text.index(f">{ENV}</h2>"), "the answer comes first"
    assert "<b>2</b> rank above 97 %, of which <b>1</b> knows less.</p>" in text
    assert not re.search(r'(src|href)="(?!data:|#)', text), "nothing comes from elsewhere"
    csv = base64.b64decode(re.search(r"data:text/csv;base64,([^\"]+)", text)[1]).decode().splitlines()
    values = [float(line.split(",")[-1]) for line in csv if line.startswith(f"{ENV},edge + InfoNCE,what if,10,end")]
    assert len(values) == 2
    told = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
    best = [one.split(">")[1] for one in re.findall(r"<option[^<]*", text)].index("edge + InfoNCE")
    assert told["scores"]["what if 10"][best] == f"{np.mean(values):.1f}"
    (pair,) = (list(map(float, pair)) for pair in told["apart"]["what if 10"].values())
    assert pair[1] < pair[0] < pair[2] and abs(pair[0]) == pytest.approx(55, abs=6)
    assert (
        "edge + InfoNCE: knows most" in text
        and "AE + InfoNCE: ranks, and does not know" in text
        and text.count("image/gif") == 2
    )
    assert text.count("<svg") == 5, "all rows, three scatters, curves"
    assert "trains its transition from" not in text
    assert "<td class=text>GNN + InfoNCE</td>" in text, "the run that a sentence lacks is named"


@pytest.mark.usefixtures("no_charts")
def test_gifs_of_two_rows_are_shown_where_none_knows(ledger, tmp_path):
    """The row that knew most ranked furthest beyond what it knew as well: it took both places."""
    for path in (ledger / ENV).glob("*-0.json"):
        entry = json.loads(path.read_text())
        scores = {"test/cf_hits@1/mean/h10": 50.0} if entry["row"] == "edge + InfoNCE" else {"test/hits@1/h10": 80.0}
        entry["scores"]["final"]["metrics"] |= scores
        path.write_text(json.dumps(entry))
    text = write_results(ledger, tmp_path / "none", tmp_path / "out/page").read_text()
    assert "edge + InfoNCE: knows most" in text and "AE + InfoNCE: ranks, and does not know" in text


@pytest.mark.usefixtures("no_charts")
def test_who_knows_in_the_mean_alone_is_named_apart(ledger, tmp_path):
    """A row with 89 under one seed and 95 under the other stood among those that know."""
    for seed, value in ((0, 89.0), (1, 95.0)):
        (path,) = (ledger / ENV).glob(f"ae_infonce-*-s{seed}-*.json")
        entry = json.loads(path.read_text())
        entry["scores"]["final"]["metrics"]["test/cf_hits@1/mean/h10"] = value
        path.write_text(json.dumps(entry))
    text = write_results(ledger, tmp_path / "none", tmp_path / "out/page").read_text()
    assert "<b>1 of 2</b> rows" in text and "In the mean of their seeds alone: AE + InfoNCE (92.0)." in text


@pytest.mark.usefixtures("no_charts")
def test_no_row_is_said_to_know_where_worlds_are_drawn(ledger, tmp_path, monkeypatch):
    """Nine of sixteen rows of chemistry were, of which copying has 67 %."""
    monkeypatch.setitem(causes()["worlds"], ENV, {"tune": 0, "table": 10})
    for path in (ledger / ENV).glob("*.json"):
        entry = json.loads(path.read_text())
        path.write_text(json.dumps(entry | {"world": 10 + entry["seed"]}))
    text = write_results(ledger, tmp_path / "runs", tmp_path / "out").read_text()
    assert "Every seed is a drawn world of its own" in text and "of what another action would" not in text


def test_a_difference_is_over_the_drawn_worlds_of_both(ledger, monkeypatch):
    """The page showed that of all worlds of either, beside the interval of those in common."""
    filled = whole_of(MAIN, rows_of(None), ENV, {"ledger": str(ledger), "seeds": 2})[0]
    ae, edge = sorted((one for one in filled if one.entries), key=lambda one: one.label)
    monkeypatch.setitem(causes()["worlds"], ENV, {"tune": 0, "table": 10})
    for seed, value in ((0, 40.0), (1, 90.5)):
        ae.entries[seed]["scores"]["final"]["metrics"]["test/cf_hits@1/mean/h10"] = value
    alone = replace(edge, entries={0: edge.entries[0]})
    found = json.loads(re.search(r'json">(.*?)</script>', compare_rows([alone, ae]))[1])
    told, known = found["apart"]["what if 10"]["0 1"], found["scores"]["what if 10"]
    assert known[1] == "65.2", "as the table rounds a tie"
    assert told == [f"{float(known[0]) - 40.0:.1f}"], "one world in common, and no interval of one"
    assert found["apart"]["goals 10"]["0 1"] == ["0.0"]
    elsewhere = replace(ae, entries={1: ae.entries[1]})
    assert (
        "0 1" not in json.loads(re.search(r'json">(.*?)</script>', compare_rows([alone, elsewhere]))[1])["apart"]["what if 10"]
    )


@pytest.mark.usefixtures("no_charts")
def test_two_worlds_stand_side_by_side(ledger, tmp_path):
    title = "Worlds side by side"
    assert title not in write_results(ledger, tmp_path / "none", tmp_path / "page").read_text(), "one stands beside none"
    (ledger / "physics5").mkdir()
    for path in (ledger / ENV).iterdir():
        entry, (row,) = json.loads(path.read_text()) | {"env": "physics5"}, rows_of([json.loads(path.read_text())["row"]])
        chosen = choice(ledger, "physics5", row)["overrides"]  # those of the first
        entry["run"] = table_name(MAIN, "", row, "physics5", chosen, entry["seed"])
        (ledger / "physics5" / f"{entry['run']}-0.json").write_text(json.dumps(entry))
    text = write_results(ledger, tmp_path / "none", tmp_path / "page").read_text()
    assert title in text and "physics5: what if 1 / 10" in text


@pytest.mark.usefixtures("no_charts")
def test_what_all_rows_know_is_said_of_none_to_be_lacking(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("eval.effort.claims.KNOWS", 30.0)
    assert "does not know" not in write_results(ledger, tmp_path / "none", tmp_path / "page").read_text()


@pytest.mark.usefixtures("no_charts")
def test_what_is_damaged_is_left_out_and_the_rest_is_shown(ledger, tmp_path, capsys):
    """One entry cut off ended the page; answers that unpack to nothing the whole table of a world."""
    one, other = sorted((ledger / ENV).glob("*-s1-*.json"))
    one.write_text(one.read_text()[:100])
    text = write_results(ledger, tmp_path / "none", tmp_path / "page").read_text()
    assert "of 2 seeds each" in text and f"{ENV}, AE + InfoNCE: left out; " in capsys.readouterr().out
    entry = json.loads(other.read_text())
    entry["scores"]["final"]["answers"]["test/hits@1/h10"] = "no answers"
    other.write_text(json.dumps(entry))
    with pytest.raises(Problem, match="holds no run of table causes"):
        write_results(ledger, tmp_path / "none", tmp_path / "page")
    assert "the ledger's answers of edge + InfoNCE on physics5_shuffled are damaged" in capsys.readouterr().out


@pytest.mark.usefixtures("no_charts")
def test_seeds_of_another_study_are_its_own(ledger, tmp_path):
    """Of three seeds of a study those were left out that the main one had not."""
    (study, (row, *_)), seeds = (studies()["causes-published"], studies()["causes-published"].rows_of(None)), range(4)
    for seed in seeds:
        run = table_name(study, "", row, ENV, study.settings(ledger, ENV, row), seed)
        final = {"metrics": {f"test/{name}/h10": 40.0 + seed for name in ("hits@1", "cf_hits@1/mean")}}
        entry = {"run": run, "row": row.name, "env": ENV, "seed": seed, "rounds": [], "scores": {"final": final}}
        (ledger / ENV / f"{run}-0.json").write_text(json.dumps(entry))
    text = write_results(ledger, tmp_path / "none", tmp_path / "page").read_text()
    assert f"seeds 0 to {seeds[-1]} at most" in text.split(f"<h3>{escape(study.title.capitalize())}</h3>")[1]


def test_an_empty_ledger_is_told(tmp_path):
    with pytest.raises(Problem, match="holds no run of table causes"):
        write_results(tmp_path, tmp_path, tmp_path)
