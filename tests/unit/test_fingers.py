"""model=fingers: the geometry it is told, its units, and what it refuses."""

import copy

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf, open_dict

from envs.trifinger.source.saved import COLUMNS, FEATURES, two_axes


@pytest.fixture(scope="module")
def model(request):
    compose = request.getfixturevalue("compose")
    cfg = compose("fit", "model=fingers", "loss=prediction", "env=trifinger_pushing")
    torch.manual_seed(0)
    return instantiate(cfg.model.module).eval()


def tables(count=8, seed=0):
    rng = np.random.default_rng(seed)
    table = np.zeros((count, 4, 26), np.float32)
    for name in ("position", "joint_positions", "joint_velocities"):
        table[:, :3, COLUMNS[name]] = rng.normal(0, 0.1, (count, 3, 3))
    block = table[:, 3]
    block[:, COLUMNS["is_block"]], block[:, COLUMNS["size"]], block[:, COLUMNS["mass"]] = 1, 0.065, 0.08
    block[:, COLUMNS["axes"]] = two_axes(rng.normal(0, 1, (count, 4)))
    for name in ("position", "linear_velocity", "angular_velocity"):
        block[:, COLUMNS[name]] = rng.normal(0, 0.1, (count, 3))
    return torch.from_numpy(table), torch.from_numpy(rng.uniform(-1, 1, (count, 9)).astype(np.float32))


def test_columns_are_those_of_the_table(model, compose):
    columns = compose("fit", "model=fingers", "env=trifinger_pushing").model.columns
    assert [(name, len(units)) for name, units in columns.items()] == list(FEATURES)


def test_a_table_comes_back_from_its_latent(model):
    table, _ = tables()
    model.fit_normalisation(type("Rows", (), {"rows": torch.arange(8), "frames": lambda self, rows: table[rows]})())
    assert torch.allclose(model.decode(model.encode(table)), table, atol=1e-6)


def test_turning_the_world_by_a_finger_turns_the_prediction(model):
    """By -120 degrees about the vertical: finger 1 is where finger 0 was, and everything that is a vector turns. The block's
    own answer may depend on its place."""
    table, action = tables()
    angle = np.radians(-120)
    turn = torch.tensor([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]], dtype=torch.float32)

    def turned(table):
        table = torch.cat([table[:, :3].roll(1, 1), table[:, 3:]], 1)
        for name in ("position", "axes", "linear_velocity", "angular_velocity"):
            part = table[..., COLUMNS[name]].unflatten(-1, (-1, 3)) @ turn.T
            table[..., COLUMNS[name]] = part.flatten(-2)
        return table

    with torch.no_grad():
        placeless = copy.deepcopy(model)
        placeless.transition.block[0].weight[:, -4:-1] = 0  # where it is; how far out stays
        for each, rows in ((model, 3), (placeless, 4)):
            one = each.decode(each.transition(each.encode(table), action))
            other = each.decode(each.transition(each.encode(turned(table)), action.view(-1, 3, 3).roll(1, 1).flatten(1)))
            assert (one - table).abs().amax() > 1e-3
            assert torch.allclose(turned(one)[:, :rows], other[:, :rows], atol=2e-5)


def test_turning_the_world_turns_the_block(model):
    """By any angle: what the block answers where it is not told its place,
    and what it receives of fingers that are turned as well."""
    table, _ = tables()
    angle = np.radians(50)
    turn = torch.tensor([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]], dtype=torch.float32)
    turned = table.clone()
    for name in ("position", "axes", "linear_velocity", "angular_velocity"):
        part = table[..., COLUMNS[name]].unflatten(-1, (-1, 3)) @ turn.T
        turned[..., COLUMNS[name]] = part.flatten(-2)
    transition, push, finger = model.transition, torch.randn(8, 12), torch.zeros(8, 3, 9)
    with torch.no_grad():
        (_, own, axes), (_, other, later) = (transition._seen(one, torch.zeros(8, 3, 3)) for one in (table, turned))
        told = [*range(10), 13]  # velocities, the block's height on its axes, above the floor, and how far out it is
        assert torch.allclose(own[:, told], other[:, told], atol=1e-4)
        assert torch.allclose(later, turn @ axes, atol=1e-5)
        change, again = (transition._change(one, its, finger, push)[:, 3] for one, its in ((table, axes), (turned, later)))
    for name in ("position", "axes", "linear_velocity", "angular_velocity"):
        part = change[..., COLUMNS[name]].unflatten(-1, (-1, 3)) @ turn.T
        assert part.abs().max() > 1e-3 and torch.allclose(part.flatten(-2), again[..., COLUMNS[name]], atol=1e-4), name


def test_fingers_are_told_how_far_the_block_is(model):
    """From its surface, in units of 2 cm: a centimetre outside, at a face, above an edge, and in its middle."""
    table, _ = tables(1)
    block = table[0, 3]
    first, second = block[COLUMNS["axes"]].view(2, 3)
    third, half = torch.linalg.cross(first, second), 0.065 / 2
    offsets = [(half + 0.01) * first, -half * second, (half + 0.003) * second + (half + 0.004) * third]
    expected = [0.01, 0.0, 0.005]
    table = table.repeat(2, 1, 1)
    table[0, :3, COLUMNS["position"]] = block[COLUMNS["position"]] + torch.stack(offsets)
    table[1, :3, COLUMNS["position"]] = block[COLUMNS["position"]]
    x, _, _ = model.transition._seen(table, torch.zeros(2, 3, 3))
    assert torch.allclose(x[0, :, -2] * 0.02, torch.tensor(expected), atol=1e-6)
    assert torch.allclose(x[1, :, -2] * 0.02, torch.full((3,), -half), atol=1e-6)


def test_a_finger_answers_to_its_own_action_alone(model):
    """The block feels all of them; constants of the table stay."""
    table, action = tables()
    other = action.clone()
    other[:, :3] *= -1
    with torch.no_grad():
        one, two = (model.transition(model.encode(table), each) for each in (action, other))
    differs = (one != two).flatten(2).any(-1)
    assert differs[:, 0].all() and differs[:, 3].all() and not differs[:, 1:3].any()
    still = [COLUMNS[name] for name in ("is_block", "size", "mass")]
    assert all(torch.equal(one[..., part], model.encode(table)[..., part]) for part in still)


def test_another_table_is_refused(compose):
    cfg = compose("fit", "model=fingers", "env=trifinger_reaching")
    with pytest.raises(Exception, match="moves 3 fingers and one block, got a table of 3 rows"):
        instantiate(cfg.model.module)
    cfg = compose("fit", "model=fingers", "env=trifinger_pushing")
    with open_dict(cfg):
        cfg.spec = OmegaConf.merge(cfg.spec, {"shown": {"shape": [4, 7]}})
    with pytest.raises(Exception, match=r"reads a table \(N, 26\) of is_block, position"):
        instantiate(cfg.model.module)
    cfg = compose("fit", "model=fingers", "env=physics5")
    with pytest.raises(Exception, match=r"an observation has shape \(50, 50, 3\); set model=modular"):
        instantiate(cfg.model.module)
