"""Experiments of TriFinger compose to what docs/trifinger.md says was measured."""

import pytest

pytest.importorskip("pybullet")


def test_experiments_say_what_was_measured(compose):
    """What docs/trifinger.md tells of each."""
    table = compose("fit", "experiment=trifinger_pushing")
    assert (table.env.world.policy, table.env.splits.train.episodes, table.model.hidden) == ("mixed", 2000, 512)
    assert table.loss.epochs.quick == 30 and table.model.columns.size == [0.01, 0.01, 0.01]
    pixels = compose("fit", "experiment=trifinger_pushing_pixels")
    assert pixels.spec.shown.column == "pixels" and pixels.model.module.encoder.trunk._target_.endswith("SceneMaps")
    assert pixels.loss.stages[0].objective.open_loop and pixels.loss.stages[0].window == 10
    causes = compose("fit", "experiment=trifinger_pushing", "env=trifinger_pushing_causes").env.splits
    assert {split.mode for name, split in causes.items() if "test-" not in name} == {"blocks-a"}
    quick, paper = (compose("manipulation", f"experiment={name}_ppo") for name in ("quick", "paper"))
    assert (quick.steps, quick.skip_frame, quick.algo.boards) == (400_000, 10, 2)
    assert paper.steps == 10**8 and paper.algo.boards * paper.algo.learner.n_steps == 120_000  # between two updates
    assert paper.algo.boards * paper.algo.learner.n_steps / paper.algo.learner.batch_size == 40  # minibatches
