"""A world model that learned the toy world's rule from expected clips alone is surprised where it is broken."""

import json

import pytest

pytestmark = pytest.mark.slow
SETTING = ["env=square_clips", "trainer=smoke", "logger=csv", "env.observation=objects", "loss.window=31", "score.horizons=[1]"]


@pytest.mark.parametrize("recipe", [
    ["model=lstm", "loss=nll", "loss.epochs.smoke=25"], ["model=lstm", "loss=infonce", "loss.epochs.smoke=18"],
])  # fmt: skip
def test_violated_causes_surprise_more_than_expected_ones(square_clips, command_here, recipe):
    done = command_here("train/fit.py", *SETTING, *recipe, cwd=square_clips)
    assert done.returncode == 0, done.stderr[-2000:]
    (folder,) = (square_clips / "runs").iterdir()
    m = json.loads((folder / "results.json").read_text())["metrics"]
    assert m["voe/hit_rate"] > 0.8 and m["voe/hit_rate"] > m["floor/change/voe/hit_rate"] + 0.2
