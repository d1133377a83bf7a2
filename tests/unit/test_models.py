"""Sizes and functions of the model parts."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from torch import nn
from torch.nn import functional as F

from envs.physics import PhysicsWorld
from models.decoders import painter
from models.encoders import BoardMaps, FlatEncoder, SlotEncoder
from models.encoders.maps import CellSoftmax, extractor
from models.interfaces import Latent
from models.layers.patches import PatchConv2d, PatchConvTranspose2d
from models.transitions.edge import EdgeTransition
from models.transitions.gnn import GNNTransition
from models.transitions.interaction import InteractionTransition
from models.transitions.modular import ModularTransition
from models.world_model import WorldModel

PAPER = {  # parameters of encoder, decoder, transition for 5 objects, 128 units each, medium extractor
    "ae": (860389, 453879, 2050688),
    "vae": (1188709, 453879, 2050688),
    "gnn": (392933, 220007, 1318016),
    "modular": (392933, 220007, 684040),
}


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("model", PAPER)
def test_parameter_counts_as_published(compose, model):
    """The paper's protocol has the paper's models, to the last weight."""
    loss = "nll" if model == "vae" else "contrastive"
    cfg = compose("fit", "experiment=paper_physics", f"model={model}", f"loss={loss}", "env=physics5")
    built = instantiate(cfg.model.module)
    assert (count(built.encoder), count(built.decoder), count(built.transition)) == PAPER[model]


def test_nine_blocks_are_learned_as_measured(compose):
    """What docs/measured.md tells of them."""
    cfg = compose("fit", "experiment=nine_blocks")
    assert (cfg.env.name, cfg.env.world.board, cfg.spec.objects) == ("physics9_7x7", 7, 9)
    stage = cfg.loss.stages[0]
    assert (cfg.model.name, cfg.loss.name, cfg.trainer.cpu_minutes) == ("edge", "infonce", 10)
    assert (stage.learning_rate, stage.hard_share, stage.weight_decay, stage.window, stage.epochs) == (1e-3, 0.75, 0.3, 4, 10)


def randomised(module):
    """Weights away from the start, where many biases are 0 and norms 1."""
    torch.manual_seed(3)
    for p in module.parameters():
        nn.init.normal_(p, std=0.3)
    return module.double().eval()


def test_gnn_equals_naive_pairs():
    """The factored GNN equals the loop over ordered pairs that concatenates [slot, other]."""
    k, d, a = 4, 3, 5
    gnn = randomised(GNNTransition(k, k * a, d, 16))
    z, action = torch.randn(6, k, d).double(), torch.randn(6, k * a).double()
    result = []
    for i in range(k):
        incoming = 0
        for j in range(k):
            if i != j:
                pair = torch.cat([z[:, i], z[:, j]], -1)
                incoming = incoming + gnn.edge_out(gnn.edge(gnn.edge_in(pair)))
        result.append(z[:, i] + gnn.node(torch.cat([z[:, i], action[:, i * a : (i + 1) * a], incoming], -1)))
    assert torch.allclose(gnn(z, action), torch.stack(result, 1), atol=1e-10)


def test_modular_equals_separate_networks():
    """Slot k is what a network of its own, made of plain layers, gives."""
    k, d, a = 3, 4, 15
    modular = randomised(ModularTransition(k, a, d, 24))
    z, action = torch.randn(6, k, d).double(), torch.randn(6, a).double()

    def linear(layer, i, x):
        return F.linear(x, layer.weight[i].T, layer.bias[i, 0])

    def norm(layer, i, x):
        return F.layer_norm(x, x.shape[-1:], layer.weight[i, 0], layer.bias[i, 0])

    _, one, norm1, _, two, norm2, _, three = modular.net
    for i in range(k):
        x = torch.cat([linear(modular.action, i, action), linear(modular.state, i, z.flatten(1))], -1).relu()
        x = norm(norm1, i, linear(one, i, x)).relu()
        x = norm(norm2, i, linear(two, i, x)).relu()
        assert torch.allclose(modular(z, action)[:, i], z[:, i] + linear(three, i, x), atol=1e-10)


def test_modular_networks_do_not_share():
    """Network 1 has no say in slot 0."""
    modular = randomised(ModularTransition(3, 15, 4, 24))
    z, action = torch.randn(2, 3, 4).double(), torch.randn(2, 15).double()
    before = modular(z, action)
    with torch.no_grad():
        for p in modular.parameters():
            p[1] += 1
    after = modular(z, action)
    assert torch.equal(after[:, [0, 2]], before[:, [0, 2]]) and not torch.allclose(after[:, 1], before[:, 1])


def test_edge_equals_naive_pairs():
    """The edge transition equals the loop over receivers and senders."""
    k, d, a, h = 3, 4, 15, 8
    edge = randomised(EdgeTransition(k, a, d, h))
    z, action = torch.randn(5, k, d).double(), torch.randn(5, a).double()
    pairs = edge.pair_action(action).view(5, k, k - 1, h)
    told = edge.slot_action(action).view(5, k, h)
    result = []
    for i in range(k):
        senders = [j for j in range(k) if j != i]
        incoming = sum(edge.edge(edge.own(z[:, i]) + edge.other(z[:, j]) + pairs[:, i, s]) for s, j in enumerate(senders))
        result.append(z[:, i] + edge.node(edge.node_in(torch.cat([z[:, i], incoming], -1)) + told[:, i]))
    assert torch.allclose(edge(z, action), torch.stack(result, 1), atol=1e-10)


def test_rollout_feeds_its_own_predictions():
    """Steps 1..T of a rollout are the transition applied again and again."""
    model = WorldModel(nn.Identity(), lambda z, a: 2 * z + a[:, None])
    z = torch.ones(1, 1, 1)
    assert model.rollout(z, torch.tensor([[[1.0], [0.0], [5.0]]])).flatten().tolist() == [3.0, 6.0, 17.0]


@pytest.mark.parametrize("size", ["patch", "small", "medium", "large"])
def test_uint8_and_float_frames_are_the_same(size):
    """The first layer scales bytes to [0, 1] in its weights: the same function up to rounding, for every extractor."""
    torch.manual_seed(0)
    model = WorldModel(FlatEncoder(BoardMaps(3, size=size, channels=4), 4, 16), nn.Identity()).eval()
    obs = torch.randint(0, 256, (2, 3, 50, 50), dtype=torch.uint8)
    torch.testing.assert_close(model.encode(obs), model.encode(obs.float() / 255), rtol=1e-4, atol=1e-5)
    first, gradients = model.encoder.maps[0], []
    for frames in (obs, obs.float() / 255):
        first.zero_grad()
        first(frames).pow(2).sum().backward()
        gradients.append([p.grad.clone() for p in first.parameters()])
    torch.testing.assert_close(first(obs), first(obs.float() / 255), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-3)


def test_a_subclass_reads_floats_until_it_says_otherwise():
    """What looks at the frames before the first layer must not meet bytes by inheritance."""

    class Darker(SlotEncoder):
        def forward(self, obs):
            return super().forward(obs * 0.5)

    torch.manual_seed(0)
    model = WorldModel(Darker(BoardMaps(3, size="small", channels=4), 4, 16), nn.Identity()).eval()
    obs = torch.randint(0, 256, (2, 3, 50, 50), dtype=torch.uint8)
    torch.testing.assert_close(model.encode(obs), model.encode(obs.float() / 255))


def test_an_encoder_of_ones_own_reads_floats():
    """Who does not ask for bytes is given numbers from 0 to 1."""
    seen = []
    model = WorldModel(lambda obs: seen.append(obs) or Latent(obs.flatten(1)[:, None]), nn.Identity())
    obs = torch.randint(0, 256, (2, 3, 50, 50), dtype=torch.uint8)
    model.encode(obs)
    torch.testing.assert_close(seen[0], obs.float() / 255)


def test_only_weights_of_layers_decay():
    """A step without gradients shrinks weights and leaves biases, norms and the temperature as they were."""
    model = WorldModel(SlotEncoder(BoardMaps(3, size="patch", channels=4), 4, 16), ModularTransition(3, 5, 4, 16))
    model.configure_stage(lambda: None, ["encoder", "transition"], 0.1, weight_decay=0.5)
    model._trainer = SimpleNamespace(gradient_clip_val=None)
    torch.nn.utils.vector_to_parameters(torch.ones(sum(p.numel() for p in model.parameters())), model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    model.configure_optimizers().step()
    for name, parameter in model.named_parameters():
        layer = model.get_submodule(name.rsplit(".", 1)[0])
        decays = name.endswith("weight") and "Norm" not in type(layer).__name__
        assert parameter.unique().tolist() == pytest.approx([0.95 if decays else 1.0]), name


def test_tied_weights_are_one_parameter():
    """Listed twice they would be moved twice."""
    one = nn.Linear(2, 2)
    model = WorldModel(nn.Sequential(one, one), nn.Identity())
    assert [len(group["params"]) for group in model._parameter_groups()] == [1, 1]


def test_cell_softmax_sums_to_one():
    """A map of `cells` is a distribution over cells; the temperature sharpens it."""
    softmax, maps = CellSoftmax(), torch.randn(2, 3, 5, 5)
    flat = softmax(maps)
    assert torch.allclose(flat.sum((2, 3)), torch.ones(2, 3))
    softmax.log_scale.data.fill_(3.0)
    assert (softmax(maps).amax((2, 3)) > flat.amax((2, 3))).all()


@pytest.mark.parametrize("size", ["patch", "small", "medium", "large"])
def test_every_size_goes_from_frames_to_frames(size):
    """Extractor maps lie in [0, 1] and the painter of the same size brings them back to 50 x 50."""
    maps = extractor(size, 3, 4).eval()(torch.rand(2, 3, 50, 50))
    assert maps.shape[:2] == (2, 3) and maps.min() >= 0 and maps.max() <= 1
    assert painter(size, 3, 8).eval()(maps).shape == (2, 3, 50, 50)


def test_unknown_size_is_refused():
    """The sentence lists the known sizes."""
    with pytest.raises(ValueError, match="set model.size= to one of patch, small, medium, large"):
        extractor("huge", 3)


def test_appearance_reaches_the_slot():
    """Two frames that differ in colour alone give other slots with features of appearance; other sizes refuse them."""
    torch.manual_seed(0)
    encoder = SlotEncoder(BoardMaps(3, size="patch", channels=8), 16, 64, appearance=4).eval()
    encoder.maps[-3].weight.data.zero_()  # maps that point everywhere alike, whatever the picture
    dark, light = torch.full((1, 3, 50, 50), 0.2), torch.full((1, 3, 50, 50), 0.8)
    assert not torch.allclose(encoder(dark).mean, encoder(light).mean)
    blind = SlotEncoder(BoardMaps(3, size="patch", channels=8), 16, 64).eval()
    blind.maps[-3].weight.data.zero_()
    assert torch.allclose(blind(dark).mean, blind(light).mean)
    with pytest.raises(ValueError, match="size=patch"):
        SlotEncoder(BoardMaps(3, size="small"), 16, appearance=4)


@pytest.mark.parametrize("kernel, size", [(1, 5), (5, 50), (10, 50), (3, 11)])
def test_patch_convolutions_are_convolutions(kernel, size):
    """Values and gradients of torch's own, on channels-last frames too and where the last patch is cut off."""
    torch.manual_seed(0)
    x = torch.randn(2, size, size, 4).permute(0, 3, 1, 2).requires_grad_()
    for ours in (PatchConv2d(4, 3, kernel), PatchConvTranspose2d(4, 3, kernel)):
        theirs = (nn.Conv2d if isinstance(ours, nn.Conv2d) else nn.ConvTranspose2d)(4, 3, kernel, stride=kernel)
        theirs.load_state_dict(ours.state_dict())
        assert torch.allclose(ours(x), theirs(x), atol=1e-5)
        grads = [torch.autograd.grad(m(x).pow(2).sum(), [x, *m.parameters()]) for m in (ours, theirs)]
        assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-3) for a, b in zip(*grads))


