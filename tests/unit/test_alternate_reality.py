"""The alternate reality: surprising clips are what is usual, and ordinary ones surprise; no clip is collected twice."""

import json

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from envs.collect import collect
from envs.problem import Problem

TOY = ["env=square_clips", "experiment=alternate_reality", "model=tracks", "loss=prediction", "env.observation=objects",
       "trainer=smoke", "logger=csv", "score.horizons=[1]", "loss.epochs.smoke=1"]  # fmt: skip


def test_files_of_the_alternate_reality_are_those_of_the_ordinary_one(square_clips, toy_configs):
    """Same paths, same rows; a file answers to the name that its reader asked for."""
    import yaml
    from envs.square_clips import SquareClips

    env, world = yaml.safe_load((toy_configs / "env/square_clips.yaml").read_text()), SquareClips("objects")
    swapped = env | {"stored_as": {"test": "test-surprising", "test-surprising": "test"}}
    ordinary, alternate = (
        {
            split: collect(one, world, split, square_clips / "data", quiet=True)
            for split in ("test", "test-surprising", "test-control")
        }
        for one in (env, swapped)
    )
    assert [alternate[split].header["split"] for split in alternate] == list(alternate)
    assert {split: file.path for split, file in alternate.items()} == {
        "test": ordinary["test-surprising"].path, "test-surprising": ordinary["test"].path,
        "test-control": ordinary["test-control"].path,
    }  # fmt: skip
    assert len(list((square_clips / "data").glob("*.h5"))) == 3
    (version,) = alternate["test"].read("label_version").values()
    assert np.unique(version).tolist() == [1]
    with pytest.raises(Problem, match="has no split 'tset'"):
        collect(env | {"stored_as": {"test": "tset"}}, world, "test", square_clips / "data", quiet=True)
    with pytest.raises(Problem, match="is stored as 'final', whose episodes nobody trains or chooses on"):
        collect(env | {"stored_as": {"test": "final"}}, world, "test", square_clips / "data", quiet=True)


def test_training_scores_and_ceilings_follow(square_clips, command_here):
    """Trees fitted to surprising clips expect them: ordinary clips surprise every time, and the model's pairs are swapped."""
    done = command_here("train/fit.py", *TOY, cwd=square_clips)
    assert done.returncode == 0, done.stderr[-2000:]
    folder = square_clips / "runs/tracks-prediction-square_clips-objects-alternate-smoke-s0"
    results = json.loads((folder / "results.json").read_text())
    assert results["metrics"]["ceiling/features/voe/hit_rate"] == 1
    assert results["violation"]["pairs"] == {"expected": 40, "surprising": 40, "control": 40}
    assert results["protocol"]["split"] == "test" and {"voe/hit_rate/E2", "voe/hit_rate/E3"} <= results["metrics"].keys()
    config = OmegaConf.load(folder / "config.yaml")
    from eval.runs import Run

    (trained,) = Run.open(folder).file("train").read("label_version").values()
    assert np.unique(trained).tolist() == [1] and config.env.stored_as.test == "test-surprising"


@pytest.mark.parametrize("category", ["support", "barrier"])
def test_every_category_has_the_splits_that_are_swapped(compose, category):
    cfg = compose("fit", "experiment=alternate_reality", f"env=voe_{category}", "model=ofpr", "loss=labels")
    assert set(cfg.env.stored_as) <= set(cfg.env.splits) and cfg.name == f"ofpr-labels-voe_{category}-alternate-quick-s0"
    versions = instantiate(cfg.env.world).versions("test")
    assert cfg.env.stored_as[versions["expected"]] == versions["surprising"]
