"""The frozen read-out: exact where latents hold the state, at the floor where they do not, whatever their metric is."""

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from envs.chemistry import ChemistryWorld
from envs.collect import collect
from envs.physics import ABSENT, PhysicsWorld
from envs.protocols import Factors
from eval.probes.data import Data
from eval.probes.readout import exact, fit, readout, values
from eval.runs import Run
from eval.score import probes_of

RNG = np.random.default_rng


class Knows:
    """Latents are the true factors under a metric of its own; predicts that nothing happens."""

    device, decoder = "cpu", None

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def encode(self, obs):
        return self.weight * obs.flatten(2).float()

    def rollout(self, latent, actions):
        return latent[:, None].repeat(1, actions.shape[1], 1, 1)


def asked(tmp_path, world, model, name="physics3"):
    splits = {split: {"episodes": count, "length": 5, "seed": seed, "mode": "train"}
              for seed, (split, count) in enumerate({"valid": 400, "test": 60}.items())}  # fmt: skip
    env = {"name": name, "splits": splits, "drop_invalid": name == "physics3"}
    run = Run(model, OmegaConf.create({"env": env, "data_dir": str(tmp_path)}), world=world)
    return readout(run, Data(run, collect(env, world, "test", tmp_path, quiet=True), [1, 2], 1000, 10))


@pytest.mark.parametrize("weight", [1.0, 1e-3])
def test_states_are_read_whatever_the_metric(tmp_path, weight):
    """A model that predicts no change is as good as the floor, and is told so for what changes something."""
    world = PhysicsWorld(3, observation="state")
    m = asked(tmp_path, world, Knows(weight))
    for kind in ("linear", "mlp"):
        assert (
            m[f"readout/{kind}/frames"] > 99
            and m[f"readout/{kind}/frames/place"] > 99
            and m[f"readout/{kind}/frames/weight"] > 99
            and m[f"readout/{kind}/eyes/h1"] > 97
        )
        assert m[f"readout/{kind}/exact/h1"] == pytest.approx(m["floor/copy/exact/h1"], abs=3)
        assert m[f"readout/{kind}/what_if/h1"] == pytest.approx(m["floor/copy/what_if/h1"], abs=3)
        assert m[f"readout/{kind}/what_if/nothing/h1"] > 97 and m[f"readout/{kind}/what_if/one/h1"] == 0
    assert m["floor/copy/exact/h2"] < m["floor/copy/exact/h1"] < 100 and "readout/mlp/exact/valid_push/h1" not in m


def test_chance_has_no_exact_counterfactual(tmp_path):
    """In chemistry what another action would have done is a distribution; exact states of what was done remain."""
    world = ChemistryWorld(3, 3, "chain3", observation="state")
    m = asked(tmp_path, world, Knows(1.0), "toy")
    assert (
        m["readout/linear/frames"] == m["readout/linear/frames/color"] > 99
        and m["floor/constant/frames"] < 70
        and not [key for key in m if "what_if" in key]
    )


def test_it_is_asked_by_name_alone():
    """It takes longer than all other scores of a run together."""
    run = Run(Knows(1.0), world=PhysicsWorld(3, observation="state"))
    assert "readout" not in [one.name for one in probes_of(run, None)]
    assert [one.name for one in probes_of(run, ["readout"])] == ["readout"]


class SeesPlaces(Knows):
    """The shade, which shows the weight, is left out."""

    def encode(self, obs):
        return self.weight * obs[..., :25].float()


def test_what_a_latent_lacks_is_told_by_its_name(tmp_path):
    """Half of all factors is the same number for a model that knows no weight and for one that knows half of everything."""
    m = asked(tmp_path, PhysicsWorld(3, object_order="shuffled", observation="state"), SeesPlaces(1.0))
    assert m["readout/linear/what_if/place/nothing/h1"] > 85 > 60 > m["readout/linear/what_if/nothing/h1"], (
        "places are told without weights"
    )
    assert (
        m["readout/linear/what_if/place/one/h1"] < 5
        and m["readout/linear/what_if/place/h1"] == pytest.approx(m["floor/copy/what_if/h1"], abs=5)
    )
    assert (
        m["readout/linear/frames/place"] > 99
        and m["readout/linear/frames/weight"] < 60
        and 12 < m["floor/constant/frames"] < 35
    )
    assert m["floor/constant/frames/place"] < 20 and m["readout/linear/frames"] < 80 and m["readout/linear/eyes/h1"] < 30


def test_collapsed_latents_read_nothing():
    torch.manual_seed(0)
    true = RNG(0).integers(0, 4, (500, 2, 1))
    read = fit(torch.ones(500, 2, 3), true, (4,), "linear")(torch.ones(50, 2, 3))
    assert (read == read[0]).all() and (read == true[:50]).mean() < 0.5


def test_absent_objects_are_not_asked():
    """Of three objects the second is not there."""
    world = PhysicsWorld(3, observation="state")
    state = world.reset(4, RNG(0), "train")
    state.positions[:, 1] = ABSENT
    true = values(world, state)
    assert (true[:, 1] == -1).all() and (true[:, 0] >= 0).all() and isinstance(world, Factors) and world.factor_sizes == (25, 3)
    read = true.copy()
    read[:, 1] = 7
    assert exact(read, true).all()
    read[0, 0, 0] += 1
    assert exact(read, true).tolist() == [False, True, True, True]
