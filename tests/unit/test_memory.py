"""Transitions with memory: an explicit value that is never lost, never shared, and really used."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from envs.physics import PhysicsWorld
from eval.probes.push_accuracy import predict_along
from eval.rollouts import actions_of, branch, rollout
from losses.infonce import InfoNCE
from losses.nll import LatentPrediction
from models.interfaces import Batch
from models.native_precision import MIXED, fast_precision
from models.transitions.lstm import LSTM
from models.transitions.pairwise_lstm import PairwiseLSTMTransition
from models.transitions.recurrent import RecurrentTransition
from models.transitions.rim import RIM
from models.transitions.rssm import GRU, StochasticTransition
from models.transitions.scoff import SCOFF
from models.world_model import WorldModel

WORLD = PhysicsWorld(2)
B, T, A, WIDTH = 5, 6, WORLD.spec.action.size, 4
CORES = {
    "lstm": lambda: LSTM(24, 20),
    "rim": lambda: RIM(24, 24, blocks=4, active=2, key_size=8, value_size=8, heads=2, head_size=4),
    "scoff": lambda: SCOFF(24, 24, files=3, active=2, schemata=2, key_size=8, value_size=8, heads=2, head_size=4),
}


@pytest.fixture(params=[*CORES, "pairwise_lstm", "rssm"])
def model(request):
    torch.manual_seed(0)
    if request.param == "rssm":
        return WorldModel(nn.Identity(), StochasticTransition(GRU(24, 20), 2, A, WIDTH)).eval()
    if request.param == "pairwise_lstm":
        return WorldModel(nn.Identity(), PairwiseLSTMTransition(2, A, WIDTH, hidden=16, units=6)).eval()
    return WorldModel(nn.Identity(), RecurrentTransition(CORES[request.param](), 2, A, WIDTH)).eval()


def history(batch=B, steps=T, seed=1):
    generator = torch.Generator().manual_seed(seed)
    action = F.one_hot(torch.randint(0, A, (batch, steps), generator=generator), A).float()
    return torch.randn(batch, steps + 1, 2, WIDTH, generator=generator), action


@torch.no_grad()
def test_windows_are_steps_by_hand(model):
    """Whole windows at once give what one step after another gives, each from its true frame; nothing stays behind."""
    latent, action = history()
    memory, steps = model.transition.start(latent[:, 0]), []
    assert memory.shape == (B, model.transition.memory_size) and not memory.any()
    for t in range(T):
        predicted, memory = model.transition.step(latent[:, t], action[:, t], memory)
        steps.append(predicted)
    torch.testing.assert_close(model.predict_windows(latent, action), torch.stack(steps, 1), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.transition(latent[:, 0], action[:, 0]), steps[0])
    torch.testing.assert_close(model.filter(latent, action), memory)


@torch.no_grad()
def test_rollout_is_an_open_loop_with_memory(model):
    """Each step starts from the prediction and the memory of the one before; a second call says the same."""
    latent, action = history()
    now, memory, steps = latent[:, 0], model.transition.start(latent[:, 0]), []
    for t in range(T):
        now, memory = model.transition.step(now, action[:, t], memory)
        steps.append(now)
    first = model.rollout(latent[:, 0], action)
    assert torch.equal(first, torch.stack(steps, 1)) and torch.equal(first, model.rollout(latent[:, 0], action))
    assert not torch.allclose(first[:, 1], model.transition(first[:, 0], action[:, 1]))  # memory has a say


@torch.no_grad()
def test_memory_is_kept_along_an_episode(model):
    """The curve of adaptation asks a model that has seen all frames so far."""
    latent, action = history()
    torch.testing.assert_close(
        predict_along(model, latent, action), model.predict_windows(latent, action), rtol=1e-4, atol=1e-5
    )


@torch.no_grad()
def test_a_rollout_goes_on_after_a_history(model):
    """With the memory of the frames before, the first prediction is the window's; without, it is another."""
    latent, action = history()
    memory = model.filter(latent[:, :4], action[:, :3])
    after = model.rollout(latent[:, 3], action[:, 3:], memory)
    torch.testing.assert_close(after[:, 0], model.predict_windows(latent, action)[:, 3], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(after[:, 0], model.rollout(latent[:, 3], action[:, 3:])[:, 0])
    assert model.filter(latent[:, :1], action[:, :0]) is None  # one frame is no history


@torch.no_grad()
def test_nothing_leaks_between_candidates(model):
    """A row's prediction does not depend on which rows stand beside it, nor in which order."""
    latent, action = history()
    order = torch.tensor([3, 0, 4, 1, 2])
    for verb in (model.predict_windows, lambda z, a: model.rollout(z[:, 0], a), model.filter):
        whole = verb(latent, action)
        torch.testing.assert_close(verb(latent[order], action[order]), whole[order], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(verb(latent[2:3], action[2:3]), whole[2:3], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_branches_carry_their_memory(model):
    """Sequences that share their beginning end where whole rollouts of each would: nothing forgotten, nothing shared."""
    generator = torch.Generator().manual_seed(2)
    sequences = torch.randint(0, A, (4, 1, T), generator=generator).repeat(1, 3, 1)
    for row, step in enumerate((0, 2, 4, 5)):
        sequences[row, :, step] = torch.tensor([0, 3, 7])
    latent = history(4)[0][:, 0]
    ends = branch(model, latent, sequences.numpy(), WORLD.spec)
    flat = actions_of(sequences.flatten(0, 1).numpy(), WORLD.spec)
    torch.testing.assert_close(ends.flatten(0, 1), rollout(model, latent.repeat_interleave(3, 0), flat), rtol=1e-4, atol=1e-5)


def test_gradients_reach_earlier_frames_and_every_weight(model):
    """The last prediction answers to the first frame; both input layers learn, as does all else."""
    latent, action = history()
    latent.requires_grad_()
    model.train()
    model.predict_windows(latent, action)[:, -1].pow(2).sum().backward()
    assert latent.grad[:, 0].abs().sum() > 0 and not latent.grad[:, -1].any()
    model.configure_stage(LatentPrediction(), ["transition"], 1e-3)
    listed = {id(p) for group in model._parameter_groups() for p in group["params"]}
    for name, parameter in model.transition.named_parameters():
        reached = parameter.grad is not None and parameter.grad.any()
        assert id(parameter) in listed and reached != name.startswith("logvar."), (
            f"{name}; a prediction is a mean, and reads no variance"
        )


def test_bfloat16(model):
    """Under autocast windows, rollouts and histories work, predictions stay single precision and near the exact ones."""
    if isinstance(model.transition, PairwiseLSTMTransition) and fast_precision("cpu") != MIXED:
        pytest.skip("torch's LSTM needs a processor with bfloat16")
    latent, action = history()
    exact = model.predict_windows(latent, action)
    with torch.autocast("cpu", torch.bfloat16):
        near = model.predict_windows(latent, action)
        model.rollout(latent[:, 3], action[:, 3:], model.filter(latent[:, :4], action[:, :3])).sum().backward()
    assert near.dtype == torch.float32 and (near - exact).abs().mean() < 0.05


@pytest.mark.parametrize("objective", [InfoNCE, LatentPrediction])
def test_open_loop_training(model, objective):
    """open_loop feeds the model its own predictions: later frames are targets and never inputs."""
    latent, action = history()
    batch = Batch(None, action, torch.arange(B * (T + 1)).view(B, T + 1), latent)
    teacher, own = (objective(open_loop=flag)(model, batch) for flag in (False, True))
    assert not torch.allclose(sum(teacher.values()), sum(own.values()))
    error = (model.rollout(latent[:, 0], action) - latent[:, 1:]).pow(2).sum((2, 3)).mean()
    torch.testing.assert_close(own["prediction" if objective is LatentPrediction else "squared"], error)


@torch.no_grad()
def test_pairs_of_a_witness_remember_apart():
    """The memory of a pair is moved by what its own two slots do, and by the action; not by a third slot."""
    torch.manual_seed(0)
    model = PairwiseLSTMTransition(3, A, WIDTH, hidden=16, units=6).eval()
    latent, action = torch.randn(B, T + 1, 3, WIDTH), history()[1]
    other = latent.clone()
    other[:, :, 2] += 1
    kept = [model.run(z[:, :-1], action, model.start(z[:, 0]))[1][:, : model.sizes[0]] for z in (latent, other)]
    moved = (kept[0] != kept[1]).view(B, 6, 12).any(-1)  # pairs: 0<1, 0<2, 1<0, 1<2, 2<0, 2<1
    assert moved.tolist() == [[False, True, False, True, True, True]] * B


@torch.no_grad()
def test_a_witness_sees_what_its_last_action_changed():
    """The same frame and action after another frame or another action is another scene."""
    torch.manual_seed(0)
    model = PairwiseLSTMTransition(2, A, WIDTH, hidden=16, units=6).eval()
    latent, action = torch.randn(B, 3, 2, WIDTH), history(steps=2)[1]
    first = model.windows(latent, action)[:, 1]
    earlier, did = latent.clone(), action.clone()
    earlier[:, 0] += 1
    did[:, 0] = did[:, 0].roll(1, -1)
    assert not torch.allclose(model.windows(earlier, action)[:, 1], first, atol=1e-4)
    assert not torch.allclose(model.windows(latent, did)[:, 1], first, atol=1e-4)
    model.train()  # latents are read through a blur, drawn anew each time
    assert not torch.allclose(model.windows(latent, action), model.windows(latent, action), atol=1e-4)


def test_memory_solves_what_one_frame_cannot():
    """The answer at the end of a window is a sign seen in its first frame alone: an LSTM learns to give it."""
    torch.manual_seed(0)
    transition = RecurrentTransition(LSTM(16, 16), 1, 2, 1)
    optimizer = torch.optim.Adam(transition.parameters(), 0.03)
    for _ in range(60):
        sign = torch.randint(0, 2, (64,)).float() * 2 - 1
        latent = torch.zeros(64, 5, 1, 1)
        latent[:, 0, 0, 0] = latent[:, 4, 0, 0] = sign
        loss = (transition.windows(latent, torch.zeros(64, 4, 2))[:, 3] - latent[:, 4]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1  # without memory it is 1


@torch.no_grad()
def test_a_witness_remembers_outcomes_only():
    """Before anything happened there is nothing to remember, whatever stands there; what came of the first step counts."""
    torch.manual_seed(0)
    model = PairwiseLSTMTransition(2, A, WIDTH, hidden=16, units=6).eval()
    (latent, action), (elsewhere, _) = history(), history(seed=2)
    after_one, after_other = (model.step(z[:, 0], action[:, 0], model.start(z[:, 0]))[1] for z in (latent, elsewhere))
    pairs = model.sizes[0]
    assert torch.equal(after_one[:, :pairs], after_other[:, :pairs])
    yielded, stayed = (model.step(z, action[:, 1], after_one)[1][:, :pairs] for z in (latent[:, 1], latent[:, 0]))
    assert (yielded - stayed).abs().max(1).values.min() > 1e-4


def test_a_witness_needs_a_pair():
    with pytest.raises(ValueError, match="between 2 objects or more, got num_objects=1; set model=modular"):
        PairwiseLSTMTransition(1, A, WIDTH)


def test_another_board_is_no_outcome():
    """Asked of a board that was laid anew, the memory took all that differed for what its last step had come to, and what that
    had really come to was never read."""
    torch.manual_seed(0)
    transition = PairwiseLSTMTransition(3, A, WIDTH, hidden=16, units=6).eval()
    latent, action = torch.randn(2, 6, 3, WIDTH), torch.randn(2, 6, A)
    _, memory = transition.run(latent[:, :4], action[:, :4], transition.start(latent[:, 0]))
    _, later = transition.run(latent[:, :5], action[:, :5], transition.start(latent[:, 0]))
    held = transition.sizes[0]
    for board in latent[:, 5], 100 * latent[:, 5]:
        moved = transition.elsewhere(memory, latent[:, 4], board)
        assert torch.allclose(moved[:, :held], later[:, :held], atol=1e-6), "the last step is read, the board is not"
        once = transition.step(board, action[:, 5], moved)[1][:, :held]
        again = transition.step(100 * board, action[:, 5], transition.elsewhere(memory, latent[:, 4], 100 * board))[1][:, :held]
        assert torch.allclose(once, again, atol=1e-6)


def test_a_memory_without_windows_of_its_own_is_trained():
    """Each step of a window began an episode, so that what a memory learns from had no gradient."""

    class Counts(nn.Module):
        def start(self, latent):
            return latent.new_zeros(len(latent), 1)

        def step(self, latent, action, memory):
            return latent + memory[..., None], memory + 1

        def forward(self, latent, action):
            return self.step(latent, action, self.start(latent))[0]

    model, (latent, action) = WorldModel(nn.Identity(), Counts()), history()
    grown = model.predict_windows(latent, action) - latent[:, :-1]
    torch.testing.assert_close(grown[0, :, 0, 0], torch.arange(grown.shape[1], dtype=grown.dtype))
