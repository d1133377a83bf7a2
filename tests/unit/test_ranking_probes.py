"""Ranking, the authors' rule and drawn predictions, held against ranks that were counted by hand."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from test_probes import Line, Moving

from eval.probes.data import Data
from eval.probes.ranking_pool import ranking_pool
from eval.probes.reconstruction import reconstruction
from eval.probes.reference_rule import reference_rule
from eval.runs import Run


@pytest.fixture
def places():
    """Data of ten films whose disc is at 0 and then at its own tenth;
    in the last two of them something happened, first after one step."""
    obs = np.zeros((10, 3, 1, 1), np.float32)
    obs[:, 1:] = np.linspace(0, 0.9, 10).reshape(-1, 1, 1, 1)
    seen = np.zeros((10, 3), bool)
    seen[8:, 1] = True
    file = SimpleNamespace(path=Path("here/test.h5"), ep_len=np.full(10, 3), header={"split": "test"},
                           columns={"places": None, "event_blink": None}, made_from={}, ep_offset=np.arange(0, 30, 3),
                           starts=lambda *how: np.arange(0, 30, 3),
                           windows=lambda *names, **how: [{"places": obs, "event_blink": seen, "action": seen}[name]
                                                          for name in names])  # fmt: skip
    return Data(Run(Half(), world=Line(), config=SimpleNamespace(data_dir="here")), file, [1, 2], 10, 5)


class Half(Moving):
    """Is right about the first half of the films, and says .05 of the others."""

    decoder = SimpleNamespace(likelihood=SimpleNamespace(distance=lambda mean, obs: (mean - obs).abs().sum()))

    def rollout(self, latent, actions):
        told = torch.where(torch.arange(10) < 5, torch.linspace(0, 0.9, 10), torch.tensor(0.05))
        return told[:, None, None, None].expand(-1, actions.shape[1], 1, 1)

    def decode(self, latent):
        return latent


def test_ranks_are_those_of_the_hand(places):
    """.05 lies between 0 and .1, and .1 is not among the true outcomes of the second half: ranks 4 to 9 of ten."""
    found = ranking_pool(places._run, places)
    for h in (1, 2):
        assert found[f"test/hits@1/h{h}"] == 50.0
        assert found[f"test/mrr/h{h}"] == pytest.approx(100 * (5 + sum(1 / rank for rank in range(6, 11))) / 10)
        assert found[f"floor/constant/hits@1/h{h}"] <= 10.0, "one answer for all"
        assert found[f"floor/copy/hits@1/h{h}"] == 10.0
    assert found["test/hits@1/blink/h2"] == 0.0 and np.isnan(found["test/hits@1/blink/h1"]), "nothing had happened by the first"


def test_the_rule_of_the_authors_ranks_predictions_and_ties_win(places):
    """To each true place of the second half four predictions are nearer than its own, which four others equal."""
    found = reference_rule(places._run, places)
    assert found["test/reference/hits@1/h2"] == 50.0 and found["test/reference/mrr/h2"] == pytest.approx(100 * (5 + 5 / 5) / 10)


def test_what_is_drawn_is_held_against_what_happened(places):
    """Off by .5 - .05 and so on, over ten films; the start is further off."""
    found = reconstruction(places._run, places)
    assert found["test/reconstruction/h2"] == pytest.approx((0.5 + 0.6 + 0.7 + 0.8 + 0.9 - 5 * 0.05) / 10, rel=1e-5)
