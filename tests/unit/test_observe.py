"""What models are shown of a world: frames, or factors worked out by hand; and the parts that read and write factors."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from envs.chemistry import STATIC_CELLS, ChemistryWorld
from envs.collect import collect, header
from envs.frames import frame_ids
from envs.physics import PhysicsWorld
from envs.problem import Problem
from eval.rollouts import counterfactual_ranks, encode_frames
from models.decoders import FlatDecoder, SlotDecoder
from models.encoders import Entities, FlatEncoder, SlotEncoder, VariationalEncoder
from models.layers.pixels import as_obs
from models.likelihoods import Bernoulli
from train.datamodule import Windows


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    split = {"episodes": 4, "length": 6, "seed": 1, "mode": "train"}
    env = {"name": "chemistry", "drop_invalid": False, "splits": {"train": split}}
    return collect(env, ChemistryWorld(3, 4, graph="chain3"), "train", tmp_path_factory.mktemp("d"), quiet=True)


def states(**more):
    return ChemistryWorld(3, 4, graph="chain3", observation="state", **more)


def test_factors_by_hand():
    """A colour, and where cells change a cell: 4 colours, then 25 cells row by row."""
    boards = states().reset(2, np.random.default_rng(0))
    boards.colors[:] = [[0, 3, 1], [2, 2, 0]]
    wanted = np.zeros((2, 3, 4), np.uint8)
    for b, row in enumerate(boards.colors):
        for i, color in enumerate(row):
            wanted[b, i, color] = 1
    assert np.array_equal(states().observe(boards), wanted) and states().shown.shape == (3, 4)
    moving = states(movement="dynamic")
    both = moving.observe(boards)
    assert np.array_equal(both[..., :4], wanted) and moving.shown.shape == (3, 29)
    assert both[0, :, 4:].argmax(-1).tolist() == [row * 5 + column for row, column in STATIC_CELLS[:3]]


def test_physics_tells_the_weight_rank_unless_it_is_hidden():
    """25 cells, and for every object its place in the order of weights."""
    world = PhysicsWorld(3, object_order="shuffled", observation="state")
    boards = world.reset(5, np.random.default_rng(0))
    shown = world.observe(boards)
    assert shown.shape == (5, 3, 28)
    assert np.array_equal(shown[..., 25:].argmax(-1).argsort(1), boards.weights.argsort(1))
    hidden = PhysicsWorld(3, hidden_weights=True, observation="state")
    assert hidden.observe(boards).shape == (5, 3, 25)
    assert (world.shown.shape, hidden.shown.shape) == ((3, 28), (3, 25))


def test_frames_are_shown_unless_asked_otherwise():
    """The default is pixels, and one data file serves both."""
    world = ChemistryWorld(3, 4, graph="chain3")
    boards = world.reset(2, np.random.default_rng(0))
    assert np.array_equal(world.observe(boards), world.render(boards))
    split = {"episodes": 1, "length": 1, "seed": 1, "mode": "train", "drop_invalid": False}
    assert header(world, split, "train") == header(states(), split, "train")


@pytest.mark.parametrize("world", [ChemistryWorld, PhysicsWorld])
def test_an_unknown_observation_is_refused(world):
    """By the world itself, where no command has looked before."""
    with pytest.raises(Problem, match="no observation 'stat': did you mean 'state'"):
        world(observation="stat")


def test_a_file_is_read_as_either(file):
    """The same rows as frames and as factors; two rows have one name as frames exactly where they have one as factors."""
    factors, frames, state = file.read("objects", "pixels", "state").values()
    boards = states().unpack(state)
    assert np.array_equal(frames, states().render(boards)) and np.array_equal(factors, states().observe(boards))
    assert np.array_equal(factors.argmax(-1), state[..., 2]) and factors.dtype == np.uint8
    for names in (frame_ids(frames), frame_ids(factors)):
        assert np.array_equal(names[:, None] == names, (state[:, None, :, 2] == state[:, :, 2]).all(-1))


def test_windows_hold_factors(file):
    """Batches of zeros and ones, not of 255ths, in the order of the file."""
    part = Windows(file, states().spec, 2, 6, 0, True, "state")
    batch = part.gather(part.starts[:3])
    factors, action = file.read("objects", "action").values()
    for i, start in enumerate(part.starts[:3].tolist()):
        assert np.array_equal(batch.obs[i].numpy(), factors[start : start + 3])
        assert batch.action[i].argmax(-1).tolist() == action[start : start + 2].tolist()
    assert batch.obs.dtype == torch.float32 and batch.obs.max() == 1


def test_evaluation_reads_what_training_reads():
    """Factors reach the encoder as zeros and ones, in scores and in what-if; who knows the rule ranks every outcome first."""
    world = PhysicsWorld(3, object_order="shuffled", observation="state")

    class Knowing:
        """latent = factors, from which the board is restored."""

        device = "cpu"

        def encode(self, obs):
            assert obs.dtype == torch.float32 and set(obs.unique().tolist()) == {0.0, 1.0}
            return obs

        def rollout(self, latent, actions):
            boards = world.reset(len(latent), np.random.default_rng(0))
            boards.positions[:] = np.stack(np.divmod(latent[..., :25].argmax(-1).numpy(), 5), -1)
            boards.weights[:] = latent[..., 25:].argmax(-1).numpy()
            after, _ = world.step(boards, actions[:, 0].argmax(-1).numpy(), None)
            return torch.from_numpy(world.observe(after)).float()[:, None]

    rng = np.random.default_rng(1)
    boards = world.reset(6, rng)
    obs = world.observe(boards)
    assert torch.equal(encode_frames(Knowing(), obs, batch=4), torch.from_numpy(obs).float())
    ranks = counterfactual_ranks(Knowing(), world, obs, world.pack(boards), rng.integers(0, 15, (6, 1)), 1, rng)
    assert (ranks.model == 0).all() and not (ranks.copy == 0).all()


@pytest.mark.parametrize("encoder", [SlotEncoder, FlatEncoder, VariationalEncoder])
def test_encoders_read_factors(encoder):
    """(B, N, F) to the latent's shape, through no extractor: every weight belongs to the perceptron."""
    built = encoder(Entities(3, 5), 8, 16).eval()
    obs = as_obs(torch.eye(5, dtype=torch.uint8)[torch.tensor([[0, 1, 2], [4, 4, 4]])])
    belief = built(obs)
    assert belief.mean.shape == ((2, 3, 8) if encoder is SlotEncoder else (2, 1, 24))
    assert all(name.startswith("mlp.") for name, _ in built.named_parameters())
    assert not torch.allclose(belief.mean[0], belief.mean[1])


