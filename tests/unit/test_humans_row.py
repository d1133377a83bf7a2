"""The row of people in the table of violated expectations, beside the stored models."""

import json

import pytest
from omegaconf import OmegaConf

import eval.tables
from envs.problem import Problem
from eval.paper.voe_humans import HUMANS, read_humans, with_humans
from eval.paper.voe_stored import STORED
from eval.paper.voe_table import fill, voe_specs
from eval.paper.voe_text import caption, lines

RATES = {"support": 0.9, "occlusion": 0.8, "containment": 1.0, "collision": 0.7, "barrier": 0.6}


@pytest.fixture
def analysis(tmp_path):
    """analysis.json of a made-up study; the second sub-type of barrier has no trial."""
    categories = {
        category: {"letter": letter, "trials": 50, "metrics": {"voe/hit_rate": rate, f"voe/hit_rate/{letter}1": rate - 0.1}}
        for letter, (category, rate) in zip("ABCDE", RATES.items())
    }
    path = tmp_path / "analysis.json"
    path.write_text(json.dumps({"study": "0123456789ab", "accepted": 50, "finished": 61, "categories": categories}))
    return path


@pytest.fixture
def cfg(root, tmp_path):
    """Of the stored table."""
    return {"budget": STORED, "seeds": 10, "runs_dir": str(root / "results"), "rows": None, "run_missing": False,
            "figure": None, "out": str(tmp_path / "out"), "humans": None}  # fmt: skip


def test_people_are_a_row_where_they_are_named(analysis, cfg):
    """With their sub-types and their mean, told in the caption; nothing changes without them."""
    plain = fill(voe_specs(["voe"])[0], cfg)
    assert with_humans(plain, None) is plain
    filled = with_humans(plain, read_humans(str(analysis)))
    header, rows = lines(filled, cfg)
    found = dict(zip(header, next(row for row in rows if row[0] == HUMANS)))
    assert [found[name] for name in header[1:]] == ["0.900", "0.800", "1.000", "0.700", "0.600", "0.800"]
    subtypes = [row for row in rows if row[0].startswith(f"{HUMANS}: ")]
    assert subtypes[0] == [f"{HUMANS}: A1, B1, C1, D1, E1", "0.800", "0.700", "0.900", "0.600", "0.500", ""]
    assert subtypes[2] == [f"{HUMANS}: D3, E3", "", "", "", "not run", "not run", ""]
    assert "50 accepted of 61 participants of study 0123456789ab, 50 trials a category" in caption(filled, cfg)
    without = [row for row in rows if not row[0].startswith(HUMANS)]
    assert (header, without) == lines(plain, cfg) and caption(filled, cfg).startswith(caption(plain, cfg))


def test_other_tables_have_no_people(analysis, cfg):
    """Controls were not shown to them."""
    control = fill(voe_specs(["voe-control"])[0], cfg)
    assert with_humans(control, read_humans(str(analysis))) is control


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"categories": []}', '{"categories": {"support": {"letter": "A"}}}'])
def test_another_file_is_told(analysis, cfg, content, monkeypatch):
    """With the command that makes one; so is a missing one. Both before anything is trained."""
    monkeypatch.setattr(eval.tables, "_run_missing", lambda *_, **__: pytest.fail("it trained first"))
    analysis.write_text(content)
    for path in (analysis, analysis.with_name("none.json")):
        with pytest.raises(Problem, match="is no analysis of a human trial .*python -m eval.humans analyse"):
            eval.tables.run(OmegaConf.create(cfg | {"table": "voe", "humans": str(path)}))


def test_the_command_writes_the_row(analysis, cfg, capsys):
    """Into all three files of the page."""
    eval.tables.run(OmegaConf.create(cfg | {"table": "voe", "humans": str(analysis)}))
    for kind in ("md", "csv", "tex"):
        assert HUMANS in (analysis.parent / "out" / STORED / f"voe.{kind}").read_text()