@pytest.mark.parametrize("seed", range(5))
def test_maps_begin_on_blocks(seed):
    """At the start every map of `cells` has more of its mass on the blocks than a flat one: none begins on the empty board."""
    torch.manual_seed(seed)
    world = PhysicsWorld()
    boards = world.reset(64, np.random.default_rng(seed))
    maps = extractor("patch", 5).train()(torch.from_numpy(world.render(boards)).permute(0, 3, 1, 2)).flatten(2)
    cell = torch.from_numpy(boards.positions[..., 0] * 5 + boards.positions[..., 1]).long()
    mass = maps.gather(2, cell[:, None].expand(-1, 5, -1)).sum(-1).mean(0)  # of each map on the five blocks
    assert (mass > 2 * 5 / 25).all()


@pytest.mark.parametrize("kind", [GNNTransition, InteractionTransition])
def test_graph_networks_under_every_action_at_once(kind):
    """Messages sent once and equal nodes asked once give what one pass for each action gives; so does sending all."""
    torch.manual_seed(0)
    model = WorldModel(torch.nn.Identity(), kind(3, 15, 8, 32)).eval()
    latent, actions = torch.randn(4, 3, 8), torch.eye(15)
    with torch.no_grad():
        made, memory = model.step_all_actions(latent, actions)
        one_by_one = torch.stack([model.transition(latent, a.expand(4, -1)) for a in actions], 1)
    assert memory is None
    torch.testing.assert_close(made.view(4, 15, 3, 8), one_by_one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind, heard", [(GNNTransition, False), (InteractionTransition, True)])
def test_who_hears_that_a_neighbour_is_acted_on(kind, heard):
    """Another action on object 0 changes what an interaction network predicts of object 1,
    and nothing that the GNN of C-SWM does."""
    torch.manual_seed(0)
    net, latent, (one, other) = kind(3, 15, 8, 32).double(), torch.randn(2, 3, 8).double(), torch.eye(15).double()[:2]
    change = (net(latent, one.expand(2, -1)) - net(latent, other.expand(2, -1))).abs().amax((0, 2))
    assert change[0] > 1e-6 and (change[1:] > 1e-6).tolist() == [heard, heard]
