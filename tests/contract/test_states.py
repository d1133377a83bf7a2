"""Every model that can be shown states in place of frames: composes, is built, learns, and speaks the four verbs."""

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from parts import entries, models, pair, plain
from torch.nn import functional as F

from models.interfaces import Batch
from train.checks import check_parts, tell_untrained_memory

ENVS = entries("env")
# the first two are trained by losses of their own
MODELS = [m for m in models() if m not in ("categorical", "random", "slot_attention")]
PAIRS = [(m, loss) for m in MODELS for loss in ("nll", "contrastive", "infonce") if pair(m, loss)]


def built(compose, model, *overrides):
    """Config and model on states, and a function that makes a batch for them."""
    looks = ["model.appearance=0"] if "appearance" in plain("model", model) else []
    cfg = compose("fit", f"model={model}", "env.observation=state", *looks, *overrides)
    torch.manual_seed(0)

    def batch(size, steps=2):
        obs = torch.randint(0, 2, (size, steps + 1, *cfg.spec.shown.shape)).float()
        action = F.one_hot(torch.randint(0, cfg.spec.action.size, (size, steps)), cfg.spec.action.size).float()
        return Batch(obs, action, torch.arange(size * (steps + 1)).view(size, steps + 1))

    return cfg, instantiate(cfg.model.module), batch


def test_most_models_can_be_shown_states():
    """The list above is not empty by a change of spelling."""
    assert {"ae", "vae", "gnn", "edge", "modular"} <= set(MODELS)


@pytest.mark.parametrize("env", ["chemistry_chain10", "chemistry_full5_dynamic", "physics3"])
@pytest.mark.parametrize("model", MODELS)
def test_four_verbs_on_states(compose, model, env):
    """Latents as from frames; what is decoded has the shape of the factors."""
    cfg, model, batch = built(compose, model, f"env={env}", "loss=nll")
    model, batch = model.eval(), batch(3)
    with torch.no_grad():
        latent = model.encode(batch.obs[:, 0])
        far = model.rollout(latent, batch.action)
        assert latent.flatten(1).shape == (3, cfg.spec.objects * cfg.model.width) and far.shape == (3, 2, *latent.shape[1:])
        assert model.decode(latent).shape == batch.obs[:, 0].shape and model.decoder(latent).isfinite().all()


@pytest.mark.parametrize("model, loss", PAIRS)
def test_every_stage_learns_on_states(compose, model, loss):
    """Named finite scalars, and a gradient for every part that is trained and for no other."""
    cfg, model, batch = built(compose, model, f"loss={loss}", "env=physics3")
    check_parts(model, [instantiate(stage.objective) for stage in cfg.loss.stages], cfg.spec)
    for stage in cfg.loss.stages:
        model.train()
        model.configure_stage(instantiate(stage.objective), stage.trains, stage.learning_rate)
        model.on_train_epoch_start()
        model.zero_grad()
        terms = model.objective(model, batch(6))
        assert all(term.shape == () and term.isfinite() for term in terms.values())
        sum(terms.values()).backward()
        touched = {name.split(".")[0] for name, p in model.named_parameters() if p.grad is not None and p.grad.any()}
        assert touched == set(stage.trains)


@pytest.mark.parametrize("env", [env for env in ENVS if "physics" in env or "chain" in env or "full" in env])
def test_states_are_as_wide_as_the_world_says(compose, env):
    """What models are sized by is what the world shows."""
    cfg = compose("fit", f"env={env}", "env.observation=state")
    world = instantiate(cfg.env.world)
    shown = world.observe(world.reset(2, np.random.default_rng(0), "train"))
    assert world.observation == "state" and list(shown.shape[1:]) == cfg.spec.shown.shape and cfg.spec.slots == shown.shape[1]
    assert cfg.model.module.encoder.trunk._target_.endswith("Entities")


def test_categorical_latents_of_states():
    """Factors are read as they stand: a one-hot vector of the appearance, and one place to look at."""
    from models.encoders import Entities
    from models.encoders.categorical import CategoricalEncoder

    encoder = CategoricalEncoder(Entities(4, 3), 3)
    with torch.no_grad():
        encoder.read.weight.copy_(torch.eye(3)), encoder.read.bias.zero_()
    factors = F.one_hot(torch.tensor([[0, 2, 1, 1]]), 3).float()
    assert torch.equal(encoder(factors).mean, torch.cat([factors, torch.ones(1, 4, 1)], -1))


@pytest.mark.parametrize("model, window, told", [("lstm", 1, True), ("rssm", 1, True), ("lstm", 2, False), ("edge", 1, False)])
def test_windows_that_train_no_memory_are_told(compose, capsys, model, window, told):
    """A table of equal effort chose windows of one for the recurrent row, whose rollouts then ran through weights as drawn."""
    cfg = compose(
        "fit",
        f"model={model}",
        "env=physics3",
        f"loss={'recurrent_state' if model == 'rssm' else 'infonce'}",
        f"loss.window={window}",
    )
    tell_untrained_memory(instantiate(cfg.model.module).transition, cfg.loss.stages)
    said = capsys.readouterr().err
    assert ("set loss.window=2 or more" in said) == told and len(said.splitlines()) == told
