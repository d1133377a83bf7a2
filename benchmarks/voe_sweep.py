"""Every published trial of violation of expectation, simulated and not drawn: counts of sub-types, and whether rules hold.

python benchmarks/voe_sweep.py [--categories ABCDE] [--out results/voe_sweep.json]
25,000 trials in the expected and in the surprising version, and those nearest to where a posterior rule turns. A run that was
cut off goes on after its last block, which stands in a file beside --out. A trial is a fault if its prior rules differ between
the versions; its posterior rules do not (D2 apart); its sub-type is not what the expected version shows; or the versions
differ before the moment of the cause, or nowhere.
"""

import argparse
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

from envs.voe.clip import CATEGORIES, FRAMES, Version
from envs.voe.counts import compare, table
from envs.voe.features import features
from envs.voe.labels import label, subtype
from envs.voe.scenes import first_difference
from envs.voe.settings import TRIALS, Setting, published
from envs.voe.simulate import simulate
from envs.whole_files import write_whole

BLOCK = 500  # trials of one process: Bullet keeps the memory of every shape it has made
NEAREST = 5
_SHARED = ("colors", "seed")  # of all published settings
_OUTCOMES = {  # posterior rules of an expected version -> whether its sub-type is the second one
    "A": lambda rules: rules[0] == 1, "B": lambda rules: rules[1] == 1, "C": lambda rules: rules[2] != 1 or rules[3] == 1,
}  # fmt: skip
_MARGINS = {  # measured quantities -> how far they are from where a posterior rule would turn
    "A": lambda found: abs(found["center_moved"] - 0.25),
    "B": lambda found: found["frames_seen_in_middle"] or FRAMES,
    "C": lambda found: min(abs(found["center_above_rim"]), abs(found["top_above_rim"]), abs(found["center_aside"] - 1)),
    "D": lambda found: min(
        min(abs(found[f"{side}_posterior_speed"] - edge) for edge in (0.044, 1.01 * found[f"{side}_prior_speed"]))
        for side in ("left", "right")
    ),
    "E": lambda found: abs(found["center_beyond_wall"]),
}


def trial(setting: Setting) -> dict:
    """sub-type, faults in words, and the smaller margin of the two versions."""
    expected, surprising = (simulate(setting, version) for version in (Version.EXPECTED, Version.SURPRISING))
    before, after = (label(setting, one.clip) for one in (expected, surprising))
    kind, faults = subtype(setting, expected.clip), []
    if (before["prior"] != after["prior"]).any():
        faults.append("prior rules differ")
    if (before["posterior"] == after["posterior"]).all() and kind != "D2":
        faults.append("posterior rules are equal")
    shown = _OUTCOMES.get(setting.category)
    if shown and shown(before["posterior"]) != kind.endswith("2"):
        faults.append(f"the expected version does not show {kind}")
    if not expected.moment <= first_difference(expected.clip, surprising.clip) < FRAMES:
        faults.append("the versions differ before the moment of the cause, or nowhere")
    margin = min(_MARGINS[setting.category](features(setting, one.clip)) for one in (expected, surprising))
    return {"subtype": kind, "faults": faults, "margin": round(float(margin), 4)}


def block(category: str, first: int) -> tuple[list[dict], float]:
    """Rows of `BLOCK` trials from index `first` on, and seconds of the processor."""
    start = time.process_time()
    return [trial(setting) for setting in published(category)[first : first + BLOCK]], time.process_time() - start


def summary(category: str, rows: list[dict], seconds: float) -> dict:
    settings = published(category)
    nearest = sorted(range(len(rows)), key=lambda i: rows[i]["margin"])[:NEAREST]
    return {
        "trials": len(rows),
        "trials_a_second_of_a_core": round(len(rows) / seconds, 1),
        "faults": [{"faults": row["faults"], **_told(settings[i])} for i, row in enumerate(rows) if row["faults"]],
        "nearest_to_a_turn": [{"margin": rows[i]["margin"], **_told(settings[i])} for i in nearest],
        "counts": compare(category, [row["subtype"] for row in rows]),
    }


def _told(setting: Setting) -> dict:
    return {name: value for name, value in asdict(setting).items() if value not in (None, "") and name not in _SHARED}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--out", type=Path, default=Path("results/voe_sweep.json"))
    asked.add_argument("--categories", default="ABCDE")
    given = asked.parse_args()
    part = given.out.with_name(given.out.name + ".part")
    state = json.loads(part.read_text()) if part.exists() else {}
    spawn = multiprocessing.get_context("spawn")
    for category in given.categories:
        rows, seconds = state.get(category, ([], 0.0))
        while len(rows) < TRIALS:
            with ProcessPoolExecutor(1, spawn) as fresh:
                more, took = fresh.submit(block, category, len(rows)).result()
            rows, seconds = rows + more, seconds + took
            write_whole(part, json.dumps(state | {category: (rows, seconds)}))
            print(f"{category}: {len(rows)} of {TRIALS}, {len(rows) / seconds:.1f} trials a second of a core", flush=True)
        state[category] = rows, seconds
        found = json.loads(given.out.read_text()) if given.out.exists() else {}
        row = summary(category, rows, seconds)
        write_whole(given.out, json.dumps(found | {CATEGORIES[category]: row}, indent=1) + "\n")
        print(table(row.pop("counts")), json.dumps(row, indent=1), sep="\n", flush=True)
    part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
