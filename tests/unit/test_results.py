"""Results files of another shape: one bad file is told in a sentence, stops nobody else, and the printed remedy works."""

import json
import re

import pytest
from omegaconf import OmegaConf

from envs.problem import Problem
from eval.pages.site import write_site
from eval.paper.table_specs import read
from eval.planning.kept import _plans_of_before
from eval.probes.score_table import caption, table_rows
from eval.report import _facts, _scores, _settings
from eval.runs import read_results
from eval.score import _before

GRAPH = {"why": "frames", "true": [[0, 0], [1, 0]], "edges": {"score": [[0, 0.1], [0.9, 0]], "threshold": 0.5}}
WHOLE = {
    "run": "r", "model": "ae", "loss": "nll", "env": "physics5", "seed": 0, "setting_hash": "x", "timing": {"score_s": 1.0},
    "metrics": {"test/hits@1/h1": 50.0, "plan/success/h1": 9.0},
    "protocol": {"budget": "quick", "pool": 100, "split": "test", "distinct": {"h1": 9}},
    "plan": {"planners": ["beam"], "timing": {}},
}  # fmt: skip
PROTOCOL = WHOLE["protocol"]
DAMAGE = {
    "no name": {"run": None}, "a number as name": {"run": 5}, "a list as env": {"env": []}, "no seed": {"seed": None},
    "words as seed": {"seed": "0"}, "a list of times": {"timing": [1]}, "words as times": {"timing": {"score_s": "x"}},
    "no plan": {"plan": {}}, "a list as plan": {"plan": [1]}, "NaN": {"metrics": {"a": float("nan")}},
    "weights": {"parameters": [1]}, "pool": {"protocol": PROTOCOL | {"pool": "100"}},
    "horizons": {"protocol": PROTOCOL | {"distinct": {"one": 1}}}, "outcomes": {"protocol": PROTOCOL | {"distinct": [1]}},
    "epochs": {"protocol": PROTOCOL | {"epochs": 3}}, "budget": {"protocol": PROTOCOL | {"budget": {}}},
    "graph": {"structure": [1]}, "scores": {"structure": GRAPH | {"edges": {"score": [[1]], "threshold": 0.5}}},
    "threshold": {"structure": GRAPH | {"edges": {"score": GRAPH["edges"]["score"], "threshold": None}}},
    "truth": {"structure": {"why": "x", "edges": GRAPH["edges"]}},
}  # fmt: skip
BYTES = {"binary": b"\x80\xff\x00", "cut": b'{"run": "r", ', "nothing": b"", "null": b"null", "brackets": b"[" * 100_000}


def write(folder, content):
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").touch()
    (folder / "results.json").write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


@pytest.mark.parametrize("case", [*DAMAGE, *BYTES])
def test_damaged_results_are_one_sentence_with_a_remedy_that_can_be_pasted(case, tmp_path):
    """A name of null, a plan of {} or three bytes once ended the report, or the remedy itself, in a traceback."""
    folder = write(tmp_path / "a run", BYTES[case] if case in BYTES else WHOLE | DAMAGE[case])
    with pytest.raises(Problem, match="make it anew with: python eval/score.py run='.*a run'$"):
        read_results(folder)


def test_one_damaged_file_does_not_take_down_the_site(tmp_path):
    """`"run": null` in one file ended the page over all runs in a traceback; so did a folder in its place."""
    write(tmp_path / "good", WHOLE | {"structure": GRAPH})
    for name, damage in DAMAGE.items():
        write(tmp_path / name, WHOLE | damage)
    for name, content in BYTES.items():
        write(tmp_path / name, content)
    (tmp_path / "folder" / "results.json").mkdir(parents=True)
    (tmp_path / "folder" / "config.yaml").touch()
    html = write_site(tmp_path, 0).read_text()
    assert "<h1>1 scored run</h1>" in html and "Unreadable results" in html
    assert len(re.findall("make it anew with", html)) == len(DAMAGE) + len(BYTES) + 1


def test_the_page_of_old_results_has_a_caption():
    """What a file may leave out is left out."""
    assert "budget quick, seed 0, pool 100" in caption(WHOLE) and table_rows(WHOLE)[1]
    assert "unknown" in _facts(WHOLE)


def test_a_caption_tells_the_unit_of_every_row():
    """Rates of violated causes, from 0 to 1, stood in a table whose caption said percent."""
    rates = WHOLE | {"metrics": WHOLE["metrics"] | {"voe/hit_rate": 0.9}}
    assert caption(WHOLE).endswith("; percent")
    assert caption(rates).endswith("; percent, rates of violated causes from 0 to 1")


def test_the_page_tells_what_made_the_run():
    """Duration, commit, versions and every setting; a page showed the hash of its settings alone."""
    told = _facts(WHOLE | {"timing": {"fit_s": 90.0}, "versions": {"torch": "2.9", "commit": "abc"}, "config_hash": "1f"})
    assert "Training took 1.5 minutes" in told and "Code: torch 2.9, commit abc" in told and "Config 1f" in told
    shown = _settings(OmegaConf.create({"seed": 3, "name": "<b>"}))
    assert "<details>" in shown and "seed: 3" in shown and "<b>" not in shown


@pytest.mark.parametrize(
    "content", [*BYTES.values(), {"plan": {}}, {"timing": [1]}, [1], {"plan": {"planners": []}, "metrics": 3}]
)
def test_scoring_again_replaces_what_is_damaged(content, tmp_path):
    """The printed remedy is eval/score.py, which reads the damaged file too, and once ended in a traceback."""
    path = write(tmp_path / "run", content) / "results.json"
    assert _before(path) == {} and _plans_of_before(path) is None and (content == {"plan": {}} or read(path.parent) is None)


def test_scoring_again_keeps_what_is_whole(tmp_path):
    """Training's times and plans stay, also where another part is damaged."""
    path = write(tmp_path / "run", WHOLE | {"run": None}) / "results.json"
    assert _before(path) == {key: WHOLE[key] for key in ("timing", "plan", "metrics")}
    assert _plans_of_before(path)["plan"] == WHOLE["plan"] and read(path.parent) == WHOLE["metrics"]


def test_a_run_that_was_asked_for_a_picture_alone_has_a_page():
    """probes=[structure] measures no line of the table; the report of such a run ended in a traceback."""
    assert _scores({"metrics": {"structure/reach/shd": 0.0}, "protocol": {"distinct": {"h1": 5}}}) == ""
