"""The learning rate of a stage: warm-up over the first twentieth, then down to zero."""

from types import SimpleNamespace

import pytest
from torch import nn

from models.world_model import WorldModel


@pytest.mark.parametrize("steps", [1, 2, 3, 19, 20, 21, 40, 41, 1950])
def test_every_number_of_steps_has_a_schedule(steps):
    """A stage of exactly 20 steps ended in a division by zero: a twentieth of it is one step, and torch counts that less one."""
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
