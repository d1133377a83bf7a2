"""What readers make of files that a fault or a stranger wrote: what is whole is read, else one sentence is told."""

import json
import zlib

import numpy as np
import pytest

from envs.problem import Problem
from eval.page import loss_curves
from train.callbacks import COLUMNS, seconds_of
from train.metrics_csv import add_rows, whole_rows

HEADER, ROWS = b"stage,epoch,metric,value\n", b"j,0,train/loss,2\nj,0,seconds,1.5\n"
METRICS = {
    "another header": (b"a,b\n1,2\n", 0),
    "words in place of numbers": (HEADER + ROWS + b"j,one,train/loss,3\nj,1,seconds,word\n", 1.5),
    "bad bytes": (HEADER + b"\xff\xfe,\x80,seconds,\xc0\n" + ROWS, 1.5),
    "a cell too many": (HEADER + b"j,1,seconds,1,1\n" + ROWS, 1.5),
    "a cell of megabytes": (HEADER + b"j,1,seconds," + b"1" * 200_000 + b"\n" + ROWS, 1.5),
    "halves of epochs": (HEADER + b"j,.5,seconds,1\n" + ROWS, 1.5),
    "no text at all": (bytes(range(256)), 0),
}


@pytest.mark.parametrize("case", METRICS)
def test_rows_whose_numbers_are_none_are_passed_over(case, tmp_path):
    """Each ended a report, a resume or a dashboard in a traceback: three readers had three opinions."""
    content, seconds = METRICS[case]
    path = tmp_path / "metrics.csv"
    path.write_bytes(content)
    assert seconds_of(path) == seconds and ("<svg" in loss_curves(path)) == (seconds > 0)
    add_rows(path, COLUMNS, [("j", 1, "seconds", "2")])
    assert seconds_of(path) == seconds + 2 and whole_rows(path, COLUMNS)[-1]["value"] == "2"


def test_an_agents_metrics_are_read_by_the_same_reader(tmp_path):
    pytest.importorskip("stable_baselines3")
    from train.agent_parts import _seconds_of

    (tmp_path / "metrics.csv").write_text("steps,reward,success,seconds\n10,1,0,2\n20,1,0,word\n")
    assert _seconds_of(tmp_path / "metrics.csv") == 2
    assert loss_curves(tmp_path / "metrics.csv") == '<div class="curves"></div>'


def test_a_stage_may_have_any_name(tmp_path):
    """Seen: dollars made a formula of the name, and one that is none ended the report."""
    (tmp_path / "metrics.csv").write_bytes(HEADER + b"j$\\foo$,0,train/loss,2\n")
    assert "j$\\foo$" in loss_curves(tmp_path / "metrics.csv")
