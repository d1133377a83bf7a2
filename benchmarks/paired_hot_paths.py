"""The hot paths beside another checkout of this repository, in turn: prints JSON with ratios.

    git worktree add ../before d5519c6
    python benchmarks/paired_hot_paths.py ../before                     all parts
    python benchmarks/paired_hot_paths.py ../before ranking collect     only some of: worlds, collect, ranking, training,
                                                                        planning

Each checkout runs its own benchmarks/hot_paths.py, a few rounds of one here and one there. A ratio is the time here over the
time there, of the best round of each, since a shared machine only ever adds time; 1.03 is three percent slower than the
other checkout. Figures of CPU time hardly move with the load; the others do.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # the repository in place of this folder

import json
import os
import subprocess

from benchmarks.floors import helped, revision

ROUNDS = 5
PARTS = ("worlds", "collect", "ranking", "training", "planning")


def measured(root: Path, part: str) -> dict[str, float]:
    """Seconds, or seconds for one of many, by name."""
    command = [sys.executable, str(root / "benchmarks" / "hot_paths.py"), part]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root)})
    if done.returncode:
        sys.exit(f"error: {part} cannot be measured in {root}: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout)
    by_model = {name.replace("cells", "patch"): 1 / value for name, value in found.get("samples_per_s", {}).items()}
    single = {name: value for name, value in found.items() if isinstance(value, int | float)}
    rates = {name: 1 / value for name, value in single.items() if name.endswith("_per_s") or "_per_s_" in name if value}
    times = {name: value for name, value in single.items() if name.endswith("_s") or "_s_" in name if name not in rates}
    return by_model | rates | times


def pair(other: Path, part: str) -> dict[str, dict]:
    """Name -> the best time there and here, and their ratio."""
    rounds: tuple[list, list] = ([], [])
    for number in range(ROUNDS):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            rounds[which].append(measured((other, ROOT)[which], part))
    best = [{name: min(one[name] for one in of) for name in of[0]} for of in rounds]
    return {name: {"there_s": best[0][name], "here_s": best[1][name], "ratio": round(best[1][name] / best[0][name], 3)}
            for name in best[0] if name in best[1]}  # fmt: skip


def main(words: list[str]) -> None:
    """The command."""
    if helped(words, __doc__):
        return
    if not words or not (Path(words[0]) / "benchmarks" / "hot_paths.py").exists():
        sys.exit("error: the other checkout is named first: python benchmarks/paired_hot_paths.py ../before")
    if unknown := [word for word in words[1:] if word not in PARTS]:
        sys.exit(f"error: no part '{unknown[0]}'; known: {', '.join(PARTS)}")
    other = Path(words[0]).resolve()
    found = {part: pair(other, part) for part in words[1:] or PARTS}
    about = {"there": revision(other), "here": revision(ROOT), "rounds": ROUNDS, "load": os.getloadavg()[0]}
    print(json.dumps({**about, **found}, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
