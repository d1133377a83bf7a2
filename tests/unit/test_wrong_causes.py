"""Which cause a model got wrong: one that knows a cause is right in both spaces,
one that does not is as wrong as the cause is strong."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from envs.protocols import SPACES
from envs.spec import Action, EnvSpec, Observation
from eval.figures.cause_plot import cause_plot, worst
from eval.probes.probe import Row
from eval.probes.score_table import rows_of
from eval.probes.wrong_causes import wrong_causes

TABLE = Observation("objects", (1, 4), values="real", resolution=1e-3)


class Sledges:
    """States of `Ice`: place, mass, paint (B, 3)."""

    def __init__(self, rows):
        self.rows = np.asarray(rows, np.float32)

    def __len__(self):
        return len(self.rows)

    def take(self, index):
        return Sledges(self.rows[index])


class Ice:
    """A sledge on a line goes as far as the push over its mass.
    Mass and paint can be set; a heavy one is refused now and then."""

    spec, observation, shown = EnvSpec({"objects": TABLE}, Action(1), 1), "objects", TABLE

    def reset(self, batch, rng, mode): ...
    def noise(self, batch, rng): ...
    def candidates(self, action, rng, count): ...

    def pack(self, state):
        return state.rows

    def unpack(self, rows):
        return Sledges(rows)

    def step(self, state, action, noise=None):
        rows = state.rows.copy()
        rows[:, 0] += action[:, 0] / rows[:, 1]
        return Sledges(rows), np.zeros(len(state), bool)

    def observe(self, state, column=None):
        place, mass, paint = state.rows.T
        return np.stack([place, 0 * place, mass, paint], -1)[:, None]

    def blocks(self, table):
        return table

    def positions(self, table):
        return table[..., [0, 1, 1]]

    def poses(self, table): ...
    def tips(self, table): ...

    def causes(self):
        return "mass", "paint"

    def set_cause(self, state, cause, space, rng):
        rows, low = state.rows.copy(), {"a": 1, "b": 4}[space]
        rows[:, 1 + self.causes().index(cause)] = rng.uniform(low, 2 * low, len(rows))
        return Sledges(rows), rng.random(len(rows)) < (0.5 if (cause, space) == ("mass", "b") else 1.1)


class Model(torch.nn.Module):
    """knows: whether it reads the mass, else it takes 1.5 for it; fooled: paint moves it as well."""

    device, decoder = torch.device("cpu"), True

    def __init__(self, knows, fooled=False):
        super().__init__()
        self.knows, self.fooled = knows, fooled

    def encode(self, obs):
        return obs.float()

    def decode(self, latent):
        return latent

    def rollout(self, latent, actions):
        mass = latent[:, 0, 2] if self.knows else torch.full((len(latent),), 1.5)
        way = (actions[..., 0] / mass[:, None]).cumsum(1) + (0.01 * latent[:, 0, 3:] if self.fooled else 0)
        path = latent[:, None].repeat(1, actions.shape[1], 1, 1)
        path[:, :, 0, 0] += way
        return path


def asked(model, count=200):
    rng = np.random.default_rng(0)
    state = np.stack([rng.uniform(0, 1, (count, 4)), np.full((count, 4), 1.5), np.ones((count, 4))], -1)
    action = rng.uniform(0.01, 0.1, (count, 4, 1)).astype(np.float32)
    moved = np.arange(count) % 4 > 0
    data = SimpleNamespace(
        horizons=[1, 3], state=state, action=action, actions=torch.from_numpy(action),
        protocol={"distinct": {"h1": 1, "h3": 1}}, arrays={}, say=lambda text: None,
        events=lambda h: {"moved": moved}, data_dir=None,
        file=SimpleNamespace(header={}, path=Path("sledges.h5")),
    )  # fmt: skip
    run = SimpleNamespace(world=Ice(), model=model)
    assert wrong_causes.why_not(run) is None
    return wrong_causes(run, data), data


def test_who_knows_the_cause_is_right_in_both_spaces():
    found, data = asked(Model(knows=True))
    for cause in ("nothing", "mass", "paint"):
        for space in SPACES:
            assert found[f"test/cause/{cause}/{space}/hits@1/h3"] == 100
            assert found[f"test/cause/{cause}/{space}/block_error/h3"] == pytest.approx(0, abs=1e-4)
    assert data.arrays["causes"]["nothing, A"] == 150  # of 200, those in which something moves
    assert data.arrays["causes"]["mass, A"] == 150 > data.arrays["causes"]["mass, B"] > 40


def test_who_does_not_is_as_wrong_as_the_cause_is_strong():
    found, _ = asked(Model(knows=False))
    assert found["test/cause/nothing/a/block_error/h3"] == pytest.approx(0, abs=1e-4)
    for space in SPACES:
        error, effect = (found[f"test/cause/mass/{space}/{kind}/h3"] for kind in ("block_error", "effect"))
        assert error == pytest.approx(effect, rel=1e-3) and error > 10
    assert found["test/cause/mass/b/block_error/h3"] > 2 * found["test/cause/mass/a/block_error/h3"]


def test_what_causes_nothing_must_not_be_believed():
    """Paint moves no sledge; a model that it moves is told so."""
    fooled, right = asked(Model(knows=True, fooled=True))[0], asked(Model(knows=True))[0]
    assert right["test/cause/paint/b/effect/h3"] == 0
    assert fooled["test/cause/paint/b/block_error/h3"] > 30 > 5 > right["test/cause/paint/b/block_error/h3"]


def test_what_is_not_seen_is_told_apart_from_what_is_not_known():
    """A model whose decoder is a centimetre off errs by it on true outcomes too; one that errs of the cause alone does not."""
    blurred = Model(knows=True)
    blurred.decode = lambda latent: latent + torch.tensor([0.01, 0, 0, 0])
    for model, eyes in ((blurred, 10), (Model(knows=False), 0)):
        found, _ = asked(model)
        for cause in ("nothing", "mass", "paint"):
            assert found[f"test/cause/{cause}/b/eyes/h3"] == pytest.approx(eyes, abs=1e-3)
    assert found["test/cause/mass/b/block_error/h3"] > 10


def test_the_pool_of_every_cause_is_told():
    """Causes are not compared over pools of other sizes."""
    found, data = asked(Model(knows=True))
    assert found["test/cause/nothing/a/states"] == found["test/cause/nothing/b/states"] == 150
    assert found["test/cause/mass/b/states"] == data.arrays["causes"]["mass, B"] < 150


def test_where_nothing_moves_no_cause_is_asked():
    found, data = asked(Model(knows=True), count=1)
    assert found == {} and "causes" not in data.protocol


def test_every_cause_has_its_rows():
    rows = rows_of({"protocol": {"events": {}, "causes": ["nothing", "block mass"]}})
    labels = {row.key: row.label for row in rows if row.key.startswith("test/cause/")}
    assert labels["test/cause/block_mass/b/hits@1/"] == "H@1 with block mass of space B" and len(labels) == 2 * 2 * 6
    bound = next(row for row in rows if row.key == "test/cause/block_mass/b/eyes/")
    assert (bound.kind, bound.of, bound.label) == (
        "comparison",
        "test/cause/block_mass/b/block_error/",
        "read off true outcomes",
    )
    assert Row("a/{cause}/", "of {cause}").of_cause("block mass") == Row("a/block_mass/", "of block mass", horizons=())


def test_the_figure_names_what_is_got_wrong():
    found, data = asked(Model(knows=False))
    causes = data.protocol["causes"]
    (first, by), (second, _) = worst(found, causes, "h3")
    assert (first, second) == ("mass", "paint") and by == pytest.approx(found["test/cause/mass/b/block_error/h3"], abs=1e-3)
    ranked = {key: value for key, value in found.items() if "block_error" not in key}  # a model that decodes no block
    assert worst(ranked, causes, "h3")[0][0] == "mass"
    labels = [label.get_text() for label in cause_plot(found, causes, "h3").axes[0].get_yticklabels()]
    assert labels == ["nothing", "paint", "mass"]
    before = {key: value for key, value in ranked.items() if "usual_hits" not in key}
    assert worst(before, causes, "h3") == [] and len(cause_plot(before, causes, "h3").axes[0].get_yticklabels()) == 3


def test_ranking_is_compared_with_that_of_the_same_states():
    """Fewer states took a value of space B than were asked, and H@1 among few is higher: a cause that changed nothing at all
    looked better than nothing."""

    class Tired(Model):
        def rollout(self, latent, actions):
            return super().rollout(latent, actions).round(decimals=1)

    found, data = asked(Tired(knows=True))
    for cause in ("mass", "paint"):
        for space in SPACES:
            assert found[f"test/cause/{cause}/{space}/usual_hits@1/h3"] >= found["test/cause/nothing/a/hits@1/h3"] > 0
    assert found["test/cause/mass/b/usual_hits@1/h3"] > found["test/cause/nothing/a/hits@1/h3"] + 5
    ranked = {key: value for key, value in found.items() if "block_error" not in key}
    # nothing has been changed
    same = {key.replace("usual_hits@1", "hits@1"): value for key, value in ranked.items() if "usual_hits" in key}
    assert all(by == 0 for _, by in worst(ranked | same, data.protocol["causes"], "h3"))
