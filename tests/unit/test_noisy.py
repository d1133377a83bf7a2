"""The noisy-node test, with models whose worth is known beforehand."""

import json

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from envs.chemistry import ChemistryWorld
from envs.problem import Problem
from eval.noisy import noisy_run
from eval.probes.noisy_nodes import add_noise, draw_noisy, measure, predicts_color, undisturbed
from eval.runs import freeze
from eval.runs.checkpoints import save_weights

WORLD = ChemistryWorld(5, 3, graph="chain5", observation="state")


class Knowing:
    """Latent = factors; the transition follows the true model's mode from the colours it reads."""

    device, decoder = "cpu", None

    def encode(self, obs):
        return obs

    def rollout(self, latent, actions):
        colors = latent[..., :3].argmax(-1).numpy().astype(np.int8)
        boards = WORLD.reset(len(colors), np.random.default_rng(0))
        boards.colors[:] = colors
        after, _ = WORLD.step(boards, actions[:, 0].argmax(-1).numpy(), None)
        return torch.from_numpy(WORLD.factors(after)).float()[:, None]


class Speaking(Knowing):
    """The same with a decoder."""

    def decoder(self, latent):
        return 5 * latent - 2


def episodes(count=40, length=4, certain=True):
    """certain: every draw is the likeliest colour, as with deterministic tables."""
    rng = np.random.default_rng(0)
    boards, state = WORLD.reset(count, rng), []
    action = rng.integers(0, 15, (count, length + 1))
    for t in range(length + 1):
        state.append(WORLD.pack(boards))
        boards, _ = WORLD.step(boards, action[:, t], None if certain else WORLD.noise(count, rng))
    state = np.stack(state, 1)
    obs = WORLD.observe(WORLD.unpack(state.reshape(-1, *state.shape[2:]))).reshape(count, length + 1, 5, 3)
    return obs, action, state


@pytest.mark.parametrize("model", [Knowing(), Speaking()])
def test_who_knows_the_tables_is_right_where_asked(model):
    """With certain tables the true model is right about every undisturbed object, whatever the others are shown as."""
    obs, action, state = episodes()
    metrics = measure(model, WORLD, obs, action, state, [0, 2, 4], 100.0, 0)
    for n in (0, 2, 4):
        assert metrics[f"noisy/accuracy/n{n}"] == metrics[f"noisy/ceiling/n{n}"] == 100
        assert metrics[f"noisy/floor/paint/n{n}"] < 100 or n == 4  # then the root alone is asked about
    assert metrics["noisy/asked/n0"] == 100 > metrics["noisy/asked/n2"] > metrics["noisy/asked/n4"] > 0


def test_without_noise_it_is_plain_accuracy():
    """n = 0 counts every object of every step once, and equals the mode's own accuracy where chance decides."""
    obs, action, state = episodes(certain=False)
    metrics = measure(Speaking(), WORLD, obs, action, state, [0], 100.0, 0)
    boards, after = (WORLD.unpack(s.reshape(-1, *s.shape[2:])) for s in (state[:, :-1], state[:, 1:]))
    mode, _ = WORLD.step(boards, action[:, :-1].reshape(-1), None)
    assert metrics["noisy/accuracy/n0"] == pytest.approx(100 * (mode.colors == after.colors).mean())
    assert metrics["noisy/accuracy/n0"] <= metrics["noisy/ceiling/n0"] < 100


def test_undisturbed_by_hand():
    """0 -> 1 -> 2: noise on 1 takes itself and its child away, noise on 2 itself alone."""
    parents = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], bool)
    noisy = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    assert undisturbed(noisy, parents).tolist() == [[True, False, False], [True, True, False], [True] * 3]


