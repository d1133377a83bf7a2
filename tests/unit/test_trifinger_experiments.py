"""Experiments of TriFinger compose to what docs/trifinger.md says was measured."""

import numpy as np
import pytest

pytest.importorskip("pybullet")

from train.agents.training import _own  # noqa: E402


def test_experiments_say_what_was_measured(compose):
    """What docs/trifinger.md tells of each."""
    table = compose("fit", "experiment=trifinger_pushing")
    assert (table.env.world.policy, table.env.splits.train.episodes, table.model.hidden) == ("mixed", 2000, 512)
    assert table.loss.epochs.quick == 30 and table.model.columns.size == [0.01, 0.01, 0.01]
    pixels = compose("fit", "experiment=trifinger_pushing_pixels")
    assert pixels.spec.shown.column == "pixels" and pixels.model.module.encoder.trunk._target_.endswith("SceneTiles")
    stage = pixels.loss.stages[0]
    assert (stage.objective.open_loop, stage.objective.later, stage.window, stage.batch_size) == (True, 3, 10, 1300)
    assert (pixels.model.name, pixels.trainer.cpu_minutes, pixels.env.splits.train.episodes) == ("edge", 36, 2000)
    assert (pixels.env.world.camera, pixels.env.world.drawn, pixels.env.world.policy) == ("front", 2, "mixed")
    assert (pixels.env.world.motion, list(pixels.spec.shown.shape)) == (0.04, [64, 64, 6])
    causes = compose("fit", "experiment=trifinger_pushing", "env=trifinger_pushing_causes").env.splits
    assert {split.mode for name, split in causes.items() if "test-" not in name} == {"blocks-a"}
    quick, paper = (compose("manipulation", f"experiment={name}_ppo") for name in ("quick", "paper"))
    assert (quick.steps, quick.skip_frame, quick.algo.boards) == (400_000, 10, 2)
    assert paper.steps == 10**8 and paper.algo.boards * paper.algo.learner.n_steps == 120_000  # between two updates
    assert paper.algo.boards * paper.algo.learner.n_steps / paper.algo.learner.batch_size == 40  # minibatches
    assert (paper.algo.learner.vf_coef, paper.algo.learner.clip_range_vf) == (0.25, 0.2), (
        "their .5, of half a squared error; clipped alike"
    )
    late = [_own(cfg, cfg.steps // 2) for cfg in (quick, paper)]
    assert (
        late[0]["learning_rate"] == quick.algo.learner.learning_rate / 2
        and late[0]["ent_coef"] == quick.algo.learner.ent_coef / 2
    )
    assert set(late[1]) == {"seed"}, "the authors' rate and entropy bonus stay"


PAPER = {  # CausalWorld's baselines, reference section 12
    "sac": dict(gamma=0.95, tau=0.001, ent_coef=0.001, target_entropy="auto", learning_rate=1e-4, buffer_size=10**6,
                batch_size=256, learning_starts=1000),
    "td3": dict(gamma=0.96, tau=0.02, learning_rate=1e-4, buffer_size=500_000, batch_size=128, learning_starts=1000),
    "her": dict(gamma=0.98, tau=0.01, learning_rate=2.5e-4, batch_size=256),
}  # fmt: skip


@pytest.mark.parametrize("name", PAPER)
def test_papers_settings_of_learners_with_a_buffer(name, compose):
    """Ten million steps, three frames a step, two layers of 256; noise of TD3, four goals of HER."""
    cfg = compose("manipulation", f"experiment=paper_{name}")
    assert {key: cfg.algo.learner[key] for key in PAPER[name]} == PAPER[name]
    assert (cfg.steps, cfg.skip_frame, cfg.algo.hidden) == (10**7, 3, 256)
    assert (cfg.algo.get("noise"), cfg.algo.relabelled) == {"sac": (None, 0), "td3": (0.1, 0), "her": (None, 4)}[name]
    assert cfg.reward == ("sparse" if name == "her" else "dense")
    if name != "her":
        quick = compose("manipulation", f"experiment=quick_{name}")
        assert (quick.algo.name, quick.steps, quick.skip_frame) == (name, 150_000, 10)


def test_the_correction_is_the_one_that_was_measured(compose):
    """TD3 with a hundredth of an action, masses of both spaces."""
    cfg = compose("manipulation", "experiment=quick_residual")
    assert (cfg.algo.name, cfg.residual, cfg.steps, cfg.curriculum.name) == ("td3", 0.01, 75_000, "masses")
    assert cfg.curriculum.phases[0].actor["names"] == ["tool_block/mass"] and cfg.evaluate.protocols == ["P0", "P2"]


def test_the_bonus_on_chance_is_small_beside_a_filled_goal(compose):
    """Seen: a bonus that is learned begins at 1, a filled goal is worth .04 a step, and nothing was learned of goals."""
    cfg = compose("manipulation", "experiment=quick_her", "task=reaching")
    most = cfg.algo.learner.ent_coef * 9 * np.log(2)  # of nine actions that are uniform in [-1, 1]
    assert (cfg.algo.relabelled, cfg.reward, cfg.steps) == (4, "fractional", 100_000) and most < 0.2 * 0.004 * cfg.skip_frame
