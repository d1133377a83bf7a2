"""Objectives against numbers worked out by hand, and what each stage may touch."""

import math

import pytest
import torch
from added_actions import Table, windows
from torch import nn

from losses.contrastive import Contrastive, contrastive, energy
from losses.nll import JointNLL, LatentPrediction, Reconstruction, squared_error
from losses.objective import encode_dist_steps_apart, encode_windows
from models.decoders import FlatDecoder
from models.encoders import BoardMaps, FlatEncoder, VariationalEncoder
from models.interfaces import Batch, Latent
from models.likelihoods import Bernoulli
from models.transitions.mlp import MLPTransition
from models.world_model import WorldModel


def test_energy_by_hand():
    """Slots at squared distance 4 and 1: mean 2.5, times 0.5 / 0.25 = 2 is 5; sigma 1 halves the half."""
    a, b = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]]), torch.tensor([[[2.0, 0.0], [1.0, 1.0]]])
    assert energy(a, b).tolist() == [5.0]
    assert energy(a, b, sigma=1.0).tolist() == [1.25]


def test_contrastive_by_hand():
    """Positive energies 2 x (1, 4), negatives 2 x 0.01 and 2 x 9: (2 + 8) / 2 + (0.98 + 0) / 2."""
    state = torch.tensor([[[0.0]], [[0.1]], [[3.1]]])
    predicted, target = torch.tensor([[[1.0]], [[2.0]], [[0.0]]]), torch.tensor([[[0.0]], [[0.0]], [[0.0]]])
    loss = contrastive(state, predicted, target, torch.tensor([1, 0, 0]))
    positive = (2 + 8 + 0) / 3
    negative = (0.98 + 0.98 + 0) / 3
    assert loss.item() == pytest.approx(positive + negative, abs=1e-5)


def test_contrastive_hinge():
    """A fixed point of the permutation pays the whole hinge."""
    state = torch.tensor([[[0.0]], [[9.0]]])
    assert contrastive(state, state, state, torch.tensor([0, 1]), hinge=3.0).item() == 3.0
    assert contrastive(state, state, state, torch.tensor([1, 0]), hinge=3.0).item() == 0.0


def test_contrastive_permutes_states():
    """Negatives are the states of the batch in an order drawn from torch's own generator;
    the terms add up to the published function."""
    generator = torch.Generator().manual_seed(0)
    frames, action = torch.randn(6, 2, 3, 4, generator=generator), torch.randn(6, 1, 4, generator=generator)
    batch = Batch(frames, action, torch.arange(12).view(6, 2))
    torch.manual_seed(5)
    terms = Contrastive()(Table(), batch)
    torch.manual_seed(5)
    state = frames[:, 0]
    expected = contrastive(state, state + action, frames[:, 1], torch.randperm(6))
    assert set(terms) == {"positive", "negative"} and sum(terms.values()).item() == pytest.approx(expected.item(), rel=1e-5)


def test_contrastive_anchor():
    """The anchor is z_t as in the code or z_{t+1} as printed: here every z_t is 0 and every z_{t+1} is far away."""
    batch = windows([[[[0.0]], [[5.0]]], [[[0.0]], [[5.0]]]], [[[5.0]], [[5.0]]])
    assert Contrastive(anchor="current")(Table(), batch)["negative"].item() == 1.0
    assert Contrastive(anchor="next")(Table(), batch)["negative"].item() == 0.0
    with pytest.raises(ValueError, match="current or next"):
        Contrastive(anchor="previous")


def test_bce_by_hand():
    """Logit 0 costs ln 2 on each of 3 x 2 x 2 pixels; uint8 255 counts as 1."""
    bce = Bernoulli().nll
    assert bce(torch.zeros(2, 3, 2, 2), torch.rand(2, 3, 2, 2)).item() == pytest.approx(12 * math.log(2), rel=1e-5)
    white = torch.full((1, 3, 2, 2), 255, dtype=torch.uint8)
    assert bce(torch.full((1, 3, 2, 2), 2.0), white).item() == pytest.approx(12 * math.log(1 + math.exp(-2)), rel=1e-5)


def test_squared_error_by_hand():
    """Sum over slots and width, mean over the batch: (8 x 1 + 0) / 2."""
    assert squared_error(torch.tensor([1.0, 0.0]).view(2, 1, 1).expand(2, 2, 4), torch.zeros(2, 2, 4)).item() == 4.0


def test_kl_by_hand():
    """mean 2, variance 1: 2 per unit; no variance: 0."""
    assert Latent(torch.full((1, 2, 3), 2.0), torch.zeros(1, 2, 3)).kl().tolist() == [12.0]
    assert Latent(torch.full((1, 2, 3), 2.0)).kl().tolist() == [0.0]


def model_of(variational):
    torch.manual_seed(0)
    encoder = (VariationalEncoder if variational else FlatEncoder)(BoardMaps(3, size="small", channels=4), 4, 16)
    return WorldModel(encoder, MLPTransition(3, 15, 4, 16), FlatDecoder(3, 4, size="small", hidden=8))


def frames(b=8, t=1):
    generator = torch.Generator().manual_seed(1)
    obs = torch.randint(0, 256, (b, t + 1, 3, 50, 50), dtype=torch.uint8, generator=generator)
    action = nn.functional.one_hot(torch.randint(0, 15, (b, t), generator=generator), 15).float()
    return Batch(obs, action, torch.arange(b * (t + 1)).view(b, t + 1))


