"""Grid search: combinations are drawn without repeats, runs are scored on validation pairs, and the best one is printed."""

import json
from pathlib import Path

import pytest
import yaml

from envs.problem import Problem
from eval.paper.voe_grid import combinations, show_grid

TOY = ["env=square_clips", "experiment=voe_grid", "trainer=smoke", "logger=csv", "score.horizons=[1]", "loss.epochs.smoke=1",
       "model.width=16", "model.channels=2", "model.frames=4", "env.splits.train.episodes=16"]  # fmt: skip

DOMAIN = {"learning_rate": [0.1, 0.2, 0.3], "clips": [4, 8], "optimizer": ["sgd"]}


def test_the_domain_is_the_published_one(compose):
    from configs import _drawn

    grid = compose("fit", "experiment=voe_grid", "env=voe_barrier").grid
    drawn = set()
    for grid.row in range(96):
        drawn.add(tuple(_drawn(grid, key) for key in ("learning_rate", "clips", "optimizer")))
    assert len(drawn) == 96
    grid.row = 96
    with pytest.raises(Problem, match="has 96 combinations, got grid.row=96"):
        _drawn(grid, "clips")


def test_twenty_rows_are_swept(root):
    """`-m experiment=voe_grid` alone goes through them."""
    import hydra
    from hydra.types import RunMode

    from eval.runs import CONFIGS

    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        loader = hydra.core.global_hydra.GlobalHydra.instance().config_loader()
        cfg = loader.load_configuration("fit", ["experiment=voe_grid", "env=voe_barrier"], RunMode.MULTIRUN)
    assert cfg.hydra.sweeper.params == {"grid.row": "range(20)"} and cfg.score.split == "valid"


def test_a_sweep_on_the_toy_world_ends_in_a_choice(square_clips, command_here):
    done = command_here("train/fit.py", "-m", *TOY, "grid.row=3,5", cwd=square_clips)
    assert done.returncode == 0, done.stderr[-2000:]
    done = command_here("eval/tables.py", "table=voe-grid", "runs_dir=runs/grid", "out=out", cwd=square_clips)
    assert done.returncode == 0, done.stderr[-2000:]
    ((env, rows),) = combinations(square_clips / "runs/grid").items()
    assert env == "square_clips" and {one["row"] for one in rows} == {(0, 3), (0, 5)}
    assert f"env=square_clips loss.learning_rate={rows[0]['learning_rate']} loss.clips={rows[0]['clips']}" in done.stdout
    assert "2 combinations of 96" in (square_clips / "out/voe-grid.md").read_text()


def test_the_best_combination_comes_first(tmp_path):
    """By the hit rate, of equal ones by AUC, means over seeds; a run scored on test is refused."""
    for row, seed, rate, auc, split in (
        (0, 0, 0.6, 0.6, "valid"),
        (0, 1, 0.8, 0.6, "valid"),
        (1, 0, 0.7, 0.9, "valid"),
        (2, 0, 0.9, 0.9, "test"),
    ):
        if split == "test":
            assert [one["row"] for one in combinations(tmp_path)["voe_barrier"]] == [(0, 1), (0, 0)]
        place = Path(tmp_path / f"{row}-{seed}")
        place.mkdir()
        (place / "config.yaml").write_text(
            yaml.safe_dump(
                {
                    "grid": {"seed": 0, "row": row, "domain": DOMAIN},
                    "loss": {"learning_rate": 0.1, "clips": 4, "optimizer": "sgd"},
                }
            )
        )
        metrics = {"voe/hit_rate": rate, "voe/auc": auc}
        (place / "results.json").write_text(
            json.dumps({"env": "voe_barrier", "metrics": metrics, "protocol": {"split": split}})
        )
    with pytest.raises(Problem, match="was scored on split 'test', and a grid is chosen on valid"):
        combinations(tmp_path)
    (tmp_path / "2-0/results.json").unlink()
    show_grid({"runs_dir": str(tmp_path), "out": str(tmp_path / "out")})
    assert "2 combinations of 6, scored" in (tmp_path / "out/voe-grid.md").read_text()
    with pytest.raises(Problem, match="holds no run of a grid"):
        show_grid({"runs_dir": str(tmp_path / "none"), "out": str(tmp_path)})
