"""Blocks as decoded: millimetres of those that moved, and the ranking by their poses alone."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from envs.spec import Observation
from eval.probes.block_error import block_error, millimetres, pose_ranks


def test_it_counts_blocks_that_moved_in_millimetres():
    true = np.zeros((4, 2, 3))
    predicted = true.copy()
    predicted[:, 0, 0] = (0.001, 0.002, 0.009, 5.0)
    predicted[:, 1, 1] = 7.0
    moved = np.array([[True, False], [True, False], [True, False], [False, False]])
    assert millimetres(predicted, true, moved) == pytest.approx((2.0, 4.0, 3))
    assert millimetres(predicted[:, :1], true[:, :1], moved[:, 0]) == pytest.approx((2.0, 4.0, 3))


def test_where_nothing_moved_there_is_no_error():
    found = millimetres(np.ones((3, 1, 3)), np.zeros((3, 1, 3)), np.zeros(3, bool))
    assert found.moved == 0 and np.isnan(found.median) and np.isnan(found.mean)


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        millimetres(np.zeros((3, 2, 3)), np.zeros((3, 1, 3)), np.ones(3, bool))


def test_poses_that_are_equal_to_the_resolution_are_one_outcome():
    """Two millimetres: a tenth of one is the same outcome, five are another."""
    true = np.array([[[0.1, 3.0]], [[0.1001, 3.0]], [[0.105, 3.0]]])
    assert pose_ranks(true[[1, 0, 2]], true).tolist() == [0, 0, 0]
    assert pose_ranks(true[[2, 2, 0]], true).tolist() == [1, 1, 1]


class Toy:
    """A finger and a block on a line, which models are shown as they are."""

    observation, shown = "objects", Observation("objects", (2, 3), values="real", resolution=1e-3)

    def __init__(self, blocks=1):
        self.first = 2 - blocks

    def blocks(self, table):
        return table[:, self.first :]

    def positions(self, table):
        return self.blocks(table)

    def poses(self, table):
        return self.blocks(table)[..., :2]  # the third number is a velocity

    def tips(self, table):
        return table[:, :1]


class Shifts:
    """Predicts the truth, the block 2 mm beside it."""

    device, decoder = torch.device("cpu"), True

    def decode(self, latent):
        return latent


def asked(world, moved):
    obs = np.zeros((5, 2, 2, 3), np.float32)
    obs[:, 1, 1, 0] = np.arange(5) / 100
    beside = torch.from_numpy(obs[:, 1] + np.array([[0, 0, 0], [0.002, 0, 0]], np.float32))
    data = SimpleNamespace(obs=obs, horizons=[1], predicted=lambda h: beside, events=lambda h: moved)
    run = SimpleNamespace(world=world, model=Shifts())
    assert block_error.why_not(run) is None
    return block_error(run, data)


def test_the_model_and_copying_are_measured_where_a_block_moves():
    found = asked(Toy(), {"moved": np.array([False, True, False, False, True])})
    assert found == pytest.approx({
        "test/block_error/median/h1": 2, "test/block_error/mean/h1": 2, "test/block_pose_hits@1/h1": 100,
        "floor/copy/block_error/median/h1": 25, "floor/copy/block_error/mean/h1": 25, "floor/copy/block_pose_hits@1/h1": 0,
    }, abs=1e-3)  # fmt: skip
    whole = asked(Toy(), {})  # the data do not tell
    assert whole["floor/copy/block_error/mean/h1"] == pytest.approx(20, abs=1e-3)
    assert whole["floor/copy/block_pose_hits@1/h1"] == 20
    assert asked(Toy(blocks=0), {}) == {}


def test_worlds_without_blocks_pictures_and_models_without_decoder_are_not_asked():
    run = SimpleNamespace(world=object(), model=Shifts())
    assert block_error.why_not(run).startswith("asks a world for Blocks, which object does not answer")
    run = SimpleNamespace(world=Toy(), model=SimpleNamespace(decoder=None))
    assert block_error.why_not(run) == "asks a decoder, and the model has none"
    run.world.shown, run.world.observation = Observation("pixels", (64, 64, 3)), "pixels"
    assert block_error.why_not(run) == "reads blocks off a table, and models are shown pixels"


def test_velocities_name_no_outcome():
    """A prediction whose velocity is another one's is still right: only where the block lies counts."""
    world, true = Toy(), np.zeros((3, 2, 3))
    true[:, 1] = [[0.0, 0, 9], [0.01, 0, 5], [0.02, 0, 1]]
    guess = true.copy()
    guess[:, 1, 2] = (1, 9, 5)
    assert pose_ranks(world.poses(guess), world.poses(true)).tolist() == [0, 0, 0]
    assert pose_ranks(world.poses(true[[1, 2, 0]]), world.poses(true)).min() > 0
