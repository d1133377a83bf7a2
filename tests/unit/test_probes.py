"""Measurements: a new one is one file, what a world cannot answer is not asked, and what is asked by name is refused."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import eval.probes
from envs.collect import collect
from envs.frames import frame_ids
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.spec import Action, EnvSpec, Observation
from eval.dashboard import panels_of
from eval.pages.overview import overview_section, runs_section
from eval.probes import every_probe, every_row
from eval.probes.data import Data
from eval.probes.probe import Row
from eval.probes.score_table import caption, table_rows
from eval.probes.sensitivity import pairs
from eval.rollouts import branch, counterfactual_outcomes, counterfactual_ranks
from eval.runs import Run
from eval.score import measure, probes_of
from eval.terminal import Steps
from train.callbacks import Sensitivity

RNG = np.random.default_rng
TOY = '''
"""How far the model predicts the latents to travel."""

from eval.probes.probe import Row, probe


@probe(rows=(
    Row("toy/travel/", "travelled distance", percent=False, higher_is_better=False),
    Row("toy/ceiling/", "of light", "ceiling", "toy/travel/"),
))
def travel(run, data):
    metrics = {f"toy/travel/h{h}": float((data.predicted(h) - data.start).norm(dim=-1).mean()) for h in data.horizons}
    return metrics | {"toy/ceiling/h1": 99.0}
'''


class Line:
    """A film of a disc on a line, and nothing that could be done: its place x in [0, 1) moves on by .05 a frame."""

    spec = EnvSpec({"places": Observation("places", (1, 1), "real", 0.01)}, Action(0), 1)
    observation, row_bytes = "places", 8
    shown = spec.shown("places")

    def header(self):
        return {"world": "Line"}

    def save_beside(self, path): ...

    def record(self, split, rng, episodes):
        lengths = np.where(np.arange(episodes) % 3, split["length"] + 1, 2)  # every third film ends early
        starts = rng.integers(0, 10, episodes) / 10
        places = np.concatenate([start + 0.05 * np.arange(n) for start, n in zip(starts, lengths)])
        places += rng.uniform(-0.001, 0.001, len(places))  # below the resolution
        seen = np.concatenate([np.arange(n) == 1 for n in lengths])
        return {"places": places.astype(np.float32)[:, None, None], "event_second_frame": seen}, lengths


class Moving:
    """Knows by how much the disc moves on."""

    device, decoder = "cpu", None

    def encode(self, obs):
        return obs.float()

    def rollout(self, latent, actions):
        return latent[:, None] + 0.05 * torch.arange(1, actions.shape[1] + 1)[:, None, None]


def scored(tmp_path, names=None, horizons=(1, 4)):
    """A film of a disc, scored: (metrics, results as the pages read them)."""
    world = Line()
    env = {"name": "line", "splits": {"test": {"episodes": 60, "length": 5, "seed": 1, "camera": "left"}}}
    run = Run(Moving(), world=world)
    data = Data(run, collect(env, world, "test", tmp_path, quiet=True), list(horizons), 1000, 10)
    with Steps("scoring", 3, quiet=True) as progress:
        metrics = measure(run, data, probes_of(run, names), progress)
    facts = {"run": "r", "model": "m", "loss": "l", "env": "line", "seed": 0, "timing": {}, "setting_hash": "x"}
    return metrics, facts | {"metrics": metrics, "protocol": {**data.protocol, "budget": "quick"}}


def test_a_source_that_only_records_is_scored(tmp_path):
    """Ranking with floors, by resolution, over the films that are long enough; nothing that would ask it to go on."""
    metrics, results = scored(tmp_path)
    protocol = results["protocol"]
    assert protocol["episodes"] == 40 and protocol["too_short"] == 20 and "20 shorter episodes left out" in caption(results)
    assert protocol["distinct"]["h1"] <= 21 < 40  # ten places, each on either side of a border at most
    assert metrics["test/hits@1/h4"] > 60 > metrics["floor/copy/hits@1/h4"]
    assert metrics["test/hits@1/second_frame/h4"] == metrics["test/hits@1/h4"]  # the event of a column of the file
    assert not any(key.startswith(("test/cf_", "test/smallest_gap", "structure", "bayes")) for key in metrics)
    labels = [label for label, *_ in table_rows(results)[1]]
    assert "H@1" in labels and "  floor: copy the start" in labels and "H@1 where second frame" in labels


def test_a_split_has_the_keys_of_its_world(tmp_path):
    """They decide the file, and boards' own keys are not asked of others."""
    for camera in ("left", "right"):
        env = {"name": "line", "splits": {"test": {"episodes": 3, "length": 5, "seed": 1, "camera": camera}}}
        assert collect(env, Line(), "test", tmp_path, quiet=True).header["camera"] == camera
    assert len(list(tmp_path.glob("*.h5"))) == 2


