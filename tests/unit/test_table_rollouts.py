"""Rollouts of tables on the page of a run: the windows shown, their errors, paths from above and GIFs."""

import base64
import re
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image

from envs.spec import Observation
from eval.pages.table_rollouts import _outline, can_show, table_rollouts


class Arena:
    """A tip and a block on a floor, rows (x, y, z) of a table; a picture is black, and its red as bright as x of the block."""

    observation, shown = "objects", Observation("objects", (2, 3), values="real", resolution=1e-3)

    def blocks(self, table):
        return table[:, 1:]

    positions = blocks

    def poses(self, table):
        return np.concatenate([table[:, 1:], np.broadcast_to([0.03, 0, 0, 0, 0.03, 0], (len(table), 1, 6))], -1)

    def tips(self, table):
        return table[:, :1]

    def unpack(self, rows):
        return rows

    def draw(self, state, table):
        picture = np.zeros((len(table), 12, 16, 3), np.uint8)
        picture[..., 0] = np.rint(1000 * table[:, 1, 0])[:, None, None]
        return picture


class Shift:
    """Predicts that the block moves on by an action's first number; the truth in `data` moves twice as far."""

    device, decoder = torch.device("cpu"), True

    def rollout(self, latent, actions):
        way = torch.zeros(len(latent), actions.shape[1], 2, 3)
        way[:, :, 1, 0] = actions[..., 0].cumsum(1)
        return latent[:, None] + way

    def decode(self, latent):
        return latent


def data(columns=("objects", "state")):
    """Eight windows of two steps; in window i the block goes 2 * i cm, so that the prediction is i cm beside."""
    actions = torch.zeros(8, 3, 1) + torch.arange(8)[:, None, None] / 200
    obs = np.zeros((8, 3, 2, 3), np.float32)
    obs[:, :, 1, 0] = 2 * np.arange(3) * np.arange(8)[:, None] / 200
    start = torch.from_numpy(obs[:, 0])
    return SimpleNamespace(
        obs=obs, actions=actions, start=start, state=obs, file=SimpleNamespace(columns=columns),
        predicted=lambda h: Shift().rollout(start, actions[:, :h])[:, -1],
    )  # fmt: skip


def gifs(html):
    return [Image.open(BytesIO(base64.b64decode(one))) for one in re.findall(r"data:image/gif;base64,([^\"]+)", html)]


def test_windows_from_the_median_error_to_the_largest_are_shown():
    """A window in which nothing moves is none of them; every step is a frame, the true bodies left, the predicted right."""
    found = table_rollouts(Shift(), Arena(), data(), 2)
    assert (found.pool, found.blocks) == (7, True) and abs(found.error - 40) < 1e-3
    shown = re.findall(r"Window (\d), .*?: ([\d.]+) mm", found.html)
    assert shown == [("4", "40.0"), ("5", "50.0"), ("6", "60.0"), ("7", "70.0")]
    last = gifs(found.html)[-1]
    assert last.n_frames == 3 and last.size == (16 + 6 + 16, 12)
    last.seek(2)
    picture = np.asarray(last.convert("RGB"))
    assert picture[0, 0, 0] == 140 and picture[0, -1, 0] == 70
    assert found.html.count("<svg") == 4


def test_without_states_there_are_paths_and_no_gif():
    found = table_rollouts(Shift(), Arena(), data(("objects",)), 2)
    assert not gifs(found.html) and found.html.count("<svg") == 4


def test_only_tables_of_bodies_with_a_decoder():
    world = Arena()
    assert can_show(Shift(), world) and not can_show(SimpleNamespace(decoder=None), world) and not can_show(Shift(), object())


def test_an_outline_is_the_hull_of_a_block_from_above():
    corners = _outline(np.array([0.1, 0, 0, 0.03, 0, 0, 0, 0.03, 0]))
    assert np.allclose(corners[0], corners[-1]) and {tuple(c) for c in corners.round(3).tolist()} == {
        (0.07, -0.03), (0.07, 0.03), (0.13, -0.03), (0.13, 0.03)}  # fmt: skip
