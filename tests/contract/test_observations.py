"""Every kind of observation has its trunk, its likelihood and its units; what does not fit is refused in a sentence."""

import math

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf, open_dict
from parts import models, plain
from torch.nn import functional as F

from envs.problem import Problem
from models.encoders import BoardMaps, ConvMaps, Entities, SceneMaps, SceneTiles
from models.interfaces import Batch
from models.layers.normalised import Normalised
from models.likelihoods import Bernoulli, Gaussian
from train.checks import check_parts

DISCRETE = {"size": 15, "discrete": True, "owners": 3, "low": [], "high": []}
VECTOR = {"size": 9, "discrete": False, "owners": 1, "low": [], "high": []}
WORLDS = {  # what is shown and what is done
    "board": ((50, 50, 3), "binary", DISCRETE), "one-hot table": ((3, 8), "binary", DISCRETE),
    "real table": ((4, 7), "real", VECTOR), "one view": ((64, 64, 3), "binary", VECTOR),
    "three views": ((64, 64, 9), "binary", VECTOR), "video": ((64, 64, 3), "binary", {**VECTOR, "size": 0}),
}  # fmt: skip
TRUNKS = {"board": BoardMaps, "one-hot table": Entities, "real table": Entities}
MODELS = models()


def spec_of(shape, values, action):
    observed = {"column": "seen", "shape": list(shape), "values": values, "resolution": 0.0}
    shown = observed | {"board": 5 * (tuple(shape) == WORLDS["board"][0])}
    slots = shape[0] if len(shape) == 2 else 3
    return {"observations": {"seen": observed}, "action": action, "objects": 3, "shown": shown, "slots": slots, "paints": True}


def batch_of(world, size=3, steps=1):
    """Random windows as `Windows` gives them; real values far from 0 and from spread 1."""
    (shape, values, action), full = WORLDS[world], (size, steps + 1)
    if len(shape) == 3:
        obs = torch.randint(0, 256, (*full, shape[2], *shape[:2]), dtype=torch.uint8)
    else:
        obs = torch.randint(0, 2, (*full, *shape)).float()
        obs = obs if values == "binary" else 50 + 0.01 * torch.randn(*full, *shape)
    count, drawn = action["size"], torch.randn(size, steps, action["size"])
    if action["discrete"]:
        drawn = F.one_hot(torch.randint(0, count, (size, steps)), count).float()
    return Batch(obs, drawn, torch.arange(size * (steps + 1)).view(full))


class Rows:
    """The observations of a batch, as training windows hand them out."""

    def __init__(self, obs):
        self.obs, self.rows = obs.flatten(0, 1), torch.arange(obs.shape[:2].numel())

    def frames(self, rows):
        return self.obs[rows]


def built(compose, model, world, *overrides):
    """(config, model) of a world that exists as a spec alone."""
    cfg = compose("fit", f"model={model}", *overrides)
    with open_dict(cfg):
        cfg.spec = spec_of(*WORLDS[world])
        if "appearance" in cfg.model and len(WORLDS[world][0]) == 2:
            cfg.model.appearance = 0
        if "graph" in cfg.model:
            cfg.model.graph = "full" if model == "categorical" else "none"
    torch.manual_seed(0)
    return cfg, instantiate(cfg.model.module)


@pytest.mark.parametrize("model", ["ae", "modular"])
@pytest.mark.parametrize("world", WORLDS)
def test_every_observation_has_its_trunk_and_its_likelihood(compose, model, world):
    """What is decoded has the shape of what is shown. Which losses train which models: test_every_combination.py."""
    cfg, net = built(compose, model, world, "loss=nll")
    batch = batch_of(world)
    net.fit_normalisation(Rows(batch.obs))
    net.eval()
    with torch.no_grad():
        latent = net.encode(batch.obs[:, 0])
        after, _ = net.step(latent, batch.action[:, 0])
        decoded = net.decode(after)
    assert latent.shape[1] == (1 if model == "ae" else cfg.spec.slots) and after.shape == latent.shape
    assert decoded.shape == batch.obs[:, 0].shape and decoded.isfinite().all()
    assert type(net.encoder.maps) is TRUNKS.get(world, ConvMaps)
    assert type(net.decoder.likelihood) is (Gaussian if world == "real table" else Bernoulli)


def test_models_and_losses_refuse_what_they_cannot_do(compose):
    """Categorical latents without choices, a control for pictures on a table, a loss on choices of objects with torques."""
    with pytest.raises(Exception, match="the actions of this env are no choices; set model=modular"):
        built(compose, "categorical", "one view")
    for model, loss, world, sentence in (
        ("random", "whitened", "real table", "has none; set model=modular"),
        ("modular", "inverse_action", "one view", "are no choices of objects; set loss=infonce"),
        ("modular", "inverse_action", "board", "that are categorical, and SlotEncoder gives vectors; set model=categorical"),
    ):
        cfg, net = built(compose, model, world, f"loss={loss}")
        with pytest.raises(Problem, match=sentence):
            check_parts(net, [instantiate(stage.objective) for stage in cfg.loss.stages], cfg.spec)


@pytest.mark.parametrize("env, observation", [("physics5", "pixels"), ("physics3", "state"), ("chemistry_chain5", "pixels")])
def test_categorical_latents_are_of_worlds_whose_actions_paint(compose, env, observation):
    """Directions are choices of objects as well, and no picture shows which of them was commanded."""
    cfg = compose("fit", "model=categorical", "loss=inverse_action", f"env={env}", f"env.observation={observation}")
    asked = instantiate(cfg.model.module), [instantiate(stage.objective) for stage in cfg.loss.stages], cfg.spec
    if env.startswith("chemistry"):
        check_parts(*asked)
        return
    with pytest.raises(Problem, match="commanded to become, and the actions of this env do not say it; set env="):
        check_parts(*asked)


