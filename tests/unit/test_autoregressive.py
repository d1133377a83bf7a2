"""graph=full makes no claim about causes, so no order of the slots may hide one."""

import torch

from models.transitions.causal import CausalTransition


def built(categories):
    torch.manual_seed(0)
    return CausalTransition(3, 6, width=2, hidden=16, graph="full", categories=categories).eval()


def test_every_mechanism_sees_what_all_slots_were():
    """Mechanisms saw the past of smaller indices alone: where objects are numbered in no causal order, an effect was
    predicted without its causes (collider5: 80 % where 89 can be had)."""
    model = built(categories=0)
    latent, action = torch.randn(1, 3, 2), torch.eye(6)[:1]
    other = latent.clone()
    other[:, 2] += 1
    assert not torch.equal(model(latent, action)[:, 0], model(other, action)[:, 0])


def test_no_mechanism_sees_what_larger_indices_become():
    """The new value of slot 2 tells slots 0 and 1 nothing while they are trained, or the likelihood would be none."""
    model = built(categories=2)
    window = torch.eye(2)[torch.tensor([[[0, 1, 0], [1, 1, 0]]])]
    other = window.clone()
    other[:, 1, 2] = 1 - other[:, 1, 2]
    action = torch.eye(6)[:1][None]
    assert torch.equal(model.windows(window, action), model.windows(other, action))