def test_a_new_metric_is_one_file(tmp_path, monkeypatch):
    """Its rows stand in the score table, the overview, the list of runs and the dashboard; nothing else was written."""
    folder = tmp_path / "probes"
    folder.mkdir()
    (folder / "travel.py").write_text(TOY)
    monkeypatch.setattr(eval.probes, "__path__", [*eval.probes.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, "eval.probes.travel", raising=False)
    metrics, results = scored(tmp_path)
    assert metrics["toy/travel/h4"] == pytest.approx(0.2)
    table = table_rows(results)[1]
    here = [label for label, *_ in table].index("travelled distance")
    assert table[here][1:] == ["0.05", "0.20"] and table[here + 1] == ["  ceiling: of light", "99.00", ""]
    page = overview_section({tmp_path: results})
    assert "travelled distance, last step" in page
    runs = runs_section({tmp_path / "a": results}, tmp_path)
    assert "<th>travelled distance h1</th>" in runs.replace(' scope="col"', "") and "travelled distance h4" in runs
    panels = panels_of([results])
    assert panels["travelled distance, 4 steps"] == ("toy/travel/h4", (None, None))
    assert panels["H@1, 1 step"] == ("test/hits@1/h1", (0, 100))
    only, _ = scored(tmp_path, ["travel"])
    assert only.keys() == {"toy/travel/h1", "toy/travel/h4", "toy/ceiling/h1"}
    sys.modules.pop("eval.probes.travel")


@pytest.mark.parametrize("name, said", [
    ("counterfactual", "asks a world for Simulator, which Line does not answer .it has no .*candidates.*; leave it out of"),
    ("structure", "probe 'structure' asks a world for Simulator and CausalTables, which Line does not answer"),
    ("reconstruction", "probe 'reconstruction' asks a decoder, and the model has none"),
    ("success", "probe 'success' is measured by another command"),
    ("latent", "there is no probe 'latent': did you mean 'latents'"),
])  # fmt: skip
def test_a_probe_that_cannot_be_asked_is_refused(name, said):
    with pytest.raises(Problem, match=said):
        probes_of(Run(Moving(), world=Line()), ["ranking_pool", name])


def test_rows_are_told_apart():
    """No key twice, every bound belongs to a score, and a kind that is none is refused."""
    rows = every_row()
    keys = [row.key for row in rows]
    assert len(set(keys)) == len(keys) and {row.of for row in rows} - {""} <= set(keys)
    names = [one.name for one in every_probe()]
    assert len(set(names)) == len(names) and names[0] == "ranking_pool"
    with pytest.raises(ValueError, match="has no kind 'sore'; known: score"):
        Row("a/", "a", "sore")


def test_gaps_are_not_asked_of_a_world_that_only_records():
    """Nothing is logged, where a world that can be set would be asked."""
    logged = []
    Sensitivity(Line()).on_validation_epoch_end(None, SimpleNamespace(log=lambda *told, **how: logged.append(told)))
    assert logged == []


def test_what_is_not_shown_is_not_missed():
    """Setting a mass changes no observation: its gap is none, and no encoder is blamed for it."""

    class Massive(PhysicsWorld):
        def variables(self, boards):
            return (*super().variables(boards), "mass")

        def intervene(self, boards, variable, rng):
            return boards if variable == "mass" else super().intervene(boards, variable, rng)

    assert list(pairs(Massive(3), 8).altered) == ["object_0", "object_1", "object_2"]


# -- actions that cannot be counted ------------------------------------------------------------------------------------


class Walkers:
    """B points in a plane."""

    def __init__(self, places):
        self.places = places

    def __len__(self):
        return len(self.places)

    def take(self, index):
        return Walkers(self.places[index])


class Plane:
    """A point is pushed by a vector, and stops at a wall: all pushes beyond it have one outcome."""

    spec = EnvSpec({"places": Observation("places", (1, 2), "real", 0.001)}, Action(2, low=(-1, -1), high=(1, 1)), 1)
    shown = spec.shown("places")

    def pack(self, state):
        return state.places

    def unpack(self, rows):
        return Walkers(np.array(rows))

    def noise(self, batch, rng): ...

    def step(self, state, action, noise):
        return Walkers(np.clip(state.places + action, -1, 1)), np.zeros(len(state), bool)

    def observe(self, state, column=None):
        return state.places[:, None].astype(np.float32)

    def candidates(self, action, rng, count):
        drawn = rng.uniform(-1, 1, (len(action), count, 2))
        drawn[:, 0] = action
        return drawn


class Pushed(Moving):
    """Adds the push up and knows the wall."""

    def rollout(self, latent, actions):
        steps = []
        for action in actions.unbind(1):
            latent = (latent + action[:, None]).clamp(-1, 1)
            steps.append(latent)
        return torch.stack(steps, 1)


@pytest.mark.parametrize("horizon", [1, 4])
def test_what_if_of_vectors(horizon):
    """Sequences differ in one step, the one recorded stands among them; who knows the rule is right about all of them."""
    world, rng = Plane(), RNG(0)
    state, action = rng.uniform(-1, 1, (30, 2)), rng.uniform(-1, 1, (30, 5, 2)).astype(np.float32)
    sequences, outcomes, outcome, _ = counterfactual_outcomes(world, state, action, horizon, RNG(1), 7)
    assert sequences.shape == (30, 7, horizon, 2) and outcome.shape == (30, 7) and sequences.dtype == np.float32
    differs = (sequences != action[:, None, :horizon]).any(-1)
    assert not differs[:, 0].any() and (differs[:, 1:].sum(2) == 1).all() and (differs.any(1).sum(1) == 1).all()
    model = Pushed()
    start = torch.from_numpy(world.observe(world.unpack(state)))
    ends = branch(model, start, sequences, world.spec)[:, :, 0]
    assert np.allclose(ends, outcomes.places[outcome], atol=1e-5)
    found = counterfactual_ranks(model, world, world.observe(world.unpack(state)), state, action, horizon, RNG(1))
    assert found.model.shape == (30, 25) and (found.model == 0).mean() > 0.99 > (found.copy == 0).mean() + 0.5


def test_real_observations_are_the_same_within_a_resolution():
    """Rounded to it; without one, equal bytes alone."""
    places = np.array([[0.1], [0.1004], [0.2], [-0.0], [0.0]], np.float32)
    names = frame_ids(places, 0.01)
    assert names[0] == names[1] != names[2] and names[3] == names[4]
    assert len(set(frame_ids(places).tolist())) == 5