def test_real_values_are_seen_and_drawn_in_units_of_the_training_split(compose):
    """Encoder and decoder hold one mean and one spread, which a checkpoint keeps; a constant entry has spread 1."""
    _, net = built(compose, "modular", "real table", "loss=nll")
    obs = batch_of("real table", 50).obs
    obs[..., 0, 0] = 3.0
    net.fit_normalisation(Rows(obs))
    rows, layers = obs.flatten(0, 1), [layer for layer in net.modules() if isinstance(layer, Normalised)]
    assert len(layers) == 2
    normal = layers[0](rows)
    assert normal.mean(0).abs().max() < 1e-2 and not normal[:, 0, 0].any()
    assert torch.allclose(normal.std(0).flatten()[1:], torch.ones(27), atol=2e-2)
    assert torch.allclose(net.decoder.likelihood.mean(normal), rows, atol=1e-4)
    _, other = built(compose, "modular", "real table", "loss=nll")
    other.load_state_dict(net.state_dict())
    assert torch.equal(other.eval().encode(rows), net.eval().encode(rows))


def test_gaussian_by_hand():
    """Unit variance: half a squared error and half of ln 2 pi an entry; learned: the variance of a column is a parameter."""
    unit, learned = Gaussian((2, 3)), Gaussian((2, 3), "learned")
    obs, outputs = torch.zeros(5, 2, 3), torch.ones(5, 2, 3)
    told = 3 + 3 * torch.log(torch.tensor(2 * torch.pi))
    assert unit.nll(outputs, obs).item() == pytest.approx(told.item())
    assert unit.distance(outputs, obs).item() == pytest.approx(5 * told.item())
    assert learned.nll(outputs, obs).item() == pytest.approx(told.item())
    learned.nll(3 * outputs, obs).backward()
    assert (learned.log_variance.grad < 0).all()  # errors of three: the variance is too small
    learned.log_variance.data.fill_(math.log(4))
    assert learned.nll(outputs, obs).item() == pytest.approx(6 * 0.5 * (1 / 4 + math.log(4) + math.log(2 * math.pi)))
    with pytest.raises(ValueError, match="variance is unit or learned, got 'free'"):
        Gaussian((2, 3), "free")


def test_only_real_tables_have_buffers(compose):
    """Weights of models of boards keep their names: no normalisation, no likelihood among them."""
    for world in ("board", "one-hot table"):
        _, net = built(compose, "modular", world, "loss=nll")
        assert not [name for name in net.state_dict() if "normal" in name or "likelihood" in name]


@pytest.mark.parametrize("sides, said", [((60, 64), "a multiple of 8, got 60 x 64"), ((512, 512), "32 to 256 pixels a side")])
def test_pictures_of_strange_sizes_are_refused(sides, said):
    with pytest.raises(ValueError, match=said):
        ConvMaps(3, *sides)


def test_real_pictures_have_no_likelihood(compose):
    """A sentence, and a loss that needs none."""
    cfg = compose("fit", "model=modular", "loss=nll")
    with open_dict(cfg):
        cfg.spec = spec_of((64, 64, 1), "real", VECTOR)
    with pytest.raises(Exception, match="real values are decoded as a table"):
        instantiate(cfg.model.module)


def test_models_say_what_they_share_once():
    """Slot models name a transition and what differs; the encoder and the decoder stand in _slots.yaml and _flat.yaml."""
    shared = [name for name in MODELS if plain("model", name)["module"].get("decoder")]
    assert len(shared) == 14
    for name in shared:
        own = OmegaConf.load(f"{__file__.rsplit('/', 3)[0]}/configs/model/{name}.yaml")
        assert "decoder" not in own.module
        assert "trunk" not in (own.module.get("encoder") or {}) or name == "slot_attention", "its trunk is what it is about"


@pytest.mark.parametrize(("size", "kind"), [("whole", SceneMaps), ("tiles", SceneTiles)])
def test_whole_maps_of_a_scene_are_of_pictures_without_a_board(size, kind, compose):
    """What a slot reads depends on every corner of the picture, in either layout of memory; a board keeps its own maps."""
    torch.manual_seed(0)
    trunk, frames = kind(3, 64, 48, colors=6).eval(), torch.randint(0, 255, (2, 64, 48, 6), dtype=torch.uint8)
    seen = trunk(frames.permute(0, 3, 1, 2))
    assert seen.shape == (2, 3, trunk.numbers) and torch.allclose(
        seen, trunk(frames.permute(0, 3, 1, 2).contiguous()), atol=1e-5
    )
    for row, column in ((0, 0), (63, 47), (0, 47), (63, 0)):
        other = frames.clone()
        other[0, row, column] = 255 - other[0, row, column]
        changed = (trunk(other.permute(0, 3, 1, 2)) - seen).abs().amax(-1)
        assert (changed[0] > 1e-5).all() and (changed[1] < 1e-5).all()
    _, net = built(compose, "ae", "one view", "loss=infonce_open_loop", f"model.size={size}")
    assert type(net.encoder.maps) is kind
    with pytest.raises(Exception, match=size):
        built(compose, "ae", "board", "loss=infonce_open_loop", f"model.size={size}")
