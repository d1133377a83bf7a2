"""Measures an agent between segments, on tasks that no score is reported on, and keeps the best archive."""

from collections.abc import Callable
from pathlib import Path

from stable_baselines3.common.base_class import BaseAlgorithm

from envs.whole_files import write_whole
from eval.runs.metrics_csv import whole_rows
from train.metrics_csv import add_rows

COLUMNS = {"steps": int, "measure": str, "percent": float}  # of evaluations.csv
_MEAN = "mean"  # of the measures: by it the best archive is chosen


def evaluate_if_due(
    every: int | None, folder: Path, agent: BaseAlgorithm, measure: Callable[[BaseAlgorithm, Path], dict[str, float]]
) -> dict[str, float]:
    """Success in percent by its measure, and the mean of all; empty where no multiple of `every` steps lies between the last
    evaluation and now.

    agent: as in its archive, checkpoints/agent.zip.  The best archive of all evaluations stays as checkpoints/best.zip.
    """
    if every is None:
        return {}
    path = folder / "evaluations.csv"
    before = {int(row["steps"]): float(row["percent"]) for row in whole_rows(path, COLUMNS) if row["measure"] == _MEAN}
    if agent.num_timesteps // every <= max(before, default=0) // every:
        return {}
    archive = folder / "checkpoints" / "agent.zip"
    found = measure(agent, archive)
    found[_MEAN] = sum(found.values()) / len(found)
    if found[_MEAN] > max(before.values(), default=-1.0):
        write_whole(archive.with_name("best.zip"), archive.read_bytes())
    rows = [(agent.num_timesteps, name, f"{value:.6g}") for name, value in found.items()]
    add_rows(path, COLUMNS, rows)  # last: they say that the best archive is written
    return found
