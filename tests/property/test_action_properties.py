"""What must hold for all actions: whatever their kind, every transition reads them, and slots keep their places."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from models.abilities import KeepsStatistics
from models.native_precision import MIXED, fast_precision
from models.transitions.causal import CausalTransition
from models.transitions.edge import EdgeTransition
from models.transitions.gnn import GNNTransition
from models.transitions.interaction import InteractionTransition
from models.transitions.lstm import LSTM
from models.transitions.mlp import MLPTransition
from models.transitions.modular import ModularTransition
from models.transitions.pairwise_lstm import PairwiseLSTMTransition
from models.transitions.recurrent import RecurrentTransition
from models.transitions.rim import RIM
from models.transitions.rssm import GRU, StochasticTransition
from models.transitions.scoff import SCOFF
from models.transitions.transformer import TransformerTransition
from models.world_model import WorldModel

SEEDS = st.integers(0, 2**32 - 1)
NATIVE = fast_precision("cpu") == MIXED  # torch's LSTM does not run in an emulated bfloat16
WIDTH, T = 4, 3
CORES = {
    "lstm": lambda: LSTM(12, 10),
    "rim": lambda: RIM(12, 12, blocks=3, active=2, key_size=4, value_size=4, heads=2, head_size=4),
    "scoff": lambda: SCOFF(12, 12, files=3, active=2, schemata=2, key_size=4, value_size=4, heads=2, head_size=4),
}
BUILD = {  # slots, action size, owners -> transition
    "gnn": lambda k, a, o: GNNTransition(k, a, WIDTH, 8, owners=o),
    "interaction": lambda k, a, o: InteractionTransition(k, a, WIDTH, 8, owners=o),
    "causal_learned": lambda k, a, o: CausalTransition(k, a, WIDTH, 8, owners=o),
    "causal_full": lambda k, a, o: CausalTransition(k, a, WIDTH, 8, "full", owners=o),
    "causal_none": lambda k, a, o: CausalTransition(k, a, WIDTH, 8, "none", owners=o),
    "causal_given": lambda k, a, o: CausalTransition(k, a, WIDTH, 8, "given", torch.ones(k, k).tril(-1).tolist(), owners=o),
    "causal_codes": lambda k, a, o: CausalTransition(k, a, WIDTH, 8, "full", categories=3, owners=o),
    "edge": lambda k, a, o: EdgeTransition(k, a, WIDTH, 8),
    "modular": lambda k, a, o: ModularTransition(k, a, WIDTH, 16),
    "transformer": lambda k, a, o: TransformerTransition(k, a, WIDTH, 8, heads=2),
    "mlp": lambda k, a, o: MLPTransition(k, a, WIDTH, 8),
    "pairwise_lstm": lambda k, a, o: PairwiseLSTMTransition(k, a, WIDTH, 8, 6),
    "rssm": lambda k, a, o: StochasticTransition(GRU(12, 10), k, a, WIDTH),
    **{name: lambda k, a, o, core=core: RecurrentTransition(core(), k, a, WIDTH) for name, core in CORES.items()},
}


@pytest.mark.parametrize("kind", ["none", "all", "fewer", "own"])
@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("name", BUILD)
@given(seed=SEEDS, k=st.integers(2, 4), batch=st.integers(2, 3))
@settings(max_examples=3)
def test_every_transition_reads_every_kind_of_action(name, rough, kind, seed, k, batch):
    """Nothing, a real vector of nobody's, of fewer owners than slots, of one for each slot: in every verb, and trained in
    both precisions."""
    torch.manual_seed(seed)
    owners = {"none": 1, "all": 1, "fewer": k - 1, "own": k}[kind]
    size = 0 if kind == "none" else 5 if kind == "all" else 2 * owners
    transition = BUILD[name](k, size, owners)
    latent = torch.randn(batch, T + 1, k, WIDTH)
    if name in ("mlp", *CORES):
        latent = latent.flatten(2)[:, :, None]
    if name == "causal_codes":
        latent[..., :3] = latent[..., :3].softmax(-1)
    action, model = torch.randn(batch, T, size), WorldModel(nn.Identity(), transition)
    with torch.autocast("cpu", torch.bfloat16, enabled=rough and (name != "pairwise_lstm" or NATIVE)):
        if isinstance(transition, KeepsStatistics):
            transition.track(latent, action)
            assert transition.edges().isfinite().all()
        windows, far = model.predict_windows(latent, action), model.rollout(latent[:, 0], action)
    assert windows.isfinite().all() and far.isfinite().all() and far.shape == latent[:, 1:].shape
    optimizer = torch.optim.AdamW(transition.parameters(), fused=True)
    (windows.square().mean() + far.square().mean()).backward()
    optimizer.step()
    assert all(p.isfinite().all() for p in transition.parameters())

    transition.eval()
    with torch.no_grad():
        memory = model.filter(latent, action)
        every, _ = model.step_all_actions(latent[:, -1], action[0], memory)
        apart = [model.step(latent[:, -1], a.expand(batch, -1), memory)[0] for a in action[0]]
    torch.testing.assert_close(every.unflatten(0, (batch, -1)), torch.stack(apart, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", BUILD)
@given(seed=SEEDS, kind=st.sampled_from(["all", "own"]))
def test_every_transition_heeds_the_action(name, seed, kind):
    """Another vector of real numbers, another prediction: none is dropped on its way to the slots."""
    torch.manual_seed(seed)
    k, size = 3, {"all": 5, "own": 6}[kind]
    transition = BUILD[name](k, size, 1 if kind == "all" else k).eval()
    latent = torch.randn(2, k, WIDTH)
    latent = latent.flatten(1)[:, None] if name in ("mlp", *CORES) else latent
    if name == "causal_codes":
        latent[..., :3] = latent[..., :3].softmax(-1)
    action = torch.randn(2, size, requires_grad=True)
    transition(latent, action).square().sum().backward()
    assert (action.grad != 0).any(0).all() if name not in CORES else action.grad.any()


def alike(transition, k):
    """Make layers of the action say the same to every slot: of its own block, of the sender's, and of all others'."""
    hidden = transition.own.out_features
    sender = transition.senders.view(k, k - 1)
    own, sent, other, bias = torch.randn(4, hidden, 2, dtype=torch.double)
    with torch.no_grad():
        pair = transition.pair_action.weight.view(k, k - 1, hidden, k, 2)
        slot = transition.slot_action.weight.view(k, hidden, k, 2)
        pair[:], slot[:] = other[:, None], other[:, None]
        for receiver in range(k):
            pair[receiver, :, :, receiver], slot[receiver, :, receiver] = own, own
            for place in range(k - 1):
                pair[receiver, place, :, sender[receiver, place]] = sent
        transition.pair_action.bias.view(k, k - 1, hidden)[:] = bias[:, 0]
        transition.slot_action.bias.view(k, hidden)[:] = bias[:, 1]


@pytest.mark.parametrize("name", ["gnn", "edge", "pairwise_lstm"])
@given(seed=SEEDS, order=st.permutations(range(4)))
def test_slots_and_owners_permute_together(name, seed, order):
    """Slots permuted together with their owners' blocks permute the prediction, where all slots share their weights.

    The pairwise transitions share all but the layers that read the action; here these say the same to every slot, too.
    """
    torch.manual_seed(seed)
    order, transition = list(order), BUILD[name](4, 8, 4).double().eval()
    if name != "gnn":
        alike(transition, 4)
    latent, action = torch.randn(2, T + 1, 4, WIDTH).double(), torch.randn(2, T, 4, 2).double()
    model = WorldModel(nn.Identity(), transition)
    plain, permuted = (
        model.rollout(z[:, 0], a.flatten(2)) for z, a in ((latent, action), (latent[:, :, order], action[:, :, order]))
    )
    assert torch.allclose(permuted, plain[:, :, order], atol=1e-8)
    plain, permuted = (
        model.predict_windows(z, a.flatten(2)) for z, a in ((latent, action), (latent[:, :, order], action[:, :, order]))
    )
    assert torch.allclose(permuted, plain[:, :, order], atol=1e-8)


@given(seed=SEEDS, order=st.permutations(range(4)), size=st.sampled_from([0, 5]))
def test_an_action_of_nobody_leaves_a_gnn_free_of_order(seed, order, size):
    """Told all of the action, or nothing, slots of a graph network may stand in any order; the action stays as it is."""
    torch.manual_seed(seed)
    gnn, order = GNNTransition(4, size, WIDTH, 8, owners=1).double(), list(order)
    latent, action = torch.randn(2, 4, WIDTH).double(), torch.randn(2, size).double()
    assert torch.allclose(gnn(latent[:, order], action), gnn(latent, action)[:, order], atol=1e-10)


@given(seed=SEEDS, owners=st.integers(2, 5), order=st.permutations(range(2)))
def test_slots_without_owner_are_told_nothing(seed, owners, order):
    """Slots after the last owner may stand in any order, for no number of the action is theirs."""
    torch.manual_seed(seed)
    slots = [*range(owners), *(owners + place for place in order)]
    gnn = GNNTransition(owners + 2, 3 * owners, WIDTH, 8, owners=owners).double()
    latent, action = torch.randn(2, owners + 2, WIDTH).double(), torch.randn(2, 3 * owners).double()
    assert torch.allclose(gnn(latent[:, slots], action), gnn(latent, action)[:, slots], atol=1e-10)
