"""Blocks read off latents: any latent that holds the places is read to millimetres,
one that does not is as wrong as guessing."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from envs.spec import Observation
from eval.probes import block_readout
from eval.probes.block_readout import fit_places, places_of

RNG = np.random.default_rng(0)
PLACES = RNG.uniform(-0.1, 0.1, (3000, 1, 3)).astype(np.float32)
MIX = torch.from_numpy(RNG.normal(size=(3, 8)).astype(np.float32))


def bent(places):
    """A latent (B, 2, 4) in which places are mixed and bent."""
    return torch.tanh(8 * torch.from_numpy(places).flatten(1) @ MIX).unflatten(1, (2, 4))


@pytest.fixture(scope="module")
def read():
    return fit_places(bent(PLACES[:2000]), PLACES[:2000])


def test_places_are_read_off_a_latent_that_holds_them_whatever_its_form(read):
    error = 1000 * np.linalg.norm(read(bent(PLACES[2000:])) - PLACES[2000:], axis=-1)
    assert np.median(error) < 4  # of 200 mm a side


def test_a_latent_that_holds_nothing_is_read_as_the_middle():
    noise = torch.from_numpy(np.random.default_rng(1).normal(size=(3000, 2, 4)).astype(np.float32))
    blind = fit_places(noise[:2000], PLACES[:2000])
    error = 1000 * np.linalg.norm(blind(noise[2000:]) - PLACES[2000:], axis=-1)
    assert np.median(error) > 80


def test_the_same_read_out_is_found_again(read):
    again = fit_places(bent(PLACES[:2000]), PLACES[:2000])
    assert (again(bent(PLACES[2000:])) == read(bent(PLACES[2000:]))).all()


class Scene:
    """One block, shown as it lies."""

    shown = Observation("objects", (1, 3), values="real")

    def positions(self, table):
        return table

    def blocks(self, table): ...
    def poses(self, table): ...
    def tips(self, table): ...


def test_predictions_are_measured_where_a_block_moves(read, monkeypatch):
    """Beside what the read-out loses on the true outcome; the prediction here is a centimetre beside it."""
    monkeypatch.setattr(block_readout, "read_places", lambda run, data_dir: read)
    true = PLACES[2000:2400, None].repeat(2, 1)
    beside = bent(true[:, 1] + np.float32([0.01, 0, 0]))
    moved = np.arange(400) % 2 == 0
    data = SimpleNamespace(
        horizons=[1], data_dir=None, read=lambda name: [true], events=lambda h: {"moved": moved},
        predicted=lambda h: beside, target=lambda h: bent(true[:, 1]), start=bent(0 * true[:, 0]),
    )  # fmt: skip
    run = SimpleNamespace(world=Scene(), model=SimpleNamespace(decoder=None))
    assert block_readout.block_readout.why_not(run) is None
    found = block_readout.block_readout(run, data)
    assert found["readout/block_error/median/h1"] == pytest.approx(10, abs=2)
    assert found["eyes/readout/block_error/median/h1"] < 4
    assert found["floor/copy/readout/block_error/median/h1"] > 50


def test_the_read_out_learns_from_frames_of_training(monkeypatch):
    """Nothing of the split that is scored."""

    class Column:
        def __init__(self, file, name):
            assert file == "of training" and name == "objects"

        def __len__(self):
            return 300

        def take(self, rows):
            return PLACES[rows]

    monkeypatch.setattr(block_readout, "OnDisk", Column)
    asked = []
    run = SimpleNamespace(world=Scene(), model=SimpleNamespace(device="cpu", encode=lambda obs: bent(obs.numpy())),
                          file=lambda split, data_dir: asked.append((split, data_dir)) or "of training")  # fmt: skip
    read = block_readout.read_places(run, "there")
    assert asked == [("train", "there")] and np.abs(read(bent(PLACES[:300])) - PLACES[:300]).mean() < 0.05


def test_who_decodes_the_table_says_itself_where_blocks_are(monkeypatch):
    """The read-out is for all others: models of pictures, and models without a decoder."""
    monkeypatch.setattr(block_readout, "read_places", lambda run, data_dir: "read")
    model = SimpleNamespace(decoder=True, device=torch.device("cpu"), decode=lambda latent: latent + 1)
    run = SimpleNamespace(world=Scene(), model=model)
    assert (places_of(run, None)(torch.zeros(2, 1, 3)) == 1).all()
    model.decoder = None
    assert places_of(run, None) == "read"
    model.decoder, run.world.shown = True, Observation("pixels", (64, 64, 3))
    assert places_of(run, None) == "read"
