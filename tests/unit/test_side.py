"""model.side: a model sees and paints a picture smaller than the file holds it."""

import pytest
import torch
from hydra.utils import instantiate

from models.decoders import FlatDecoder
from models.encoders import ConvMaps

PICTURE = torch.randint(0, 256, (2, 3, 112, 112), dtype=torch.uint8)


def test_what_is_seen_is_the_mean_of_the_picture():
    small = ConvMaps(2, 112, 112, side=56).eval()
    plain = ConvMaps(2, 56, 56).eval()
    plain.load_state_dict(small.state_dict())
    means = PICTURE.float().view(2, 3, 56, 2, 56, 2).mean((3, 5)) / 255
    with torch.no_grad():
        assert torch.allclose(small(PICTURE), plain(means), atol=1e-5)
        assert torch.allclose(small(PICTURE), small(PICTURE.float() / 255), atol=1e-5)


def test_the_side_of_the_picture_itself_changes_nothing():
    torch.manual_seed(0)
    whole = ConvMaps(2, 112, 112).eval()
    torch.manual_seed(0)
    same = ConvMaps(2, 112, 112, side=112).eval()
    with torch.no_grad():
        assert torch.equal(whole(PICTURE), same(PICTURE))


@pytest.mark.parametrize("side", [32, 56])
def test_a_small_picture_is_painted_as_large_as_the_file_holds_it(side):
    """32 does not divide 112."""
    decoder = FlatDecoder(2, 8, (112, 112, 3), board=0, hidden=16, side=side)
    assert decoder(torch.randn(2, 1, 16)).shape == (2, 3, 112, 112) and decoder.shape == (2, side // 8, side // 8)


@pytest.mark.parametrize(
    "side, says", [(30, "multiple of 8, got 30 x 30; set model.side="), (120, "a side of 1 to 112, got 120")]
)
def test_sides_that_cannot_be_are_told(side, says):
    for part in (lambda: ConvMaps(2, 112, 112, side=side), lambda: FlatDecoder(2, 8, (112, 112, 3), 0, side=side)):
        with pytest.raises(ValueError, match=says):
            part()


def test_a_picture_as_large_as_a_board_is_none(compose):
    """Eighty pixels of a video were read as eight cells along a side, each apart from the others."""
    cfg = compose("fit", "model=edge", "env=voe_barrier", "env.world.size=80")
    assert type(instantiate(cfg.model.module).encoder.maps) is ConvMaps and cfg.spec.shown.board == 0
    assert compose("fit", "env=physics5").spec.shown.board == 5


@pytest.mark.parametrize("model", ["lstm", "modular"])
def test_models_are_made_for_a_side(compose, model):
    cfg = compose("fit", f"model={model}", "env=voe_barrier", "model.side=32")
    made = instantiate(cfg.model.module).eval()
    assert made.encoder.maps.seen == (32, 32)
    assert made.decode(made.encode(PICTURE)).shape == PICTURE.shape
