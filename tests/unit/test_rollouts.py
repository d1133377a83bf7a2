"""Counterfactual outcomes and their ranks, with models whose worth is known beforehand."""

import weakref
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from envs.frames import frame_ids
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.spec import Action
from eval.pages.rollout_figures import counterfactual_figure
from eval.probes.push_accuracy import predict_along
from eval.probes.weight_order import margins
from eval.rollouts import actions_of, branch, counterfactual_outcomes, counterfactual_ranks, encode_frames, rollout, rollout_at

WORLD = PhysicsWorld(3, object_order="shuffled")


class Perfect:
    """Knows the world: latent = the frame's number in a table of states; the transition runs the simulator."""

    device = "cpu"

    def __init__(self):
        self.states, self.codes = {}, {}

    def learn(self, state, pixels):
        for s, p in zip(state, frame_ids(pixels)):
            self.states[int(p)] = s

    def encode(self, frames):
        """The picture itself, as numbers: equal exactly where pictures are."""
        flat = frames.permute(0, 2, 3, 1).flatten(1).float()
        return flat[:, None]

    def rollout(self, latent, actions):
        frames = latent[:, 0].byte().view(-1, 50, 50, 3).numpy()
        state = np.stack([self.states[int(i)] for i in frame_ids(frames)])
        boards, steps = WORLD.unpack(state), []
        for action in actions.argmax(-1).numpy().T:
            boards, _ = WORLD.step(boards, action)
            frames = WORLD.render(boards)
            self.learn(WORLD.pack(boards), frames)  # a rollout may be taken up from here
            steps.append(torch.from_numpy(frames.reshape(len(boards), 1, -1)).float())
        return torch.stack(steps, 1)


class Constant(Perfect):
    """Says the same whatever happens."""

    def rollout(self, latent, actions):
        return torch.zeros(len(latent), actions.shape[1], *latent.shape[1:])


class Still(Perfect):
    """Says that nothing ever happens."""

    def rollout(self, latent, actions):
        return latent[:, None].expand(-1, actions.shape[1], -1, -1)


class Collapsed(Perfect):
    """Encodes and predicts one point: everything is tied."""

    def encode(self, frames):
        return torch.ones(len(frames), 1, 4)

    def rollout(self, latent, actions):
        return torch.ones(len(latent), actions.shape[1], 1, 4)


def situation(count=12, length=5):
    rng = np.random.default_rng(0)
    boards = WORLD.reset(count, rng)
    return WORLD.render(boards), WORLD.pack(boards), rng.integers(0, 15, (count, length))


@pytest.mark.parametrize("horizon", [1, 5])
def test_what_if_by_simulation(horizon):
    """Every sequence differs from the recorded one at one step at most, tries every action there, and its frame is true."""
    _, state, action = situation()
    sequences, boards, outcome, _ = counterfactual_outcomes(WORLD, state, action, horizon, np.random.default_rng(1))
    assert sequences.shape == (12, 15, horizon) and outcome.shape == (12, 15)
    differs = sequences != action[:, None, :horizon]
    assert (differs.any(1).sum(1) == 1).all()  # one step, the same for all alternatives
    assert (differs.sum((1, 2)) == 14).all()  # every action once, the recorded one among them
    for m in range(3):
        for a in range(15):
            one = WORLD.unpack(state[m : m + 1])
            for t in range(horizon):
                one, _ = WORLD.step(one, sequences[m, a, t : t + 1])
            assert np.array_equal(WORLD.render(one)[0], WORLD.render(boards)[outcome[m, a]])


@pytest.mark.parametrize("horizon", [1, 5])
def test_perfect_model_is_perfect(horizon):
    """Who knows the rule ranks every true outcome first."""
    pixels, state, action = situation()
    model = Perfect()
    model.learn(state, pixels)
    result = counterfactual_ranks(model, WORLD, pixels, state, action, horizon, np.random.default_rng(1)).model
    assert result.shape == (12, 15) and (result == 0).all()


