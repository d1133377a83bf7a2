"""bfloat16 around a model changes nothing that its losses look at: latents flow in single precision."""

import pytest
import torch
from hydra.utils import instantiate
from test_model_promises import HOME, LOSSES, MODELS, batch_of, pair
from torch import nn

from models.abilities import Prepared
from models.layers.stacked import StackedLinear
from models.native_precision import MIXED, fast_precision
from models.transitions.lstm import LSTM
from models.transitions.rssm import GRU

LARGE = 30.0  # root mean square of the latents; the hinge loss lets them grow to 5


def built(compose, model, loss="nll"):
    cfg = compose("fit", f"model={model}", f"loss={loss}", f"env={HOME.get(model, 'physics3')}")
    torch.manual_seed(0)
    return cfg, instantiate(cfg.model.module)


def bf16():
    return torch.autocast("cpu", torch.bfloat16)


@pytest.mark.parametrize("model", MODELS)
def test_latents_are_written_and_moved_in_single_precision(compose, model):
    """Encoder and transition under bfloat16 gave latents rounded to 3 digits, whatever their type said later: large latents
    hid what a step changes in them."""
    if model == "pairwise_lstm" and fast_precision("cpu") != MIXED:
        pytest.skip("torch's LSTM needs a processor with bfloat16")
    cfg, world_model = built(compose, model)
    world_model.eval()
    batch = batch_of(16, cfg.spec.action.size)
    with torch.no_grad():
        whole = world_model.encode(batch.obs[:, 0])
        with bf16():
            rounded = world_model.encode(batch.obs[:, 0])
        assert rounded.dtype == torch.float32
        if model in HOME:
            return  # its latents are one-hot
        assert (rounded.bfloat16() != rounded).float().mean() > 0.5, "latents lie on the grid of bfloat16"
        latent = LARGE * torch.randn_like(whole)
        change = world_model.transition(latent, batch.action[:, 0]) - latent
        with bf16():
            under = world_model.transition(latent, batch.action[:, 0])
        assert under.dtype == torch.float32
        lost = (under - latent - change).pow(2).mean().sqrt() / change.pow(2).mean().sqrt()
        assert lost < 0.05, f"bfloat16 changes {100 * lost:.0f} % of what a step changes"


def shrink_last(part: nn.Module, factor: float) -> None:
    """Scale the layer that writes a part's output."""
    last = [module for module in part.modules() if isinstance(module, nn.Linear | StackedLinear)][-1]
    with torch.no_grad():
        last.weight.mul_(factor)
        last.bias.mul_(factor)


@pytest.mark.parametrize("model, loss", [("modular", loss) for loss in LOSSES if pair("modular", loss)]
                         + [(model, "contrastive") for model in ("ae", "gnn", "edge", "causal", "lstm")]
                         + [("categorical", "inverse_action")])  # fmt: skip
def test_every_loss_is_the_same_under_bfloat16(compose, model, loss):
    """A model that predicts nearly right, in large latents: rounded latents cost the hinge ten times what they should."""
    cfg, world_model = built(compose, model, loss)
    if model not in HOME:
        shrink_last(world_model.encoder, 20.0)
        shrink_last(world_model.transition, 2e-2)
    batch = batch_of(16, cfg.spec.action.size)
    batch.obs = batch.obs[:, :1].expand_as(batch.obs)  # nothing happens, and nearly that is predicted
    for stage in cfg.loss.stages:
        objective = instantiate(stage.objective)
        if isinstance(objective, Prepared):
            objective.prepare(world_model, None)
        world_model.configure_stage(objective, list(stage.trains), stage.learning_rate)
        terms = {}
        for name, context in (("single", torch.autocast("cpu", enabled=False)), ("bf16", bf16())):
            torch.manual_seed(0)
            with context, torch.no_grad():
                terms[name] = objective(world_model.eval(), batch)
        for name, exact in terms["single"].items():
            close = pytest.approx(exact.item(), rel=0.1, abs=1e-4)
            assert terms["bf16"][name].item() == close, f"{stage.name}: {name}"


@pytest.mark.parametrize("core", [LSTM(4, 3), GRU(4, 3)], ids=["lstm", "gru"])
def test_recurrent_layers_on_a_gpu_are_in_single_precision(core, monkeypatch):
    """There, autocast of any kind runs them in float16, and bfloat16 training scales no gradients."""
    x, memory, seen = torch.randn(2, 5, 4), torch.zeros(2, core.memory_size), []
    exact, _ = core(x, memory)
    core.layer.register_forward_hook(lambda layer, given, out: seen.append((torch.is_autocast_enabled("cpu"), out[0].dtype)))
    monkeypatch.setattr("models.layers.precision.FOLLOWS", ())  # as if this were one
    with bf16():
        outputs, after = core(x.bfloat16(), memory.bfloat16())
    assert seen == [(False, torch.float32)] and after.dtype == torch.float32
    torch.testing.assert_close(outputs, exact, rtol=0, atol=0.02)  # x alone is rounded
