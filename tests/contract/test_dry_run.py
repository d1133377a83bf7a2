"""Parts of wrong shapes are told by their names before data are collected; parts of ours are of the right ones."""

import pytest
import torch
from hydra.utils import instantiate
from parts import entries, models, pair
from torch import nn

from envs.problem import Problem
from envs.spec import Action, EnvSpec, Observation
from models.world_model import WorldModel
from train.dry_run import check_shapes

SHOWN = Observation("pixels", (50, 50, 3))
SPEC = EnvSpec({"pixels": SHOWN}, Action(4), 2)


class Slots(nn.Module):
    """Two slots of three numbers, of any picture."""

    def __init__(self, *shape):
        super().__init__()
        self.shape = shape or (2, 3)

    def forward(self, obs):
        from models.interfaces import Latent

        return Latent(obs.new_zeros(len(obs), *self.shape))


class Moved(nn.Module):
    """Reads latents of three numbers and actions of four."""

    def __init__(self, width=3, slots=2):
        super().__init__()
        self.change, self.slots = nn.Linear(3 + 4, width), slots

    def forward(self, latent, action):
        return self.change(torch.cat([latent, action[:, None].expand(-1, latent.shape[1], -1)], -1))[:, : self.slots]


def gives(terms):
    class Mine:
        def __call__(self, model, batch):
            return terms

    return Mine()


class Bare(Slots):
    """Forgets that latents have a kind."""

    def forward(self, obs):
        return super().forward(obs).mean


@pytest.mark.parametrize("encoder, transition, loss, said", [
    (Bare(), Moved(), gives({}), r"Bare gave \(2, 2, 3\); an encoder gives a Latent, as Latent\(mean\)"),
    (Slots(), Moved(), gives({}), r"Mine gave a dict; a loss gives named scalars"),
    (Slots(2), Moved(), gives({}),
     r"Slots gave \(2, 2\) for observations \(2, 3, 50, 50\); an encoder gives latents \(B, K, D\)"),
    (Slots(2, 5), Moved(), gives({}), r"Moved cannot read latents and actions \(2, 2, 5\) and \(2, 4\): mat1 and mat2 shapes"),
    (Slots(), Moved(width=4), gives({}), r"Moved gave \(2, 2, 4\) for latents \(2, 2, 3\); a transition keeps their shape"),
    (Slots(), Moved(slots=1), gives({}), r"Moved gave \(2, 1, 3\) for latents \(2, 2, 3\)"),
    (Slots(), Moved(), gives(torch.zeros(())), r"Mine gave \(\); a loss gives named scalars, {'name': term}"),
    (Slots(), Moved(), gives({"mine": torch.zeros(2)}),
     r"term 'mine' of Mine is \(2,\); every term of a loss is a scalar, as term.mean"),
    (Slots(), Moved(), gives({"mine": 0.5}), "term 'mine' of Mine is a float; every term"),
])  # fmt: skip
def test_wrong_shapes_are_told_by_name(encoder, transition, loss, said):
    """One slot in place of two trained to the end under the hinge, by broadcasting, and failed in scoring."""
    with pytest.raises(Problem, match=said):
        check_shapes(WorldModel(encoder, transition), [loss], SHOWN, SPEC)


def wants(read, **has):
    """A loss that reads something of the batch."""
    class Wants:
        def __call__(self, model, batch):
            read(batch)
            return {"term": batch.action.mean()}

    for name, value in has.items():
        setattr(Wants, name, value)
    return Wants()


@pytest.mark.parametrize("loss", [
    wants(lambda batch: batch.obs[:, 4]),
    wants(lambda batch: batch.action.flatten().topk(80)),
    wants(lambda batch: batch.labels["label"], columns=("label",)),
    wants(lambda batch: batch.latent.mean(), encoder_is_fixed=True),
    wants(lambda batch: batch.labels["label"], prepare=lambda self, model, windows: None),
])  # fmt: skip
def test_what_a_loss_may_have_in_training_is_not_refused(loss):
    """Longer windows, more of them, labels, latents that are kept."""
    net = WorldModel(Slots(), Moved())
    net.encoder.eval()
    check_shapes(net, [loss], SHOWN, SPEC)
    assert net.training and not net.encoder.training, "modes are as they were"


def test_a_discrete_action_is_one():
    """All zeros are no choice, and a transition may look for the one."""
    class Chosen(Moved):
        def forward(self, latent, action):
            return super().forward(latent, torch.eye(4)[action.nonzero()[:, 1]])

    check_shapes(WorldModel(Slots(), Chosen()), [], SHOWN, EnvSpec({"pixels": SHOWN}, Action(4, discrete=True), 2))


@pytest.mark.parametrize("model", models())
def test_ours_are_as_they_were(compose, model):
    """Neither weights nor random numbers are others afterwards;
    that shapes are right, test_every_combination.py asks of every pair."""
    loss = next(loss for loss in entries("loss") if pair(model, loss))
    cfg = compose(
        "fit", f"model={model}", f"loss={loss}", f"env={'chemistry_chain5' if model == 'categorical' else 'physics3'}"
    )
    world, net = instantiate(cfg.env.world), instantiate(cfg.model.module)
    before, drawn = {key: value.clone() for key, value in net.state_dict().items()}, torch.random.get_rng_state()
    check_shapes(net, [instantiate(stage.objective) for stage in cfg.loss.stages], world.shown, world.spec)
    assert net.training and torch.equal(torch.random.get_rng_state(), drawn)
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