def test_equal_factors_of_two_objects_are_two_slots():
    """A shared perceptron is told which object it reads, and reads nothing of the others."""
    encoder = SlotEncoder(Entities(3, 5), 8, 16).eval()
    obs = torch.zeros(1, 3, 5)
    slots = encoder(obs).mean[0]
    assert not torch.allclose(slots[0], slots[1])
    obs[0, 2, 0] = 1
    assert torch.equal(encoder(obs).mean[0, :2], slots[:2])


def test_looks_need_a_picture():
    """There is none in a state."""
    with pytest.raises(
        ValueError, match="appearance=4 reads a picture, and this env.observation shows none; set model.appearance=0"
    ):
        SlotEncoder(Entities(3, 5), 8, appearance=4)


@pytest.mark.parametrize("decoder, latent", [(SlotDecoder, (2, 3, 8)), (FlatDecoder, (2, 1, 24))])
def test_decoders_write_factors(decoder, latent):
    """Logits in the shape of the factors."""
    assert decoder(3, 8, (3, 5), 0, hidden=16)(torch.randn(latent)).shape == (2, 3, 5)


def test_bce_of_factors_by_hand():
    """Summed over factors, mean over states; a one is a one."""
    obs = as_obs(torch.tensor([[[1, 0]], [[0, 1]]], dtype=torch.uint8))
    logits = torch.tensor([[[2.0, -1.0]], [[0.0, 3.0]]])
    wanted = -(F.logsigmoid(torch.tensor([2.0, 1.0, 0.0, 3.0]))).sum() / 2
    assert Bernoulli().nll(logits, obs).item() == pytest.approx(wanted.item())