STAGES = [
    (Reconstruction(), ["encoder", "decoder"]),
    (LatentPrediction(), ["transition"]),
    (JointNLL(), ["encoder", "transition", "decoder"]),
]


@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("objective, trains", STAGES, ids=["reconstruction", "prediction", "joint"])
def test_stage_changes_what_it_trains_and_nothing_else(objective, trains, variational):
    """Frozen parts are in eval mode and keep every bit, batch statistics included; trained parts all move."""
    model = model_of(variational).train()
    model.configure_stage(objective, trains, 1e-2)
    model.on_train_epoch_start()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 1e-2)
    for _ in range(2):
        optimizer.zero_grad()
        sum(objective(model, frames()).values()).backward()
        optimizer.step()
    moved = {name.split(".")[0] for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == set(trains)
    for name, part in model.named_children():
        assert all(m.training == (name in trains) for m in part.modules())


def test_stage_trains_although_the_one_before_left_eval_mode():
    """Stage 2 encodes in eval mode, and Lightning keeps modes: stage 3 then ran without batch statistics or samples."""
    model = model_of(True).eval()
    model.configure_stage(JointNLL(), ["encoder", "transition", "decoder"], 1e-2)
    model.on_train_epoch_start()
    assert all(module.training for module in model.modules())


def test_reference_stage_two_lets_statistics_drift():
    """reference=true keeps the authors' way: a frozen encoder in train mode whose batch statistics move."""
    model = model_of(False).train()
    objective = LatentPrediction(reference=True)
    model.configure_stage(objective, ["transition"], 1e-2)
    model.on_train_epoch_start()
    before = {k: v.clone() for k, v in model.encoder.state_dict().items()}
    objective(model, frames())
    moved = [k for k, v in model.encoder.state_dict().items() if not torch.equal(v, before[k])]
    assert moved and all("running" in k or "num_batches" in k for k in moved)


def test_steps_apart_have_their_own_statistics():
    """In training every step of the windows is normalised by itself, as in the authors' code; one pass is not that."""
    model, batch = model_of(False).train(), frames()
    apart = encode_dist_steps_apart(model, batch).mean.unflatten(0, batch.obs.shape[:2])
    for t in range(batch.obs.shape[1]):
        torch.testing.assert_close(apart[:, t], model.encode_dist(batch.obs[:, t]).mean)
    assert not torch.allclose(apart, encode_windows(model, batch), atol=1e-4)


@pytest.mark.parametrize("objective", [LatentPrediction(reference=True), JointNLL(reference=True)], ids=["prediction", "joint"])
def test_the_reference_takes_a_pass_for_each_frame(objective):
    """Stage 2 ran the drifting encoder once on both frames, and stage 3 decoded both at once:
    statistics were of both, and moved once."""
    model = model_of(False).train()
    decoded = []
    model.decoder.register_forward_hook(lambda module, latents, out: decoded.append(len(out)))
    objective(model, frames())
    assert {int(value) for name, value in model.encoder.state_dict().items() if name.endswith("num_batches_tracked")} == {2}
    assert decoded == ([] if isinstance(objective, LatentPrediction) else [8, 8])


@pytest.mark.parametrize("variational", [False, True])
def test_joint_reference_equals_one_pass_in_eval(variational):
    """With fixed batch statistics two encoder passes and one are the same numbers."""
    model = model_of(variational).eval()
    with torch.no_grad():
        one, two = JointNLL()(model, frames()), JointNLL(reference=True)(model, frames())
    assert one.keys() == two.keys() and ("kl" in one) == variational
    for name in one:
        assert one[name].item() == pytest.approx(two[name].item(), rel=1e-5)


def test_joint_terms_by_hand():
    """With a decoder that says 0 everywhere each picture costs 7500 ln 2."""
    model = model_of(False).eval()
    model.decoder = nn.Module()
    model.decoder.likelihood = Bernoulli()
    model.decoder.forward = lambda z: torch.zeros(len(z), 3, 50, 50)
    with torch.no_grad():
        terms = JointNLL()(model, frames())
        z = model.encode(frames().obs.flatten(0, 1)).view(8, 2, 1, 12)
        error = (model.transition(z[:, 0], frames().action[:, 0]) - z[:, 1]).pow(2).sum() / 8
    assert terms["reconstruction"].item() == pytest.approx(7500 * math.log(2), rel=1e-5)
    assert terms["next_reconstruction"].item() == pytest.approx(7500 * math.log(2), rel=1e-5)
    assert terms["prediction"].item() == pytest.approx(error.item(), rel=1e-4)


def test_reconstruction_leaves_the_last_frame_out():
    """The last frame of a window is nobody's current frame: changing it changes nothing."""
    model, batch = model_of(False).eval(), frames()
    with torch.no_grad():
        before = Reconstruction()(model, batch)["reconstruction"]
        batch.obs[:, -1] = 0
        assert torch.equal(Reconstruction()(model, batch)["reconstruction"], before)


@pytest.mark.filterwarnings("ignore")
def test_loss_that_is_not_finite_names_its_terms():
    """The error names the term that broke, not the healthy one, and what to do."""
    model = model_of(False)
    model.configure_stage(lambda *_: {"healthy": torch.tensor(1.0), "broken": torch.tensor(float("nan"))}, ["encoder"], 1e-3)
    with pytest.raises(FloatingPointError, match="broken = nan; lower the learning rate") as error:
        model.training_step(frames(), 0)
    assert "healthy" not in str(error.value)
    with pytest.raises(FloatingPointError, match="val loss is not finite"):
        model.validation_step(frames(), 0)
