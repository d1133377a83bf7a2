"""Objectives that need no negatives, what keeps their latents from collapsing,
and the numbers that balance the terms of objectives."""

import math
from functools import partial

import pytest
import torch
from added_actions import Table, windows
from hydra.utils import instantiate
from torch.distributions import Normal, kl_divergence

from losses.contrastive import Contrastive, energy
from losses.hinge import AllPairsHinge
from losses.infonce import InfoNCE
from losses.recurrent_state import RecurrentState, divergence
from losses.sigreg import SIGReg, epps_pulley
from losses.target_network import TargetNetwork
from losses.vicreg import VICReg
from models.interfaces import Batch, Latent


@pytest.fixture
def built(compose):
    """built(name, *overrides) -> a model on physics3 and a batch for it."""

    def make(name, *overrides):
        cfg = compose("fit", f"model={name}", "env=physics3", "loss=nll", *overrides)
        torch.manual_seed(0)
        obs = torch.randint(0, 256, (6, 3, 3, 50, 50), dtype=torch.uint8)
        action = torch.eye(cfg.spec.action.size)[torch.randint(0, cfg.spec.action.size, (6, 2))]
        return instantiate(cfg.model.module), Batch(obs, action, torch.arange(18).view(6, 3))

    return make


def test_the_statistic_is_that_of_the_definition():
    """Of one draw x at t: (cos tx - phi)^2 + sin^2 tx, weighted by phi, over both signs of t, by the trapezoid rule."""
    x = 0.7
    t = [3 * i / 16 for i in range(17)]
    phi = [math.exp(-s * s / 2) for s in t]
    values = [((math.cos(s * x) - p) ** 2 + math.sin(s * x) ** 2) * p for s, p in zip(t, phi)]
    area = 2 * sum((a + b) / 2 * 3 / 16 for a, b in zip(values, values[1:]))
    assert epps_pulley(torch.tensor([[x]])).item() == pytest.approx(area, rel=1e-5)


def test_the_statistic_tells_a_gaussian_from_all_else():
    generator = torch.Generator().manual_seed(0)
    few, many = (epps_pulley(torch.randn(n, 200, generator=generator)).mean().item() for n in (200, 2000))
    assert 200 * few == pytest.approx(2000 * many, rel=0.2), "of a Gaussian, chance alone is left"
    draws = torch.randn(2000, 50, generator=generator)
    for other in (0.5 * draws, draws + 0.5, draws.sign(), torch.zeros_like(draws)):
        assert epps_pulley(other).mean() > 20 * many
        assert epps_pulley(other[:500]).mean() == pytest.approx(epps_pulley(other).mean(), rel=0.25), (
            "it does not weigh more in a large batch"
        )


def test_gaussian_slots_are_drawn_apart_or_together(built):
    model, batch = built("modular")
    for per_slot, size in ((True, 16), (False, 48)):
        seen = []
        loss = SIGReg(per_slot=per_slot)
        torch.manual_seed(0)
        randn = torch.randn
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("losses.sigreg.torch.randn", lambda *shape, **how: seen.append(shape) or randn(*shape, **how))
            terms = loss(model, batch)
        assert seen == [(size, 64)] and set(terms) == {"prediction", "gaussian"}
        assert all(term.isfinite() and term > 0 for term in terms.values())


def test_directions_have_length_one_and_the_statistic_its_weight(built):
    model, batch = built("modular")
    drawn = torch.randn(48, 64, generator=torch.Generator().manual_seed(1))
    latent = model.eval().encode(batch.obs.flatten(0, 1)).flatten(1)
    by_hand = epps_pulley(latent @ (drawn / drawn.square().sum(0).sqrt())).mean().item()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("losses.sigreg.torch.randn", lambda *shape, **how: drawn)
        for weight in (1.0, 200.0):
            assert SIGReg(weight=weight)(model, batch)["gaussian"].item() == pytest.approx(weight * by_hand, rel=1e-3)


def test_spread_and_correlation_have_their_prices():
    class Model:
        """Latents as they are given, predictions that are as far off as is said."""

        training = False
        transition = None

        def __init__(self, off):
            self.off = off

        def predict_windows(self, latent, action):
            return latent[:, 1:] + self.off

    torch.manual_seed(0)
    drawn = torch.randn(400, 2, 1, 3)
    action, ids = torch.zeros(400, 1, 2), torch.arange(800).view(400, 2)

    def terms(latent, off=0.0):
        return VICReg()(Model(off), Batch(None, action, ids, latent))

    free = terms(drawn)
    assert free["prediction"] == 0 and free["variance"] < 1 and free["covariance"] < 0.05
    assert terms(drawn, off=2.0)["prediction"].item() == pytest.approx(25 * 4, rel=1e-4), "a squared error costs 25"
    flat = terms(torch.ones_like(drawn))
    assert flat["variance"].item() == pytest.approx(25 * (1 - 0.01), rel=1e-3) and flat["covariance"] == 0
    tied = terms(drawn[..., :1].expand_as(drawn))
    assert tied["covariance"].item() == pytest.approx(2.0, rel=0.2), "six entries of one, for three numbers"


