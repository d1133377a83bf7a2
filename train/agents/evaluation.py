"""Measures an agent between segments, on tasks that no score is reported on, and keeps the best archive."""

from collections.abc import Callable
from pathlib import Path

from stable_baselines3.common.base_class import BaseAlgorithm

from envs.whole_files import write_whole
from eval.runs.metrics_csv import whole_rows
from train.metrics_csv import add_rows

COLUMNS = {"steps": int, "measure": str, "percent": float}  # of evaluations.csv
_MEAN = "mean"  # of the measures: by it the best archive is chosen
_BOUNDS = ("low", "high")  # of a measure's 95 %, rows of their own: P5, P5/low, P5/high

Scores = dict[str, tuple[float, float, float]]  # measure -> percent, and its 95 %: from, to


def evaluate_if_due(
    every: int | None, folder: Path, agent: BaseAlgorithm, measure: Callable[[BaseAlgorithm, Path], Scores]
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
    scores = measure(agent, archive)
    found = {name: score for name, (score, *_) in scores.items()}
    found[_MEAN] = sum(found.values()) / len(found)
    if found[_MEAN] > max(before.values(), default=-1.0):
        write_whole(archive.with_name("best.zip"), archive.read_bytes())
    bounds = {f"{name}/{bound}": value for name, (_, *both) in scores.items() for bound, value in zip(_BOUNDS, both)}
    rows = [(agent.num_timesteps, name, f"{value:.6g}") for name, value in (bounds | found).items()]
    add_rows(path, COLUMNS, rows)  # last: they say that the best archive is written
    return found


def evaluations(folder: Path) -> list[dict]:
    """What evaluations.csv holds, an entry for each number of steps: {"steps": 25000, "P5": [percent, low, high]}; the bounds
    are lacking where an older command wrote it. The mean of the measures is left out."""
    found: dict[int, dict[str, float]] = {}
    for row in whole_rows(folder / "evaluations.csv", COLUMNS):
        found.setdefault(int(row["steps"]), {})[row["measure"]] = float(row["percent"])
    return [{"steps": steps} | {name: _with_bounds(name, own) for name in own if "/" not in name and name != _MEAN}
            for steps, own in sorted(found.items())]  # fmt: skip


def _with_bounds(name: str, own: dict[str, float]) -> list[float]:
    return [own[name], *(own[key] for bound in _BOUNDS if (key := f"{name}/{bound}") in own)]
