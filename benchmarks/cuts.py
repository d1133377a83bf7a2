"""Where the cuts between edges and no edges lie (eval/probes/cuts.py), on the worlds that are kept for choosing them:
prints JSON.

    python benchmarks/cuts.py --worlds 0-4

Trains our recipe on each world and each graph where a run is missing, one thread, and asks it for its graph alone.
For each graph: the highest score of a pair without an edge, the lowest of a pair with one, their geometric mean, and the cut
in use. Edges that hardly show in the true tables (`shown`, eval/probes/structure.py) are left out. A cut between the two makes
no mistake on these worlds.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import argparse
import json
import shutil
from collections.abc import Iterator

import numpy as np

from benchmarks.chemistry_claims import GRAPHS, TRAIN
from benchmarks.trained import numbers, run_command
from envs.graphs import ancestors
from eval.probes.cuts import VACUOUS


def scores(structure: dict, graph: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores of pairs without an edge, and of pairs with one that shows."""
    true = np.array(structure["true"], bool)
    hidden = np.array(structure["faint"], bool) if graph == "reach" else true & (np.array(structure["strength"]) < VACUOUS)
    edges, apart = ancestors(true) if graph == "reach" else true, ~np.eye(len(true), dtype=bool)
    score = np.array(structure[graph]["score"])
    return score[~edges & apart], score[edges & ~hidden & apart]


def structures(runs: Path, data: str, worlds: list[int]) -> Iterator[dict]:
    """What a run of every graph of these worlds found, objects in fixed cells."""
    for world in worlds:
        for graph in GRAPHS:
            name = f"categorical-chemistry_{graph}-w{world}"
            if not (runs / name / "results.json").exists():
                shutil.rmtree(runs / name, ignore_errors=True)
                run_command("train/fit.py", *TRAIN, "score.probes=[structure]", f"env=chemistry_{graph}",
                            f"env.world.scm_seed={world}", f"name={name}", f"runs_dir={runs}", f"data_dir={data}")  # fmt: skip
            print(f"{name}: done", file=sys.stderr, flush=True)
            yield json.loads((runs / name / "results.json").read_text())["structure"]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--worlds", type=numbers, default=numbers("0-4"))
    parser.add_argument("--runs", type=Path, default=Path("runs/chemistry_cuts"))
    parser.add_argument("--data", default="data")
    asked = parser.parse_args()
    found = list(structures(asked.runs, asked.data, asked.worlds))
    report: dict = {"runs": len(found)}
    for graph in ("reach", "direct"):
        without, with_ = (np.concatenate(part) for part in zip(*(scores(one, graph) for one in found)))
        high, low = float(without.max()), float(with_.min())
        middle = float(np.sqrt(max(high, 1e-4) * max(low, 1e-4)))  # scores are stored to four digits
        report[graph] = {"highest_without": high, "lowest_with": low, "middle": round(middle, 4),
                         "cut": found[0][graph]["threshold"], "pairs": len(without) + len(with_)}  # fmt: skip
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
