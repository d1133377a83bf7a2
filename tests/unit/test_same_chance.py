"""The probe of true counterfactuals: a model whose codes are the colours comes near the true mechanisms;
others are told why not."""

import types

import numpy as np
import pytest
import torch

from envs.chemistry import ChemistryWorld
from eval.probes.same_chance import _why_not, found_graph, learned, same_chance
from eval.probes.twins import Mechanisms

RNG = np.random.default_rng


@pytest.fixture
def world():
    return ChemistryWorld(num_objects=3, num_colors=3, graph="chain3", skewness=2.5, scm_seed=3, observation="state")


def episodes(world, count, steps, seed):
    """Recorded by the world: action (E, T+1), state (E, T+1, N, F)."""
    columns, lengths = world.record({"length": steps, "mode": "train", "drop_invalid": False}, RNG(seed), count)
    return [columns[name].reshape(count, steps + 1, *columns[name].shape[1:]) for name in ("action", "state")]


def test_the_graph_is_found_in_codes(world):
    action, state = episodes(world, 120, 20, 0)
    colors = world.unpack(state.reshape(-1, *state.shape[2:])).colors.reshape(*state.shape[:2], -1).astype(int)
    assert np.array_equal(found_graph(colors, action[:, :-1] // 3, 3), world.parents)


def test_codes_that_are_colours_come_near_the_ceiling(world, monkeypatch):
    import eval.probes.same_chance as here

    action, state = episodes(world, 200, 20, 0)
    colors = world.unpack(state.reshape(-1, *state.shape[2:])).colors.reshape(*state.shape[:2], -1)
    acted = action[:, :-1].ravel() // 3
    told = Mechanisms.counted(world.parents, colors[:, 1:].reshape(-1, 3).astype(int), acted, 3)
    monkeypatch.setattr(here, "learned", lambda run, data: (told, np.array([1, 2, 0])))
    monkeypatch.setattr(here, "codes_of", lambda model, world, state: world.unpack(
        state.reshape(-1, *state.shape[2:])).colors.reshape(*state.shape[:2], -1)[..., [2, 0, 1]].astype(int))  # fmt: skip
    run = types.SimpleNamespace(world=world, model=None)
    fresh, asked, known = episodes(world, 1500, 1, 5)[1], [], here.guesses
    monkeypatch.setattr(here, "guesses", lambda told, queries: asked.append(queries) or known(told, queries))
    found = same_chance(run, types.SimpleNamespace(state=fresh, say=lambda text: None, data_dir=None))
    assert found["same_chance/of_ceiling"] > 95 and found["ceiling/same_chance"] > found["floor/same_chance/blind"] + 2
    assert all((one.other != one.first).all() for one in asked), "what happened is no question"
    assert (
        found["ceiling/same_chance"] > found["floor/same_chance/copy"]
        and found["same_chance/gumbel"] <= found["same_chance/exact"] + 3
    )


def test_mechanisms_are_counted_from_what_the_encoder_reads(world):
    """Its slots hold the objects in another order; the graph and the tables are those of the objects, of the training split."""
    action, state = episodes(world, 400, 20, 0)
    rng, slots, objects = RNG(0), [2, 0, 1], [1, 2, 0]  # slot k holds object slots[k]; object n lies in slot objects[n]

    def rollout(latent, actions):
        boards, mean = world.reset(len(latent), rng), 0.0
        boards.colors[:] = latent[:, objects].argmax(-1).numpy()
        for _ in range(32):
            after, _ = world.step(boards, actions[:, 0].argmax(-1).numpy(), world.noise(len(boards), rng))
            mean = mean + torch.from_numpy(world.factors(after)).float()[:, slots] / 32
        return mean[:, None]

    model = types.SimpleNamespace(transition=types.SimpleNamespace(categories=3), decoder=None, device="cpu",
                                  encode=lambda obs: obs.float()[:, slots], rollout=rollout)  # fmt: skip
    asked = []
    file = types.SimpleNamespace(episodes=lambda *names: (action, state))
    run = types.SimpleNamespace(world=world, model=model, file=lambda split, data_dir: asked.append((split, data_dir)) or file)
    found, where = learned(run, types.SimpleNamespace(data_dir="there"))
    colors = world.unpack(state.reshape(-1, *state.shape[2:])).colors.reshape(*state.shape[:2], -1).astype(int)
    told = Mechanisms.counted(world.parents, colors[:, 1:].reshape(-1, 3), action[:, :-1].ravel() // 3, 3)
    assert asked == [("train", "there")] and where.tolist() == objects
    assert np.array_equal(found.parents, world.parents)
    assert all(np.allclose(mine, theirs) for mine, theirs in zip(found.tables, told.tables))


def test_who_has_no_codes_is_told(world):
    run = types.SimpleNamespace(model=types.SimpleNamespace(transition=types.SimpleNamespace()), world=world)
    assert "the model has none: train model=categorical" in _why_not(run)
    run.model.transition.categories = 3
    assert _why_not(run) is None
    run.world = ChemistryWorld(num_objects=10, graph="chain10")
    assert "too many" in _why_not(run)