def test_the_copy_follows_slowly_and_learns_nothing(built):
    model, batch = built("modular")
    objective = TargetNetwork(momentum=0.9)
    objective.prepare(model, None)
    with torch.no_grad():
        for weight in model.encoder.parameters():
            weight.add_(1.0)
    before = objective.copy.encoder.mlp[0].weight.clone()
    objective(model.train(), batch)["prediction"].backward()
    after = objective.copy.encoder.mlp[0].weight.clone()
    moved = after - before
    assert torch.allclose(moved, torch.full_like(moved, 0.1), atol=1e-5)
    assert all(weight.grad is None for weight in objective.copy.parameters())
    assert any(weight.grad is not None for weight in model.encoder.parameters())
    objective(model.eval(), batch)
    assert torch.equal(objective.copy.encoder.mlp[0].weight, after), "validation moves nothing"


def test_the_copy_is_asked_for_the_frame_that_comes_next(built):
    model, batch = built("modular")
    objective = TargetNetwork()
    objective.prepare(model.eval(), None)
    with torch.no_grad():
        for weight in objective.copy.parameters():
            weight.mul_(1.5)
        frames = batch.obs.flatten(0, 1)
        mine, theirs = (one.eval().encode(frames).unflatten(0, (6, 3)) for one in (model, objective.copy))
        error = (model.predict_windows(mine, batch.action) - theirs[:, 1:]).square().mean()
    assert objective(model, batch)["prediction"].item() == pytest.approx(error.item(), rel=1e-4)


def test_the_copy_goes_with_the_checkpoint(built):
    model, _ = built("modular")
    objective, later = TargetNetwork(), TargetNetwork()
    objective.prepare(model, None)
    with torch.no_grad():
        objective.copy.encoder.mlp[0].weight.zero_()
    model.configure_stage(objective, ["encoder", "transition"], 1e-3)
    checkpoint = {}
    model.on_save_checkpoint(checkpoint)
    later.prepare(model, None)
    model.configure_stage(later, ["encoder", "transition"], 1e-3)
    model.on_load_checkpoint(checkpoint)
    assert not later.copy.encoder.mlp[0].weight.any()


def test_negatives_of_the_own_window(built):
    """With two frames a window the other frame is the negative; equal pictures are none."""
    model, batch = built("modular")
    obs, action, ids = batch.obs[:, :2], batch.action[:, :1], batch.obs_id[:, :2].clone()
    ids[0, 1] = ids[0, 0]
    obs[0, 1] = obs[0, 0]
    batch = Batch(obs, action, ids)
    terms = Contrastive(same_episode=True)(model.eval(), batch)
    latent = model.encode(obs.flatten(0, 1)).unflatten(0, (6, 2))
    apart = (1 - energy(latent[:, 0], latent[:, 1])).clamp(min=0)
    assert terms["same_episode"].item() == pytest.approx(apart[1:].sum().item() / 6, rel=1e-4)
    assert set(Contrastive()(model, batch)) == {"positive", "negative"}


@pytest.mark.parametrize("anchor, apart", [("current", (2 + 8) / 2), ("next", (8 + 18) / 2)])
def test_the_anchor_of_an_own_negative_is_the_one_that_is_said(monkeypatch, anchor, apart):
    """Of the frames 0, 1, 3 each anchor meets the frame after it, the last the first; 2 d^2 each."""
    monkeypatch.setattr("losses.contrastive.torch.randint", lambda low, high, shape, **how: torch.ones(shape, dtype=torch.long))
    batch = windows([[[[0.0]], [[1.0]], [[3.0]]]], [[[0.0], [0.0]]])
    found = Contrastive(hinge=100, anchor=anchor, same_episode=True)(Table(), batch)["same_episode"]
    assert found.item() == pytest.approx(100 - apart)


def test_divergence_is_that_of_gaussians():
    torch.manual_seed(0)
    q, p = (Latent(torch.randn(4, 3, 2), torch.randn(4, 3, 2)) for _ in range(2))
    exact = kl_divergence(*(Normal(d.mean, (d.logvar / 2).exp()) for d in (q, p))).sum((1, 2))
    assert torch.allclose(divergence(q, p), exact, rtol=1e-4)