def test_noise_falls_on_the_drawn_objects_alone():
    """Exactly n of each state, all equally often; clean factors stay what they were."""
    rng = np.random.default_rng(0)
    noisy = draw_noisy(2000, 5, 2, rng)
    assert (noisy.sum(1) == 2).all() and np.allclose(noisy.mean(0), 0.4, atol=0.05)
    factors = rng.integers(0, 2, (2000, 5, 3), dtype=np.uint8)
    shown = add_noise(factors, noisy, 100.0, rng)
    assert np.array_equal(shown[~noisy], factors[~noisy]) and abs(shown[noisy].std() - 100) < 5


def test_a_model_that_says_one_point_tells_nothing():
    """All colours equally near: ties count against us, with and without a decoder."""

    class Collapsed(Knowing):
        def encode(self, obs):
            return torch.ones(len(obs), 1, 4)

    class Grey(Knowing):
        def decoder(self, latent):
            return torch.zeros(len(latent), 5, 3)

    after = WORLD.reset(7, np.random.default_rng(0))
    assert not predicts_color(Collapsed(), WORLD, torch.ones(2, 7, 1, 4), after).any()
    assert not predicts_color(Grey(), WORLD, torch.ones(2, 7, 5, 3), after).any()


@pytest.fixture
def saved(compose, small, tmp_path):
    """saved(*overrides) -> the folder of an untrained run."""

    def save(*overrides):
        cfg = freeze(compose("fit", *small, *overrides, f"data_dir={tmp_path}"))
        folder = tmp_path / "run"
        (folder / "checkpoints").mkdir(parents=True)
        OmegaConf.save(cfg, folder / "config.yaml")
        save_weights(instantiate(cfg.model.module), folder / "checkpoints" / "model.ckpt")
        return folder

    return save


STATE = ["env=chemistry_chain5_dynamic", "env.observation=state"]


@pytest.mark.parametrize("loss", ["nll", "infonce"])
def test_a_run_folder_is_enough(loss, saved):
    """Numbers in percent, the same twice, and the protocol beside them."""
    folder = saved(*STATE, f"loss={loss}", "model.width=4")
    found = [noisy_run(folder, None, None, 20, [0, 2], 100, 0) for _ in range(2)]
    assert found[0] == found[1] == json.loads((folder / "noisy.json").read_text())
    assert all(0 <= value <= 100 for value in found[0]["metrics"].values())
    assert found[0]["protocol"]["chance"] == 20 and found[0]["protocol"]["length"] == 10


def test_nodes_that_are_not_named_fit_the_env(saved, root):
    """The command's own default once refused every env of five objects."""
    assert OmegaConf.load(root / "configs/noisy.yaml").nodes is None
    found = noisy_run(saved(*STATE, "model.width=4"), None, None, 5, None, 100, 0)
    assert found["protocol"]["nodes"] == [0, 2, 4]


REFUSED = {
    "pixels": (["env=chemistry_chain5"], [0], "is shown pixels; use a run trained with env.observation=state"),
    "physics": (["env=physics3", "env.observation=state"], [0], "env 'physics3' has none; use a run on chemistry"),
    "all noisy": (STATE, [0, 5], "5 noisy nodes leave no clean object among the 5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_a_sentence(case, saved):
    """What cannot be asked is told with its remedy."""
    overrides, nodes, sentence = REFUSED[case]
    with pytest.raises(Problem, match=sentence):
        noisy_run(saved(*overrides), None, None, 20, nodes, 100, 0)


class Shifted(Knowing):
    """Knowing, far from the origin."""

    def encode(self, frames):
        return super().encode(frames) + 1e5

    def rollout(self, latent, actions):
        return super().rollout(latent, actions) + 1e5


def test_what_all_codes_share_hides_no_colour():
    """Colours were tied within a share of the whole latent, and of the largest of the boards that were asked together."""
    obs, action, state = episodes()
    assert measure(Shifted(), WORLD, obs, action, state, [0, 2], 100.0, 0) == measure(
        Knowing(), WORLD, obs, action, state, [0, 2], 100.0, 0
    )
