"""What readers make of files that a fault or a stranger wrote: what is whole is read, else one sentence is told."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import eval.planning.ceilings
from envs.graphs.scm import StructuralCausalModel
from envs.problem import Problem
from eval.figures.curves import loss_curves
from eval.manipulation.controllers import _archive
from eval.planning.goal_distance import load_distance, save_distance
from eval.runs.metrics_csv import losses
from models.goal_distance import SiameseDistance
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
    assert seconds_of(path) == seconds and ("<svg" in loss_curves(losses(path))) == (seconds > 0)
    add_rows(path, COLUMNS, [("j", 1, "seconds", "2")])
    assert seconds_of(path) == seconds + 2 and whole_rows(path, COLUMNS)[-1]["value"] == "2"


def test_an_agents_metrics_are_read_by_the_same_reader(tmp_path):
    pytest.importorskip("stable_baselines3")
    from train.agents.training import _seconds_of

    (tmp_path / "metrics.csv").write_text("steps,reward,success,seconds\n10,1,0,2\n20,1,0,word\n")
    assert _seconds_of(tmp_path / "metrics.csv") == 2
    assert loss_curves(losses(tmp_path / "metrics.csv")) == '<div class="curves"></div>'


def test_a_stage_may_have_any_name(tmp_path):
    """Seen: dollars made a formula of the name, and one that is none ended the report."""
    (tmp_path / "metrics.csv").write_bytes(HEADER + b"j$\\foo$,0,train/loss,2\n")
    assert "j$\\foo$" in loss_curves(losses(tmp_path / "metrics.csv"))


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
    "no last bias of TD3": lambda: archive3(weights={"actor.mu.0.weight": torch.ones(9, 4)}),
    "no bias of 3": lambda: archive3(weights={"action_net.weight": torch.ones(9, 4)}),
    "a header that lacks what to compare": lambda: {**archive3(), "trained_in.json": b"{}"},
    "a header of a list": lambda: {**archive3(), "trained_in.json": b"[]"},
    "brackets without end": lambda: {**archive3(), "data": b"[" * 100_000},
}


@pytest.mark.parametrize("case", AGENTS)
def test_a_crafted_agent_is_told_in_a_sentence(case, tmp_path):
    """Each ended a protocol in a traceback."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name, content in AGENTS[case]().items():
            file.writestr(name, content)
    with pytest.raises(
        Problem, match="a.zip is neither a cloned agent nor an archive of stable-baselines 2 with its `parameters`, or of 3"
    ):
        _archive(tmp_path / "a.zip")


@pytest.mark.parametrize("whole", [archive2, archive3])
def test_a_whole_agent_plays(whole, tmp_path):
    """The archives above differ from these in one thing each."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name, content in whole().items():
            file.writestr(name, content)
    assert _archive(tmp_path / "a.zip")[0].act(np.zeros(4)).shape == (9,)


class Encoded:
    """As much of a model as a predictor knows of."""

    encoder = torch.nn.Linear(2, 2)


PREDICTORS = {
    "an unknown kind": {"kind": "round"},
    "a kind of a list": {"kind": [1]},
    "a size of text": {"size": "6"},
    "a size below zero": {"size": -1},
    "another size": {"size": 7},
    "no weights": {"state": {}},
    "weights of a list": {"state": [1]},
    "an error of text": {"error": "small"},
}


@pytest.mark.parametrize("case", PREDICTORS)
def test_a_crafted_predictor_is_told_in_a_sentence(case, tmp_path):
    """Only what torch itself refused was told; the rest ended planning in a traceback."""
    path = tmp_path / "distance.pt"
    save_distance(path, "siamese", SiameseDistance(6), 0.5, Encoded())
    assert load_distance(path, Encoded())[1] == 0.5
    torch.save({**torch.load(path, weights_only=True), **PREDICTORS[case]}, path)
    with pytest.raises(Problem, match="distance.pt is not a readable predictor .*; remove it and plan again"):
        load_distance(path, Encoded())


KEY = f"version {eval.planning.ceilings.VERSION}, horizons 1, episodes 9, counterfactuals 2"
CEILINGS = {
    "bad bytes": b"\xff\xfe\x80", "brackets without end": b"[" * 100_000, "a list": b"[]", "an entry of 5": b'{"%s": 5}',
    "no ceilings": b'{"%s": {}}', "words": b'{"%s": {"bayes/mrr/h1": "high"}}',
}  # fmt: skip


@pytest.mark.parametrize("case", CEILINGS)
def test_ceilings_that_are_none_are_measured_anew(case, tmp_path, monkeypatch):
    class File:
        path = tmp_path / "data.h5"

    monkeypatch.setattr(eval.planning.ceilings, "measure", lambda *_: {"bayes/mrr/h1": 50.0})
    (tmp_path / "data.h5.ceilings.json").write_bytes(CEILINGS[case].replace(b"%s", KEY.encode()))
    assert eval.planning.ceilings.ceilings(None, File(), [1], 9, 2) == {"bayes/mrr/h1": 50.0}


def a_model():
    return StructuralCausalModel(np.tri(3, k=-1, dtype=bool), 3, np.random.default_rng(0))


MODELS = {
    "halves as graph": lambda held: held.update(parents=held["parents"] * 0.5),
    "whole numbers as graph": lambda held: held.update(parents=held["parents"].astype(int)),
    "weights that are not finite": lambda held: held["inner"].__setitem__(0, np.nan),
    "weights of words": lambda held: held.update(outer=held["outer"].astype(str)),
    "delays of halves": lambda held: held.update(delays=held["parents"] * 1.5),
    "colours without end": lambda held: held.update(num_colors=np.inf),
}


@pytest.mark.parametrize("case", MODELS)
def test_a_causal_model_of_another_make_is_refused(case, tmp_path):
    """A graph of halves was taken for one of edges, and NaN for weights; every board was then drawn alike."""
    a_model().save(tmp_path / "m.npz")
    held = dict(np.load(tmp_path / "m.npz"))
    MODELS[case](held)
    np.savez(tmp_path / "m.npz", **held)
    with pytest.raises(Problem, match="m.npz is not a saved causal model"):
        StructuralCausalModel.load(tmp_path / "m.npz")


def test_every_bit_of_a_causal_model_may_flip(tmp_path):
    """Seen: NotImplementedError, zlib.error and RuntimeError, each of another flipped bit. 300 places, a bit each."""
    path = tmp_path / "m.npz"
    a_model().save(path)
    intact, digest, told = path.read_bytes(), a_model().digest, 0
    for place in range(0, len(intact), max(1, len(intact) // 300)):
        for bit in (1, 32):
            path.write_bytes(intact[:place] + bytes([intact[place] ^ bit]) + intact[place + 1 :])
            try:
                assert StructuralCausalModel.load(path).digest == digest
            except Problem:
                told += 1
    assert told > 300


def test_a_full_disk_keeps_no_part_and_says_which_file(tmp_path, monkeypatch):
    """Causal models, predictors and agents each left a half-written file behind, and named none."""
    write = Path.write_bytes

    def full(self, content):
        write(self, bytes(content)[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left on device: '.*m.npz'"):
        a_model().save(tmp_path / "m.npz")
    with pytest.raises(OSError, match="No space left on device: '.*d.pt'"):
        save_distance(tmp_path / "d.pt", "siamese", SiameseDistance(6), 0.5, Encoded())
    assert not list(tmp_path.iterdir())
