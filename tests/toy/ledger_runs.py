"""A tiny run that was chosen on `select` and is entered, for tests of the ledger."""

import shutil

import pytest
from omegaconf import OmegaConf

FEW = ["env.splits.select.episodes=20", "env.splits.final.episodes=20", "score.episodes=20"]


@pytest.fixture(scope="module")
def run(tmp_path_factory, fitted_here, small):
    """A tiny run that was chosen on `select` and is entered."""
    folder = tmp_path_factory.mktemp("ledger")
    fitted_here("env=physics3", "model=ae", "loss=contrastive", *small, *FEW, "score.split=select", "logger=csv", "name=chosen",
                "ledger=ledger", cwd=folder)  # fmt: skip
    return folder / "runs/chosen"


@pytest.fixture
def copied(run, tmp_path):
    """Of its folder, with the data where they were."""
    shutil.copytree(run.parents[1], tmp_path / "here")
    return tmp_path / "here/runs/chosen"


def changed(run, name: str, **values):
    """Another run with the same weights, whose config says otherwise."""
    other = run.with_name(name)
    shutil.copytree(run, other)
    (other / "results-final.json").unlink(missing_ok=True)
    config = OmegaConf.load(other / "config.yaml")
    for key, value in {"name": name, **values}.items():
        OmegaConf.update(config, key, value, force_add=True)
    OmegaConf.save(config, other / "config.yaml")
    return other
