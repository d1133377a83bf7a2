"""How a stage is optimised: warm-up over the first twentieth and then down to zero, and momentum of gradient descent."""

from types import SimpleNamespace

import pytest
from torch import nn

from models.world_model import WorldModel


@pytest.mark.parametrize("steps", [1, 2, 3, 19, 20, 21, 40, 41, 1950])
def test_every_number_of_steps_has_a_schedule(steps):
    """A stage of exactly 20 steps ended in a division by zero: a twentieth of it is one step,
    and torch counts that less one."""
    model = WorldModel(nn.Linear(2, 2), nn.Linear(2, 2))
    model.configure_stage(lambda *_: {}, ["encoder"], 1e-3, "cosine")
    model._trainer = SimpleNamespace(gradient_clip_val=None, estimated_stepping_batches=steps)
    made = model.configure_optimizers()
    optimizer, schedule, rates = made["optimizer"], made["lr_scheduler"]["scheduler"], []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()  # after the last step too, as Lightning does
    assert max(rates) <= 1e-3 * 1.001 and all(rate >= 0 for rate in rates)
    if steps > 40:
        assert max(rates) == pytest.approx(1e-3, rel=0.2) and rates[-1] < 1e-5
        assert rates[0] < 1e-4 and rates.index(max(rates)) == pytest.approx(0.05 * steps, abs=2)


def test_gradient_descent_keeps_nine_tenths_of_its_way():
    """The published settings of OFPR-Net train with it: two steps of gradient 1 at rate .1 lead .1 and .19 on."""
    model = WorldModel(nn.Linear(1, 1, bias=False), nn.Linear(1, 1))
    model.configure_stage(lambda *_: {}, ["encoder"], 0.1, optimizer="sgd")
    model._trainer = SimpleNamespace(gradient_clip_val=None)
    optimizer, (weight,) = model.configure_optimizers(), model.encoder.parameters()
    start = weight.item()
    for way in (0.1, 0.29):
        weight.grad = weight.new_ones(1, 1)
        optimizer.step()
        assert start - weight.item() == pytest.approx(way, rel=1e-4)