def test_constant_model_hits_one_outcome():
    """One answer for all actions fits one outcome of each state at most; so says every hit."""
    pixels, state, action = situation()
    result = counterfactual_ranks(Constant(), WORLD, pixels, state, action, 1, np.random.default_rng(1)).model
    _, _, outcome, _ = counterfactual_outcomes(WORLD, state, action, 1, np.random.default_rng(1))
    for ranks, names in zip(result, outcome):
        assert len(set(names[ranks == 0])) <= 1
    assert (result == 0).mean() < 0.6


def test_still_model_hits_exactly_the_actions_without_effect():
    """Predicting the start is right where nothing moves, and nowhere else."""
    pixels, state, action = situation()
    result = counterfactual_ranks(Still(), WORLD, pixels, state, action, 1, np.random.default_rng(1)).model
    _, boards, outcome, _ = counterfactual_outcomes(WORLD, state, action, 1, np.random.default_rng(1))
    unchanged = (WORLD.render(boards)[outcome] == pixels[:, None]).all((2, 3, 4))
    assert np.array_equal(result == 0, unchanged)


def test_floor_is_the_still_model():
    """The copy floor of any model is what a model that predicts the start would score."""
    pixels, state, action = situation()
    model = Perfect()
    model.learn(state, pixels)
    floor = counterfactual_ranks(model, WORLD, pixels, state, action, 1, np.random.default_rng(1)).copy
    _, boards, outcome, _ = counterfactual_outcomes(WORLD, state, action, 1, np.random.default_rng(1))
    assert np.array_equal(floor == 0, (WORLD.render(boards)[outcome] == pixels[:, None]).all((2, 3, 4)))


def test_collapsed_model_never_hits():
    """All outcomes tied: ties count against us, so no hit at all."""
    pixels, state, action = situation()
    result = counterfactual_ranks(Collapsed(), WORLD, pixels, state, action, 1, np.random.default_rng(1)).model
    _, _, outcome, _ = counterfactual_outcomes(WORLD, state, action, 1, np.random.default_rng(1))
    distinct = np.array([len(set(row)) for row in outcome])
    assert (result == distinct[:, None] - 1).all() and (result > 0).all()


def test_every_frame_is_encoded_once():
    """A pool of frames is encoded frame by frame, in order, whatever the batch."""

    class Counter:
        device, seen = "cpu", 0

        def encode(self, frames):
            self.seen += len(frames)
            return frames[:, :1, 0, :2].float()

    model = Counter()
    pixels = np.random.default_rng(0).integers(0, 256, (10, 50, 50, 3)).astype(np.uint8)
    assert torch.equal(encode_frames(model, pixels, batch=3), encode_frames(Counter(), pixels))
    assert model.seen == 10


class Doubler:
    """z' = 2 z + the largest entry's index of the action: the order of actions matters."""

    device = "cpu"

    def rollout(self, latent, actions):
        steps = []
        for action in actions.argmax(-1).unbind(1):
            latent = 2 * latent + action[:, None, None]
            steps.append(latent)
        return torch.stack(steps, 1)


@pytest.mark.parametrize("horizon", [1, 5])
def test_branches_are_rollouts(horizon):
    """Sharing the common beginning changes no outcome."""
    _, state, action = situation()
    sequences, _, _, _ = counterfactual_outcomes(WORLD, state, action, horizon, np.random.default_rng(1))
    latent = torch.arange(12.0).view(12, 1, 1)
    ends = branch(Doubler(), latent, sequences, WORLD.spec)
    flat = actions_of(sequences.reshape(-1, horizon), WORLD.spec)
    assert torch.equal(ends.flatten(0, 1), rollout(Doubler(), latent.repeat_interleave(15, 0), flat))


def test_rollout_keeps_the_last_step():
    """Batched rollouts give the end of each, in order."""

    class Adder:
        device = "cpu"

        def rollout(self, latent, actions):
            return latent[:, None] + actions.cumsum(1)[:, :, None]

    latent, actions = torch.arange(5.0).view(5, 1, 1), torch.ones(5, 3, 1)
    assert rollout(Adder(), latent, actions, batch=2).flatten().tolist() == [3, 4, 5, 6, 7]


def test_actions_are_one_hot():
    """Object actions become one-hot vectors of the env's width."""
    assert actions_of(np.array([[0, 14]]), WORLD.spec).argmax(-1).tolist() == [[0, 14]]
    assert actions_of(np.array([[0, 14]]), WORLD.spec).shape == (1, 2, 15)


