"""GIFs of planning episodes: a frame for every step, borders that tell what happened, and small files."""

from io import BytesIO

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from PIL import Image

from eval.pages.episode_gifs import (
    BORDER,
    END_MS,
    RIGHT,
    STEP_MS,
    WRONG,
    Episode,
    best_planners,
    episode,
    frames,
    gifs_section,
    plan_episodes,
)
from eval.pages.html import gif


def made(reached, right=(True, True)) -> Episode:
    now = np.zeros((3, 10, 10, 3), np.uint8)
    return Episode(7, now, now[:2], now[0], np.array(reached), np.array(right))


def border(picture) -> tuple:
    return tuple(picture[BORDER // 2, BORDER // 2])


def test_the_border_tells(tmp_path):
    """Green when the goal stands, also on the way; red at the end where it does not; a wrong expectation is red too."""
    neutral, green, last = (border(p) for p in frames(made([False, True, False])))
    assert neutral not in (tuple(RIGHT), tuple(WRONG)) and green == tuple(RIGHT) and last == tuple(WRONG)
    assert border(frames(made([False, False, True]))[-1]) == tuple(RIGHT)
    wrong = frames(made([False, False, True], right=[False, True]))
    assert [tuple(p[BORDER // 2, -BORDER // 2]) == tuple(WRONG) for p in wrong] == [True, False, False]


def test_a_gif_has_a_frame_for_every_step():
    """It loops, and its last picture is held."""
    moving = made([False, False, True])._replace(now=np.arange(900, dtype=np.uint8).reshape(3, 10, 10, 3))
    found = Image.open(BytesIO(gif(frames(moving), STEP_MS, END_MS)))
    times = []
    for i in range(found.n_frames):
        found.seek(i)
        times.append(found.info["duration"])
    assert found.n_frames == 3 and times[-1] > 2 * times[0] and found.info["loop"] == 0
    assert found.size == frames(moving)[0].shape[1::-1]


@pytest.mark.parametrize("env, model", [("physics3", "modular"), ("chemistry_chain5", "lstm")])
def test_episodes_of_an_untrained_model(env, model, compose, tmp_path):
    """Boards, goal and outcomes of a whole episode, with memory and without; what came is what the next frame shows."""
    loss = {"lstm": "memory", "modular": "infonce"}[model]
    size = {"lstm": "patch", "modular": "small"}[model]
    cfg = compose("fit", f"env={env}", f"model={model}", f"loss={loss}", f"model.size={size}", f"data_dir={tmp_path}")
    world, net = instantiate(cfg.env.world), instantiate(cfg.model.module).eval()
    planned = plan_episodes(net, world, episodes=4, steps=3)
    one = episode(net, world, planned, 2)
    assert one.now.shape == (4, 50, 50, 3) and one.expected.shape == (3, 50, 50, 3) and one.reached.shape == (4,)
    assert one.reached[-1] == (world.distance(planned.boards[-1], planned.goal) == 0)[2] and not one.reached[0]
    for t in np.flatnonzero(one.right) if net.decoder is None else ():
        assert (one.expected[t] == one.now[t + 1]).all()
    assert len(gif(frames(one), STEP_MS, END_MS)) < 60_000


def test_worlds_without_goals_have_no_episodes(tmp_path, monkeypatch):
    """Seen: one run on videos below runs_dir, and eval/report.py ended in an AttributeError."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "model.ckpt").touch()
    cfg = OmegaConf.create({"env": {"world": {"_target_": "envs.voe.source.VoeSource", "category": "barrier"}}})
    monkeypatch.setattr("eval.pages.episode_gifs.load_run", lambda folder: (None, cfg))
    assert gifs_section({tmp_path: {"env": "voe_barrier", "metrics": {}}}, 2) == ""


def test_nothing_to_show(tmp_path):
    """No GIFs asked for, or no weights: nothing is loaded; weights that cannot be read are told."""
    results = {"env": "physics3_unobserved", "metrics": {"test/cf_hits@1": 1.0}, "run": "r", "model": "ae", "loss": "nll"}
    assert gifs_section({tmp_path: results}, 2) == "" and best_planners({tmp_path: results}) == {}
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "model.ckpt").touch()
    planner = tmp_path / "planner"
    (planner / "checkpoints").mkdir(parents=True)
    (planner / "checkpoints" / "model.ckpt").touch()
    both = {tmp_path: results, planner: results | {"metrics": {"plan/success/h10": 5.0}}}
    assert best_planners(both) == {"physics": [planner, tmp_path]} and gifs_section({tmp_path: results}, 0) == ""
    assert "no config.yaml" in gifs_section({tmp_path: results}, 2)
