"""OFPR-Net and its comparisons on our own clips, trained from pixels: hit rates, AUC, errors of heads, ceilings, seconds.

    python benchmarks/voe_labels.py --seeds 0 --workers 2
    python benchmarks/voe_labels.py --seeds 0-2 --rows ofpr of --categories barrier

Trains what is missing, one thread each; runs that are done are skipped, and copies of the command share the work. Writes the
results of all runs that are there to results/voe_labels.json, where those of other machines stay, and prints the hit rates.
Collects clips that are missing.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # the repository in place of this folder

import argparse
import json

import numpy as np
import yaml

from benchmarks.trained import left_of, numbers
from envs.voe.clip import CATEGORIES as NAMED
from envs.whole_files import write_whole
from eval.paper.sweep import Job, missing, run_jobs
from eval.paper.voe_runs import Row, voe_tables
from eval.paper.voe_table import Cell, published
from eval.runs.metrics_csv import COLUMNS, whole_rows
from eval.terminal import print_table

CATEGORIES = tuple(NAMED.values())
NO_SPEEDS = "-no_speeds"  # the end of rows whose trees are not shown speeds and directions after a collision
ROWS = {  # name -> the row in eval/paper/voe_table.yaml, which says how it is trained
    name: voe_tables()["stored"][name.removesuffix(NO_SPEEDS)]
    for name in ("ofpr", "of", "always_expected", "ofpr-no_speeds", "ofpr-whole", "of-whole", "ofpr-whole-no_speeds")
}
TRAIN = ("trainer=quick", "logger=csv", "goals=false", "score.probes=[violation]")
PROTOCOL = (
    "our own clips, 10 % set, natural counts, 112 pixels; what is observed is the label of the clip (oracle); "
    "trained from scratch on 375 expected clips; best epoch by hit rate, AUC and loss of 75 validation pairs; "
    "hit rate on 50 test pairs, ties one half, from 0 to 1; "
    "whole: 16 frames spread over the clip, else frames that both versions share; "
    "no_speeds: trees are not shown speeds and directions after the collision"
)


def job(row: str, category: str, seed: int, runs: Path, data: str) -> Job:
    """The training of one run, or its end where it was broken off."""
    folder = runs / f"{row}-{category}-s{seed}"
    fit = (*Row.of(ROWS[row]).fit, *["model.posterior_speeds=false"] * row.endswith(NO_SPEEDS), *TRAIN)
    return Job(folder.name, lambda: left_of(folder, data, *fit, f"env=voe_{category}", f"seed={seed}"))


def result(row: str, category: str, seed: int, folder: Path) -> dict:
    """What is kept of a run."""
    found, config = json.loads((folder / "results.json").read_text()), yaml.safe_load((folder / "config.yaml").read_text())
    scores = {}
    for one in whole_rows(folder / "metrics.csv", COLUMNS):
        scores.setdefault(int(one["epoch"]), {})[one["metric"]] = float(one["value"])
    best = max(scores, key=lambda n: (scores[n]["val/hit_rate"], scores[n]["val/auc"], -scores[n]["val/loss"]))
    return {
        "row": row, "env": f"voe_{category}", "seed": seed, "budget": config["trainer"]["budget"],
        "frames": config["model"]["frames"], "epochs": len(scores), "best_epoch": best + 1,
        "valid_hit_rate": scores[best]["val/hit_rate"], "train_seconds": round(found["timing"]["fit_s"], 1), "threads": 1,
        "peak_gb": found["timing"].get("peak_gb"),
        "hit_rate": found["metrics"]["voe/hit_rate"], "metrics": found["metrics"], "heads": found.get("heads", {}),
        "commit": found["versions"].get("commit", ""),
    }  # fmt: skip


def with_others(found: list[dict], out: Path) -> list[dict]:
    """Runs that are here, and those of the file that were made elsewhere, by row, category and seed."""
    every = json.loads(out.read_text())["runs"] if out.exists() else []
    every = {(one["row"], one["env"], one["seed"]): one for one in (*every, *found)}
    envs = [f"voe_{category}" for category in CATEGORIES]
    return sorted(every.values(), key=lambda one: (list(ROWS).index(one["row"]), envs.index(one["env"]), one["seed"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--categories", nargs="+", choices=CATEGORIES, default=CATEGORIES)
    parser.add_argument("--seeds", default="0", help="0-4 or 0,3,7")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", default="data")
    parser.add_argument("--runs", type=Path, default=Path("runs/voe_labels"))
    parser.add_argument("--out", type=Path, default=ROOT / "results/voe_labels.json")
    asked = parser.parse_args()
    runs = asked.runs.resolve()
    wanted = [(row, category, seed) for seed in numbers(asked.seeds) for row in asked.rows for category in asked.categories
              if category == "collision" or not row.endswith(NO_SPEEDS)]  # fmt: skip
    failed = run_jobs(missing(job(*one, runs, asked.data) for one in wanted), asked.workers, runs)
    found = []
    for row in ROWS:
        for category in CATEGORIES:
            for folder in sorted(runs.glob(f"{row}-{category}-s[0-9]*")):
                if (folder / "results.json").exists():
                    found.append(result(row, category, int(folder.name.rpartition("-s")[2]), folder))
    found = with_others(found, asked.out)
    write_whole(asked.out, json.dumps({"protocol": PROTOCOL, "runs": found}, indent=1))
    print_rates(found)
    for name, why in failed.items():
        print(f"{name} failed: {why}; its log: {runs / name}.log", file=sys.stderr)
    sys.exit(1 if failed else 0)


def print_rates(found: list[dict]) -> None:
    """Mean and standard deviation over seeds beside the published ones."""
    paper = {row: published()[name] for row, name in ROWS.items() if name in published() and not row.endswith(NO_SPEEDS)}
    lines = []
    for row in dict.fromkeys(one["row"] for one in found):
        rates = [[one["hit_rate"] for one in found if one["row"] == row and one["env"] == f"voe_{c}"] for c in CATEGORIES]
        cells = [str(Cell.of(some)) if some else "" for some in rates]
        mean = f"{np.mean([np.mean(some) for some in rates]):.3f}" if all(rates) else ""
        lines.append([row, *cells, mean, str(max(map(len, rates)))])
        if row in paper:
            theirs = [paper[row][f"voe_{c}"] for c in CATEGORIES]
            lines.append(["  published", *map(str, theirs), f"{np.mean([one.mean for one in theirs]):.3f}", "10"])
    print_table(["hit rate, test", *CATEGORIES, "mean", "seeds"], lines, PROTOCOL)


if __name__ == "__main__":
    main()
