"""Every causal claim about chemistry, measured: our recipe on many drawn worlds, one CSV row for each as it is finished.

    python benchmarks/chemistry_claims.py --worlds 0-4        the worlds on which cuts are chosen
    python benchmarks/chemistry_claims.py --worlds 10-14      the worlds that are reported
    python benchmarks/chemistry_claims.py --worlds 10-14 --graphs chain5 --movements static

Objects are numbered in no causal order. Trains, scores and plans one run after the other, one thread; rows that the CSV has
are skipped, a run that was broken off is finished, and copies of the command share the work. Ends with a table.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # the repository in place of this folder

import argparse
import csv
import json

from filelock import FileLock, Timeout

from benchmarks.trained import left_of, numbers, run_command
from eval.terminal import print_table

HORIZONS = (1, 5, 10)
GRAPHS, MOVEMENTS = ("chain5", "full5", "collider5"), ("static", "dynamic")
# goals are measured once, below
TRAIN = ("model=categorical", "loss=inverse_action", "trainer=quick", "logger=csv", "goals=false")
PLANNERS = "planners=[model_closed,causes_first]"
PER_HORIZON = (
    "test/hits@1", "bayes/hits@1", "floor/paint/hits@1", "test/board_hits@1", "bayes/board_hits@1", "floor/paint/board_hits@1",
    "test/accuracy", "bayes/accuracy", "test/cf_hits@1", "floor/copy/cf_hits@1", "plan/success/model_closed",
    "plan/success/causes_first", "plan/true/greedy", "plan/floor/painter", "plan/floor/random", "plan/floor/noop",
)  # fmt: skip
SCORES = ("auroc", "shd", "precision", "recall", "shown/auroc", "shown/shd", "shown/precision", "shown/recall")
METRICS = (
    *(f"{name}/h{h}" for name in PER_HORIZON for h in HORIZONS),
    *(f"structure/{graph}/{score}" for graph in ("reach", "direct") for score in SCORES),
    "structure/faint_paths", "structure/true_paths", "structure/vacuous_edges", "structure/true_edges", "test/smallest_gap",
)  # fmt: skip
COLUMNS = ("env", "world", "seed", *METRICS, "fit_s", "score_s", "commit", "command")


def rows_of(path: Path) -> list[dict[str, str]]:
    """The finished rows of the CSV."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def measure(env: str, world: int, runs: Path, data: str) -> dict:
    """Train, score and plan; what is there already is taken as it stands.  -> a row."""
    folder = runs / f"categorical-{env}-w{world}"
    fit = (*TRAIN, f"env={env}", f"env.world.scm_seed={world}")
    for step in left_of(folder, data, *fit):
        run_command(*step)
    for script, *asked in (("eval/score.py",), ("eval/plan.py", PLANNERS)):
        wanted = {name for name in METRICS if name.startswith("plan/") == (script == "eval/plan.py")}
        if not wanted <= json.loads((folder / "results.json").read_text())["metrics"].keys():
            run_command(script, f"run={folder}", *asked)
    results = json.loads((folder / "results.json").read_text())
    about = {"env": env, "world": world, "seed": results["seed"], "fit_s": results["timing"]["fit_s"],
             "score_s": results["timing"]["score_s"], "commit": results["versions"].get("commit", ""),
             "command": f"python train/fit.py {' '.join(fit)} && python eval/plan.py {PLANNERS}"}  # fmt: skip
    return about | {name: results["metrics"][name] for name in METRICS}


def share(row: dict, name: str) -> float:
    """The lowest share of the exact Bayes figure over the horizons, percent."""
    return min(100 * float(row[f"test/{name}/h{h}"]) / float(row[f"bayes/{name}/h{h}"]) for h in HORIZONS)


def show(rows: list[dict]) -> None:
    """The table: AUROC first; SHD of all edges, then of those that show, and how many do not."""

    def graph(row: dict, name: str, left_out: str, of: str) -> str:
        auroc, whole, shown = (float(row[f"structure/{name}/{key}"]) for key in ("auroc", "shd", "shown/shd"))
        hidden, every = (float(row[f"structure/{key}"]) for key in (left_out, of))
        return f"{auroc:.1f}, {whole:.0f}, {shown:.0f} ({hidden:.0f} of {every:.0f})"

    def goals(row: dict, name: str) -> str:
        return " / ".join(f"{float(row[f'plan/{name}/h{h}']):.1f}" for h in HORIZONS)

    header = ["env", "world", "H@1, % of Bayes", "same board", "reach: AUROC, SHD, shown (hidden of all)", "direct: the same",
              "causes first", "painter", "random"]  # fmt: skip
    print_table(header, [
        [row["env"].removeprefix("chemistry_"), str(row["world"]),
         f"{share(row, 'hits@1'):.1f}", f"{share(row, 'board_hits@1'):.1f}",
         graph(row, "reach", "faint_paths", "true_paths"), graph(row, "direct", "vacuous_edges", "true_edges"),
         goals(row, "success/causes_first"), goals(row, "floor/painter"), goals(row, "floor/random")]
        for row in sorted(rows, key=lambda row: (row["env"], int(row["world"])))
    ], "categorical + inverse_action, budget quick, seed 0, objects numbered in no causal order; "
       "shares: the lowest of 1, 5, 10 steps; goals: percent of 1000 after 1 / 5 / 10 actions", width=190)  # fmt: skip


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=numbers, default=numbers("10-14"), help="scm_seed: 0-4, or 0,3,7")
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=GRAPHS)
    parser.add_argument("--movements", type=lambda text: text.split(","), default=MOVEMENTS)
    parser.add_argument("--out", type=Path, default=Path("results/chemistry_permuted.csv"))
    parser.add_argument("--runs", type=Path, default=Path("runs/chemistry_claims"))
    parser.add_argument("--data", default="data")
    asked = parser.parse_args()
    endings = ["_dynamic" * (movement == "dynamic") for movement in asked.movements]
    envs = [f"chemistry_{graph}{ending}" for ending in endings for graph in asked.graphs]
    asked.runs.mkdir(parents=True, exist_ok=True)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    wanted = [(env, world) for world in asked.worlds for env in envs]
    for env, world in wanted:
        try:
            with FileLock(asked.runs / f".{env}-w{world}.lock", timeout=0):
                if (env, str(world)) not in {(row["env"], row["world"]) for row in rows_of(asked.out)}:
                    row = measure(env, world, asked.runs, asked.data)
                    with FileLock(asked.runs / ".rows.lock"):
                        _append(asked.out, row)
                    print(f"{env}, world {world}: done", flush=True)
        except Timeout:
            print(f"{env}, world {world}: another copy of the command is at it", flush=True)
    show([row for row in rows_of(asked.out) if (row["env"], int(row["world"])) in wanted])


def _append(path: Path, row: dict) -> None:
    """One more line, with the header where it is the first."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            out.writeheader()
        out.writerow(row)


if __name__ == "__main__":
    main()