def test_one_rollout_gives_what_each_length_alone_would():
    model, (state, frames) = (
        Perfect(),
        (lambda boards: (WORLD.pack(boards), WORLD.render(boards)))(WORLD.reset(5, np.random.default_rng(0), "train")),
    )
    model.learn(state, frames)
    latent = encode_frames(model, frames)
    actions = actions_of(np.random.default_rng(1).integers(0, 15, (5, 6)), WORLD.spec)
    found = rollout_at(model, latent, actions, [6, 1, 4], batch=2)
    for steps, ends in zip((6, 1, 4), found):
        assert torch.equal(ends, rollout(model, latent, actions[:, :steps]))
    assert not torch.equal(found[0], found[1])


def test_a_rollout_that_begins_with_the_start_is_refused():
    """It was scored one step late, and after one step as copying is."""
    model = SimpleNamespace(device="cpu", rollout=lambda latent, actions: torch.zeros(len(latent), actions.shape[1] + 1, 1, 1))
    with pytest.raises(Problem, match="rollout gave 4 latents for 3 actions; it gives one after each, without the start"):
        rollout_at(model, torch.zeros(2, 1, 1), torch.zeros(2, 3, 5), [1, 3])


def test_a_page_shows_actions_that_belong_to_no_object():
    """As those of a world of one's own, whose report ended in an IndexError after all its training."""
    world = PhysicsWorld(3, object_order="shuffled")
    object.__setattr__(world, "spec", replace(world.spec, action=Action(15, discrete=True, owners=1)))
    boards, model = world.reset(8, np.random.default_rng(0), "train"), Perfect()
    state, frames = world.pack(boards), world.render(boards)
    model.learn(state, frames)
    actions = np.random.default_rng(1).integers(0, 15, (8, 2))
    shown = counterfactual_figure(model, world, frames, state, actions)
    assert shown.pool == 15 and shown.html.count("true outcome of") == 5  # as many as have names


def test_latents_of_many_frames_are_not_kept_part_by_part():
    """Each lay in what the one before had freed: 100,000 frames of the medium encoder came to 22 GB,
    and the kernel ended the run."""
    alive = []

    class Model:
        device = torch.device("cpu")

        def encode(self, obs):
            assert not any(one() is not None for one in alive), "what was encoded before is still held"
            latent = obs.flatten(1)[:, :6].float().unflatten(1, (3, 2))
            alive.append(weakref.ref(latent))
            return latent

    obs = np.random.default_rng(0).integers(0, 255, (10, 4, 4, 3), np.uint8)
    assert torch.equal(encode_frames(Model(), obs, batch=3), encode_frames(Model(), obs, batch=10)) and len(alive) == 5
    assert encode_frames(Model(), obs[:0]).shape == (0, 3, 2)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_diverged_model_is_no_weak_one(bad):
    """Comparisons with NaN are all false: pushes were told by chance, and an order of weights had tau 0 and no error."""

    class Diverged(Constant):
        device = "cpu"

        def rollout(self, latent, actions):
            return super().rollout(latent, actions) * torch.tensor([1.0] * (actions.shape[1] - 1) + [bad])[:, None, None]

        def step(self, latent, action, memory=None):
            return latent * bad, memory

    pixels, state, action = situation()
    model, acts = Diverged(), actions_of(action, WORLD.spec)
    start = encode_frames(model, pixels)
    assert rollout_at(model, start, acts[:, :3], [2])[0].isfinite().all(), "only what is asked for is looked at"
    with pytest.raises(Problem, match="predictions after 3 steps hold NaN or infinity; the model diverged"):
        rollout_at(model, start, acts[:, :3], [1, 3])
    with pytest.raises(Problem, match="diverged"):
        branch(model, start, action[:, None, :2], WORLD.spec)
    with pytest.raises(Problem, match="diverged"):
        margins(model, WORLD, WORLD.unpack(state), action[:, 0])
    with pytest.raises(Problem, match="diverged"):
        predict_along(model, start[:, None].expand(-1, 6, -1, -1), acts)
