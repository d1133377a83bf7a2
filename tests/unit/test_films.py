"""Films of planning: as many pictures as steps, their borders tell what happened, and files stay small."""

from io import BytesIO

import numpy as np
import pytest
from hydra.utils import instantiate
from PIL import Image

from eval.pages.films import BORDER, RIGHT, WRONG, Film, chosen, film, films_section, gif, pictures, travel


def made(reached, right=(True, True)) -> Film:
    now = np.zeros((3, 10, 10, 3), np.uint8)
    return Film(7, now, now[:2], now[0], np.array(reached), np.array(right))


def border(picture) -> tuple:
    return tuple(picture[BORDER // 2, BORDER // 2])


def test_the_border_tells(tmp_path):
    """Green when the goal stands, also on the way; red at the end where it does not; a wrong expectation is red too."""
    neutral, green, last = (border(p) for p in pictures(made([False, True, False])))
    assert neutral not in (tuple(RIGHT), tuple(WRONG)) and green == tuple(RIGHT) and last == tuple(WRONG)
    assert border(pictures(made([False, False, True]))[-1]) == tuple(RIGHT)
    wrong = pictures(made([False, False, True], right=[False, True]))
    assert [tuple(p[BORDER // 2, -BORDER // 2]) == tuple(WRONG) for p in wrong] == [True, False, False]


def test_a_film_is_a_gif_with_a_picture_a_step():
    """It loops, and its last picture is held."""
    moving = made([False, False, True])._replace(now=np.arange(900, dtype=np.uint8).reshape(3, 10, 10, 3))
    found = Image.open(BytesIO(gif(moving)))
    times = []
    for i in range(found.n_frames):
        found.seek(i)
        times.append(found.info["duration"])
    assert found.n_frames == 3 and times[-1] > 2 * times[0] and found.info["loop"] == 0
    assert found.size == pictures(moving)[0].shape[1::-1]


@pytest.mark.parametrize("env, model", [("physics3", "modular"), ("chemistry_chain5", "lstm")])
def test_an_untrained_model_is_filmed(env, model, compose, tmp_path):
    """Boards, goal and outcomes of a whole trip, with memory and without; what came is what the next frame shows."""
    loss = {"lstm": "memory", "modular": "infonce"}[model]
    size = {"lstm": "patch", "modular": "small"}[model]
    cfg = compose("fit", f"env={env}", f"model={model}", f"loss={loss}", f"model.size={size}", f"data_dir={tmp_path}")
    world, net = instantiate(cfg.env.world), instantiate(cfg.model.module).eval()
    trip = travel(net, world, episodes=4, steps=3)
    one = film(net, world, trip, 2)
    assert one.now.shape == (4, 50, 50, 3) and one.expected.shape == (3, 50, 50, 3) and one.reached.shape == (4,)
    assert one.reached[-1] == (world.distance(trip.boards[-1], trip.goal) == 0)[2] and not one.reached[0]
    for t in np.flatnonzero(one.right) if net.decoder is None else ():
        assert (one.expected[t] == one.now[t + 1]).all()
    assert len(gif(one)) < 60_000


def test_nothing_to_film(tmp_path):
    """No films asked for, or no weights: nothing is loaded; weights that cannot be read are told."""
    results = {"env": "physics3_unobserved", "metrics": {"test/cf_hits@1": 1.0}, "run": "r", "model": "ae", "loss": "nll"}
    assert films_section({tmp_path: results}, 2) == "" and chosen({tmp_path: results}) == {}
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "model.ckpt").touch()
    planner = tmp_path / "planner"
    (planner / "checkpoints").mkdir(parents=True)
    (planner / "checkpoints" / "model.ckpt").touch()
    both = {tmp_path: results, planner: results | {"metrics": {"plan/success/h10": 5.0}}}
    assert chosen(both) == {"physics": [planner, tmp_path]} and films_section({tmp_path: results}, 0) == ""
    assert "no config.yaml" in films_section({tmp_path: results}, 2)
