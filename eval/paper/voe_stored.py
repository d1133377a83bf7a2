"""Runs on violated expectations as the repository keeps them: the JSON files of the benchmarks, whose run folders are gone."""

import json
from functools import cached_property
from pathlib import Path

from envs.problem import Problem
from eval.paper.voe_runs import TEST, Row, voe_tables

STORED = "stored"  # the budget that trains nothing and shows what these files hold


class StoredRuns:
    """As `Runs`, of what benchmarks/voe_labels.py and benchmarks/voe_surprise.py wrote.  cfg: of eval/tables.py; runs_dir:
    where the files lie. Raises Problem on a file that is missing or damaged."""

    def __init__(self, cfg: dict) -> None:
        self.folder = Path(cfg["runs_dir"])

    @property
    def seeds(self) -> set[int]:
        return {seed for _, _, seed in self._every}

    def results(self, row: Row, env: str, seed: int) -> dict | None:
        """As results.json says it; none where no file holds the run. Ways of asking are not kept."""
        return self._every.get((row.run, env, seed))

    def asked(self, row: Row, env: str, seed: int, results: dict) -> dict | None:
        """What the row shows of a run; nothing of another way of asking."""
        return None if row.ask else results

    def others(self, rows: list[Row]) -> list[Row]:
        """Every stored run belongs to a row with a name."""
        return []

    @cached_property
    def _every(self) -> dict[tuple[str, str, int], dict]:
        names, found = voe_tables()["stored"], {}
        for one in self._read("voe_labels.json")["runs"]:
            if one["row"] in names:
                found[names[one["row"]], one["env"], one["seed"]] = {
                    "loss": "labels", "env": one["env"], "seed": one["seed"], "metrics": one["metrics"],
                    "protocol": {"split": TEST, "epochs": [one["epochs"]]}, "timing": {"fit_s": one["train_seconds"]},
                }  # fmt: skip
        for key, one in self._read("voe_surprise.json").items():
            category, recipe, seed = key.split("/")
            env, at = f"voe_{category}", one.get(TEST, {})
            if recipe in names and at:
                found[names[recipe], env, int(seed[1:])] = {
                    "loss": "", "env": env, "seed": int(seed[1:]), "metrics": at["metrics"],
                    "protocol": {"split": TEST, "epochs": one["epochs"]}, "timing": {"fit_s": one["fit_s"]},
                    "violation": {name: at[name] for name in ("pairs", "horizons", "of_clip")},
                }  # fmt: skip
        return found

    def _read(self, name: str) -> dict:
        path = self.folder / name
        try:
            found = json.loads(path.read_text())
            if not isinstance(found, dict):
                raise ValueError("no mapping")
            return found
        except (OSError, ValueError) as error:
            raise Problem(
                f"{path} cannot be read ({type(error).__name__}); budget={STORED} shows what it holds: set runs_dir=results"
            ) from error