def test_each_divergence_moves_its_own_side(built):
    """dynamics moves the prior alone, representation the posterior."""
    model, batch = built("rssm")
    for name, moved in (("dynamics", "transition"), ("representation", "encoder")):
        model.zero_grad()
        RecurrentState(free=0.0)(model.train(), batch)[name].backward()
        reached = any(w.grad is not None and w.grad.any() for w in model.transition.logvar.parameters())
        assert reached == (moved == "transition")


def test_the_prior_is_drawn_to_the_frame_that_comes_next(built, monkeypatch):
    """Every posterior draws its own frame. Beside a prior N(1, 1) at all times, both divergences by hand; of representation the
    first frame's from N(0, 1) as well."""
    model, batch = built("rssm")
    dist = model.eval().encode_dist(batch.obs.flatten(0, 1))
    q = Normal(*(part.unflatten(0, (6, 3)) for part in (dist.mean, (dist.logvar / 2).exp())))
    model.transition.prior = lambda latent, action: Latent(torch.ones_like(latent[:, 1:]), torch.zeros_like(latent[:, 1:]))
    drawn = []
    monkeypatch.setattr(model.decoder.likelihood, "nll", lambda *both: drawn.append(both) or torch.zeros(()), raising=False)
    terms = RecurrentState(free=0.0)(model, batch)
    ((picture, frame),) = drawn
    assert torch.equal(frame, batch.obs.flatten(0, 1)) and torch.allclose(picture, model.decoder(dist.mean), atol=1e-5)
    after = kl_divergence(q, Normal(1.0, 1.0)).sum((2, 3))[:, 1:].mean().item()
    first = kl_divergence(q, Normal(0.0, 1.0)).sum((2, 3))[:, 0].mean().item()
    assert terms["dynamics"].item() == pytest.approx(after, rel=1e-4)
    assert terms["representation"].item() == pytest.approx(0.1 * (after + first), rel=1e-4)


def test_the_prior_does_not_see_what_it_predicts(built):
    model, batch = built("rssm")
    latent = torch.randn_like(model.encode(batch.obs.flatten(0, 1)).unflatten(0, (6, 3)))
    other = latent.clone()
    other[:, 2] += 1
    before, after = (model.transition.prior(one, batch.action) for one in (latent, other))
    assert torch.equal(before.mean, after.mean) and torch.equal(before.logvar, after.logvar)
    other[:, 1] += 1
    seen = model.transition.prior(other, batch.action).mean
    assert torch.equal(seen[:, 0], before.mean[:, 0]) and not torch.equal(seen[:, 1], before.mean[:, 1])


@torch.no_grad()
def test_what_is_trained_is_what_rolls(built):
    """The mean of the prior is the model's prediction, and heeds the action."""
    model, batch = built("rssm")
    latent = model.eval().encode(batch.obs.flatten(0, 1)).unflatten(0, (6, 3))
    mean = model.transition.prior(latent, batch.action).mean
    torch.testing.assert_close(mean, model.predict_windows(latent, batch.action))
    assert not torch.equal(model.transition.prior(latent, batch.action.roll(1, -1)).mean, mean)


def test_free_nats_cost_nothing(built):
    model, batch = built("rssm")
    terms = RecurrentState(dynamics=1.0, representation=0.1, free=1e6)(model, batch)
    assert terms["dynamics"] == 1e6 and terms["representation"].item() == pytest.approx(2e5)


@pytest.mark.parametrize("objective, key, model, term", [
    (InfoNCE, "squared_weight", "modular", "squared"),
    (RecurrentState, "representation", "rssm", "representation"),
    (RecurrentState, "dynamics", "rssm", "dynamics"),
    (VICReg, "covariance", "modular", "covariance"),
    (VICReg, "variance", "modular", "variance"),
    (VICReg, "prediction", "modular", "prediction"),
])  # fmt: skip
def test_weights_weigh(built, objective, key, model, term):
    """What rows of equal effort draw: three times the weight is three times the term, and nothing else."""
    built_model, batch = built(model)
    one, three = (objective(**{key: weight})(built_model.eval(), batch) for weight in (1.0, 3.0))
    assert three[term].item() == pytest.approx(3 * one[term].item(), rel=1e-4) and one[term] > 0
    assert all(three[other].item() == pytest.approx(one[other].item(), rel=1e-4) for other in one if other != term)


def test_a_wider_hinge_holds_states_further_apart(built):
    """By as much as it is wider, where everything lies inside of both; of the own window as well."""
    model, batch = built("modular")
    for objective, name in (
        (Contrastive, "negative"),
        (partial(Contrastive, same_episode=True), "same_episode"),
        (AllPairsHinge, "negative"),
    ):
        found = []
        for hinge in (1e3, 3e3):
            torch.manual_seed(0)
            found.append(objective(hinge=hinge)(model.eval(), batch)[name].item())
        assert found[1] - found[0] == pytest.approx(2e3, rel=1e-3)
