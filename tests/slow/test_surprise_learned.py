"""What learned the toy world's rule is surprised where it is broken:
world models from expected clips alone, OFPR-Net from labels."""

import pytest

pytestmark = pytest.mark.slow
TABLE = ["env.observation=objects", "loss.window=31"]
OFPR = [
    "model=ofpr", "loss=labels", "model.channels=8", "model.frames=[0,8,16]", "loss.clips=4", "loss.epochs.smoke=12",
    "loss.branch_epochs.smoke=2",
]  # fmt: skip


@pytest.mark.parametrize("recipe", [
    ["model=lstm", "loss=nll", "loss.epochs.smoke=25"], ["model=lstm", "loss=infonce", "loss.epochs.smoke=18"],
])  # fmt: skip
def test_violated_causes_surprise_more_than_expected_ones(fitted_clips, recipe):
    m = fitted_clips(*TABLE, *recipe)[1]["metrics"]
    assert m["voe/hit_rate"] > 0.8 and m["voe/hit_rate"] > m["floor/change/voe/hit_rate"] + 0.2


def test_ofpr_net_learns_the_rule(fitted_clips):
    _, results = fitted_clips(*OFPR)
    m = results["metrics"]
    assert m["voe/hit_rate"] > 0.9 and m["voe/control/hit_rate"] > 0.9 and m["voe/accuracy"] > 0.9  # 1 under three seeds
    assert results["heads"]["object_height"] < 0.3
