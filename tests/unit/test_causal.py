"""The causal transition: who reads whom, effects of effects, and edges that are really learned."""

import pytest
import torch
from torch.nn import functional as F

from models.transitions.causal import CausalTransition


def built(graph, k=3, width=4, choices=2, **more):
    torch.manual_seed(0)
    return CausalTransition(k, k * choices, width, hidden=16, graph=graph, **more).eval()


def act(k, choices, target, choice):
    return F.one_hot(torch.tensor([target * choices + choice]), k * choices).float()


CHAIN = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("graph, more, reads", [
    ("none", {}, torch.eye(3)),
    ("given", {"parents": CHAIN}, torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]])),
    ("full", {}, torch.ones(3, 3)),
])  # fmt: skip
def test_who_reads_whom(graph, more, reads):
    """Slot v changes with slot j exactly where j is v or an ancestor of v; with everybody where no graph is claimed."""
    model, latent, action = built(graph, **more), torch.randn(1, 3, 4), act(3, 2, 0, 1)
    for j in range(3):
        other = latent.clone()
        other[:, j] += 1
        changed = (model(other, action) - other != model(latent, action) - latent).any(-1)[0]
        assert changed.tolist() == reads[:, j].bool().tolist()


def test_effects_of_effects_arrive_within_the_step():
    """A command on slot 0 of a chain reaches slot 2, which does not see it but by way of slot 1."""
    latent = torch.randn(1, 3, 4)
    chain, none = built("given", parents=CHAIN), built("none")
    moved = [(model(latent, act(3, 2, 0, 0)) != model(latent, act(3, 2, 0, 1))).any(-1)[0].tolist() for model in (chain, none)]
    assert moved == [[True, True, True], [True, False, False]]


def test_windows_are_told_the_truth_about_parents():
    """In a window, slot 2 hangs on what slot 1 really became, and not on what slot 0 did."""
    model, latent, action = built("given", parents=CHAIN), torch.randn(1, 2, 3, 4), act(3, 2, 0, 1)[:, None]
    for j, told in ((0, [False, True, False]), (1, [False, False, True]), (2, [False, False, False])):
        other = latent.clone()
        other[:, 1, j] += 1
        assert (model.windows(other, action) != model.windows(latent, action)).any(-1)[0, 0].tolist() == told


def test_codes_are_beliefs():
    """Beliefs sum to 1, what is not code is carried along, and a slot's own doubts are averaged over."""
    model, rest = built("none", width=7, categories=3), torch.randn(1, 3, 4)
    one, two = (torch.cat([F.one_hot(torch.full((1, 3), code), 3).float(), rest], -1) for code in (0, 1))
    after = [model(latent, act(3, 2, 0, 1)) for latent in (one, two, 0.6 * one + 0.4 * two)]
    assert torch.allclose(after[2], 0.6 * after[0] + 0.4 * after[1], atol=1e-6)
    assert torch.allclose(after[2][..., :3].sum(-1), torch.ones(1, 3)) and torch.equal(after[0][..., 3:], rest)


def test_watching_is_not_believing():
    """Responses of the data restrict learned edges, and never tell a mechanism what to predict."""
    model, latent = built("full", width=3, categories=3), F.one_hot(torch.randint(3, (8, 2, 3)), 3).float()
    action = act(3, 2, 0, 1).expand(8, -1)
    before = model(latent[:, 0], action)
    model.track(latent, action[:, None])
    assert model.times[0] > 0 and torch.equal(model(latent[:, 0], action), before)


def test_one_row_leaves_no_trace():
    """The variance of one row is no number, and must not poison the running means."""
    model = built("learned")
    model.track(torch.randn(1, 2, 3, 4), act(3, 2, 0, 1)[:, None])
    assert model.apart.tolist() == [0, 0, 0] and model.edges().isfinite().all()


def test_responses_are_of_single_precision():
    """Under autocast their product was rounded to bfloat16, whose steps are .4 %:
    slots that respond unlike had equal shares."""
    rounded, whole = built("learned"), built("learned")
    latent, action = torch.randn(64, 2, 3, 4), act(3, 2, 0, 1).expand(64, -1)[:, None]
    whole.track(latent, action)
    with torch.autocast("cpu", torch.bfloat16):
        rounded.track(latent, action)
    assert whole.moved.any() and torch.equal(rounded.moved, whole.moved)


def copies(rows, rng):
    """Windows of a world of four binary slots: an action on slot 0 sets it, slot 1 copies slot 0 with noise, slot 2 copies
    slot 1 with noise, slot 3 minds its own business."""
    before = torch.randint(2, (rows, 4), generator=rng)
    after = before.clone()
    target, choice = torch.randint(4, (rows,), generator=rng), torch.randint(2, (rows,), generator=rng)
    flip = torch.rand(rows, 4, generator=rng) < 0.2
    after[torch.arange(rows), target] = choice
    one = target == 0
    after[one, 1] = after[one, 0] ^ flip[one, 1].long()
    two = one | (target == 1)
    after[two, 2] = after[two, 1] ^ flip[two, 2].long()
    action = F.one_hot(target * 2 + choice, 8).float()
    return F.one_hot(torch.stack([before, after], 1), 2).float(), action[:, None], after


def test_edges_are_learned():
    """Likelihood and sparsity together keep 0 -> 1 -> 2 and drop 0 -> 2: the child gains nothing from it."""
    rng = torch.Generator().manual_seed(0)
    model = built("learned", k=4, width=2, categories=2, sparsity=2e-3).train()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(400):
        latent, action, after = copies(256, rng)
        model.track(latent, action)
        logits = model.windows(latent, action)[:, 0]
        loss = F.cross_entropy(logits.flatten(0, 1), after.flatten()) * 4 + sum(model.penalties().values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = (model.edges() > 0.5).int().tolist()
    assert found == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_sparsity_reaches_the_edges():
    """The penalty alone has a gradient on the structural parameters of edges that may be, and pushes them down."""
    model = built("learned").train()
    model.moved.fill_(1.0).tril_(-1)
    model.times.fill_(1.0), model.apart.fill_(1.0)
    model.penalties()["sparsity"].backward()
    assert (model.logits.grad.tril(-1)[1:] .sum() > 0) and not model.logits.grad.triu().any()


@pytest.mark.parametrize("arguments, sentence", [
    ({"graph": "learned", "k": 1}, "learned edges need two objects or more, got 1"),
    ({"graph": "given"}, "graph=given needs the graph"),
    ({"graph": "given", "parents": [[0, 0], [1, 0]]}, r"the given graph is \(2, 2\), the model has 3 slots"),
    ({"graph": "dense"}, "graph is one of learned, given, full, none; got 'dense'"),
])  # fmt: skip
def test_refusals(arguments, sentence):
    """One clear sentence each."""
    with pytest.raises(ValueError, match=sentence):
        built(**arguments)
