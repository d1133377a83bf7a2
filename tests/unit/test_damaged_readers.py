"""What readers make of files that a fault or a stranger wrote: what is whole is read, else one sentence is told."""

import io
import json
import zipfile

import numpy as np
import pytest
import torch

from envs.problem import Problem
from eval.page import loss_curves
from eval.policies import _archive
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


def saved(save, content) -> bytes:
    raw = io.BytesIO()
    save(raw, content)
    return raw.getvalue()


def layers(**changed) -> dict[str, np.ndarray]:
    """The arrays of an agent of stable-baselines 2 for four numbers."""
    arrays = {"pi_fc0/w": np.ones((4, 3)), "pi_fc0/b": np.ones(3), "pi/w": np.ones((3, 9)), "pi/b": np.ones(9), **changed}
    return {name: array for name, array in arrays.items() if array is not None}


def archive2(**changed) -> dict[str, bytes]:
    return {"parameters": saved(lambda file, arrays: np.savez(file, **arrays), layers(**changed))}


def archive3(data=None, weights=None) -> dict[str, bytes]:
    """An agent of stable-baselines3 for four numbers."""
    own = {"action_net.weight": torch.ones(9, 4), "action_net.bias": torch.ones(9)}
    return {"data": json.dumps({} if data is None else data).encode(),
            "policy.pth": saved(lambda file, held: torch.save(held, file), own if weights is None else weights)}  # fmt: skip


AGENTS = {
    "an array in place of many": lambda: {"parameters": saved(np.save, np.ones(3))},
    "an array of objects": lambda: {"parameters": saved(np.save, np.array([{}]))},
    "one of objects": lambda: archive2(**{"pi/w": np.array([[{}]])}),
    "no bias": lambda: archive2(**{"pi_fc0/b": None}),
    "no last bias": lambda: archive2(**{"pi/b": None}),
    "layers that do not fit": lambda: archive2(**{"pi/w": np.ones((5, 9))}),
    "too few actions": lambda: archive2(**{"pi/w": np.ones((3, 2)), "pi/b": np.ones(2)}),
    "weights of no numbers": lambda: archive2(**{"pi/w": np.full((3, 9), np.nan)}),
    "a number as layer": lambda: archive2(**{"pi_fc0/w": np.array(1.0)}),
    "data of a list": lambda: archive3(data=[]),
    "arguments of a list": lambda: archive3(data={"policy_kwargs": [1]}),
    "weights of a list": lambda: archive3(weights=[1]),
    "a number as weights": lambda: archive3(weights={"action_net.weight": 1, "action_net.bias": 2}),
    "no bias of 3": lambda: archive3(weights={"action_net.weight": torch.ones(9, 4)}),
    "brackets without end": lambda: {**archive3(), "data": b"[" * 100_000},
}


@pytest.mark.parametrize("case", AGENTS)
def test_a_crafted_agent_is_told_in_a_sentence(case, tmp_path):
    """Each ended a protocol in a traceback."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name, content in AGENTS[case]().items():
            file.writestr(name, content)
    with pytest.raises(Problem, match="a.zip is not an archive of stable-baselines 2 with its `parameters`, or of 3"):
        _archive(tmp_path / "a.zip", 4)


@pytest.mark.parametrize("whole", [archive2, archive3])
def test_a_whole_agent_plays(whole, tmp_path):
    """The archives above differ from these in one thing each."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name, content in whole().items():
            file.writestr(name, content)
    assert _archive(tmp_path / "a.zip", 4)(np.zeros(4)).shape == (9,)
