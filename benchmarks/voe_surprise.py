"""Surprise of world models that learned from expected clips alone, for every category of VoE: an entry for each finished run.

    python benchmarks/voe_surprise.py --recipes tracks --seeds 0-2 --splits valid    recipes are chosen on these pairs
    python benchmarks/voe_surprise.py --recipes tracks --seeds 0-2                   these are reported
    python benchmarks/voe_surprise.py --table

Trains one run after the other, one thread, and asks every run of the 10 % set's pairs. Runs and splits that are there are not
made again, and a run that was broken off is finished. Ends with a table: hit rate of surprising over expected and over control,
of control over expected, 95 % intervals (Wilson), ties one half, and the frames from the violation to the peak of surprise.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # the repository in place of this folder

import argparse
import json

from benchmarks.trained import left_of, numbers, run_command
from envs.voe.clip import CATEGORIES
from envs.whole_files import write_whole
from eval.paper.voe_runs import Row, voe_tables
from eval.probes.violation import KINDS
from eval.terminal import print_table

FIT = ("trainer=quick", "logger=csv", "goals=false", "score.split=valid", "score.probes=[violation]", "score.horizons=[1]")
RECIPES = {  # name -> its row in eval/paper/voe_table.yaml, which says how it is trained; without a memory: gnn, modular, ae
    name: voe_tables()["stored"][name] for name in ("tracks", "lstm", "gnn", "modular", "ae")
}


def train(category: str, recipe: str, seed: int, runs: Path, data: Path) -> tuple[Path, dict]:
    """The folder of a finished run, and what is told of it beside its scores."""
    folder = runs / f"{recipe}-{category}-s{seed}"
    fit = (*Row.of(RECIPES[recipe]).fit, *FIT, f"env=voe_{category}", f"seed={seed}")
    for step in left_of(folder, data, *fit):
        run_command(*step)
    results = json.loads((folder / "results.json").read_text())
    return folder, {"command": f"python train/fit.py {' '.join(fit)}", "budget": results["protocol"]["budget"],
                    "epochs": results["protocol"]["epochs"], "parameters": results["parameters"],
                    "fit_s": results["timing"]["fit_s"], "score_s": results["timing"]["score_s"],
                    "peak_gb": results["timing"].get("peak_gb"), "commit": results["versions"].get("commit", "")}  # fmt: skip


def score(folder: Path, split: str, data: Path) -> dict:
    """Scores of a run at the pairs of a split, with the defaults of eval/surprise.py."""
    kept = folder / f"surprise-{split}.json"
    if split == "valid":  # scored when it was trained, in the same way
        kept = folder / "results.json"
    elif not kept.exists():
        run_command("eval/surprise.py", f"run={folder}", f"split={split}", f"data_dir={data}")
    found = json.loads(kept.read_text())
    metrics = {name: round(value, 4) for name, value in found["metrics"].items() if "voe/" in name}
    return {"metrics": metrics} | {key: value for key, value in found["violation"].items() if key != "splits"}


def key_of(category: str, recipe: str, seed: int) -> str:
    return f"{category}/{recipe}/s{seed}"


def told(entry: dict, kind: str) -> str:
    """A hit rate and its interval."""
    key = f"voe/{kind}hit_rate"
    low, high = entry["intervals"][key]
    return f"{entry['metrics'][key]:.2f} ({low:.2f}-{high:.2f})"


def table(found: dict[str, dict], splits: list[str]) -> None:
    """Every entry; the floor ranks clips by how much what is shown changes."""
    rows = []
    for key, entry in ((f"{key} {split}", runs[split]) for key, runs in found.items() for split in splits if split in runs):
        m = entry["metrics"]
        floors = [f"{m[f'floor/change/voe/{kind}hit_rate']:.2f}" for kind in KINDS]
        rows.append([key, *(told(entry, kind) for kind in KINDS), " ".join(floors), f"{m['voe/moment_error']:.1f}"])
    header = ["category/recipe/seed", "over expected", "over control", "control over expected", "floors", "moment"]
    print_table(header, rows, "hit rates from 0 to 1, 95 % interval (Wilson), ties one half; moment: frames, median", width=140)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--recipes", default=",".join(RECIPES))
    asked.add_argument("--categories", default=",".join(CATEGORIES.values()))
    asked.add_argument("--seeds", type=numbers, default=[0])
    asked.add_argument("--splits", type=lambda text: text.split(","), default=["valid", "test"])
    asked.add_argument("--data", type=Path, default=Path("data"))
    asked.add_argument("--runs", type=Path, default=Path("runs/voe_surprise"))
    asked.add_argument("--out", type=Path, default=ROOT / "results" / "voe_surprise.json")
    asked.add_argument("--table", action="store_true", help="print what is there, and train nothing")
    given = asked.parse_args()
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    wanted = [] if given.table else [(category, recipe, seed) for seed in given.seeds for recipe in given.recipes.split(",")
                                     for category in given.categories.split(",")]  # fmt: skip
    for category, recipe, seed in wanted:
        entry = found.get(key := key_of(category, recipe, seed), {})
        for split in given.splits:
            if split not in entry:
                folder, about = train(category, recipe, seed, given.runs.absolute(), given.data.absolute())
                found[key] = entry = entry | about | {split: score(folder, split, given.data.absolute())}
                write_whole(given.out, json.dumps(found, indent=1) + "\n")
    table(found, given.splits)


if __name__ == "__main__":
    main()
