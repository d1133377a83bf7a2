"""Pictures on pages: one frame as PNG, whatever the number of cameras."""

import base64
import re
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from eval.pages.html import picture
from eval.pages.rollout_figures import nearest


@pytest.mark.parametrize("pictures", [1, 2, 3])
def test_what_several_cameras_or_moments_show_stands_side_by_side(pictures):
    """A report of `views`, or of a picture with a moment before, ended in a ValueError of matplotlib."""
    frame = np.random.default_rng(0).integers(0, 256, (5, 4, 3 * pictures)).astype(np.uint8)
    (found,) = re.findall(r"base64,([^\"']+)", picture(frame))
    drawn = np.asarray(Image.open(BytesIO(base64.b64decode(found))))[..., :3]
    assert drawn.shape == (5, 4 * pictures, 3)
    for number in range(pictures):
        assert np.array_equal(drawn[:, 4 * number : 4 * number + 4], frame[..., 3 * number : 3 * number + 3])


def test_the_nearest_candidate_is_shown_whatever_all_share():
    rng = np.random.default_rng(0)
    candidates, names = torch.from_numpy(rng.normal(size=(30, 4))), np.arange(30)
    plain, moved = (nearest(candidates + 0.01 + shift, candidates + shift, names, names) for shift in (0.0, 1e4))
    assert np.array_equal(plain, moved)
    assert (plain == names).all()
