"""Cameras: those that stand as CausalWorld's do are turned about their axes as much."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.trifinger.scene.views import LEGACY_VIEWS, VIEWS  # noqa: E402

# World -> camera of CausalWorld 1.2, turned upright: its cameras hang upside down and its pictures are flipped back.
UPRIGHT = [
    [[-0.6858, 0.7278, 0.0067], [-0.5940, -0.5650, 0.5726], [0.4205, 0.3887, 0.8198]],
    [[0.9997, -0.0159, -0.0171], [0.0221, 0.8782, 0.4778], [0.0074, -0.4780, 0.8783]],
    [[-0.7050, -0.7091, 0.0140], [0.5666, -0.5512, 0.6126], [-0.4266, 0.4398, 0.7903]],
]


@pytest.mark.parametrize("camera", range(3))
def test_legacy_views_are_the_references(camera):
    """They stood level, up to two degrees off."""
    view = LEGACY_VIEWS[camera].view()
    assert view[:3, :3] == pytest.approx(np.array(UPRIGHT[camera]), abs=1e-3)
    assert view[:3, :3] @ view[:3, :3].T == pytest.approx(np.eye(3))
    assert VIEWS[camera].view()[0, 2] == pytest.approx(0)
