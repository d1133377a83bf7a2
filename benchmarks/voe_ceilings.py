"""What violation of expectation can be told by: counts of sub-types, rules in every trial, trees on true features,
controls in pixels.

python benchmarks/voe_ceilings.py [--categories ABCDE] [--controls 50] [--out results/voe_ceilings.json]
python benchmarks/voe_ceilings.py --own          trees alone, on settings that are drawn: those of the 10 % set, and all 5000
Replays the published settings: all 5000 of a category for the counts, the 10 % set for all else, the first trials of its test
set for controls. Needs scikit-learn.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

from envs.voe.clip import CATEGORIES, Version
from envs.voe.counts import compare, table
from envs.voe.features import RELEVANT
from envs.voe.labels import label, subtype
from envs.voe.settings import SEGMENTS, Setting, published, sample, trials
from envs.voe.silhouettes import silhouettes, size
from envs.voe.simulate import simulate
from envs.whole_files import write_whole


def labeled(settings: list[Setting], full: bool = False) -> dict[str, list[dict]]:
    """Segment -> what each of its trials is labeled with, in the expected and in the surprising version.

    settings: all of a category.  full: of all trials; else of the 10 % set.
    """
    found = {}
    for segment in SEGMENTS:
        found[segment] = []
        for trial in trials(segment, full):
            clips = {version: simulate(settings[trial - 1], version).clip for version in list(Version)[:2]}
            row = {version.value: label(settings[trial - 1], clip) for version, clip in clips.items()}
            found[segment].append(row | {"subtype": subtype(settings[trial - 1], clips[Version.EXPECTED])})
    return found


def rules_hold(rows: dict[str, list[dict]]) -> dict:
    """Trials whose prior rules differ between versions, and trials whose posterior rules do not, apart from D2."""
    every = [row for segment in rows.values() for row in segment]
    prior = sum((row["expected"]["prior"] != row["surprising"]["prior"]).any() for row in every)
    same = [row for row in every if (row["expected"]["posterior"] == row["surprising"]["posterior"]).all()]
    return {
        "trials": len(every),
        "prior_differs": int(prior),
        "posterior_equal": sum(row["subtype"] != "D2" for row in same),
        "posterior_equal_D2": sum(row["subtype"] == "D2" for row in same),
        "D2": sum(row["subtype"] == "D2" for row in every),
    }


def hit_rate(rows: dict[str, list[dict]], category: str, without: tuple[int, ...] = ()) -> float:
    """Of decision trees on true features: features -> prior, features and prior -> posterior,
    fitted to expected training trials.
    """
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.tree import DecisionTreeClassifier

    kept = [i for i in RELEVANT[category] if i not in without]

    def features(which: str, version: str) -> np.ndarray:
        return np.stack([row[version]["features"][kept] for row in rows[which]])

    def rules(which: str, version: str, name: str) -> np.ndarray:
        return np.stack([row[version][name] for row in rows[which]])

    train = features("train", "expected")
    prior = MultiOutputClassifier(DecisionTreeClassifier(random_state=0)).fit(train, rules("train", "expected", "prior"))
    both = np.concatenate([train, rules("train", "expected", "prior")], 1)
    posterior = MultiOutputClassifier(DecisionTreeClassifier(random_state=0)).fit(both, rules("train", "expected", "posterior"))
    surprise = {}
    for version in ("expected", "surprising"):
        seen = features("test", version)
        predicted = posterior.predict(np.concatenate([seen, prior.predict(seen)], 1))
        surprise[version] = (predicted != rules("test", version, "posterior")).any(1)
    more, less = surprise["surprising"].astype(float), surprise["expected"].astype(float)
    return float(((more > less) + 0.5 * (more == less)).mean())


def controls(category: str, count: int) -> dict:
    """Sizes of changes as shares of the picture, and whether controls keep the rules of the expected version."""
    sizes, kept = [], []
    for setting in (published(category)[trial - 1] for trial in list(trials("test"))[:count]):
        clips = [simulate(setting, version).clip for version in Version]
        plain, surprising, control = map(silhouettes, clips)
        moving = [float((one[1:] != one[:-1]).mean()) for one in (surprising, control)]
        sizes.append((size(plain, surprising), size(plain, control), *moving))
        labels = [label(setting, clip) for clip in (clips[0], clips[2])]
        kept.append(all((labels[0][name] == labels[1][name]).all() for name in ("prior", "posterior")))
    sizes = np.array(sizes)
    return {
        "trials": len(sizes),
        "surprising": float(sizes[:, 0].mean()),
        "control": float(sizes[:, 1].mean()),
        "ratio_quartiles": np.quantile(sizes[:, 1] / np.maximum(sizes[:, 0], 1e-6), [0.25, 0.5, 0.75]).tolist(),
        "surprising_is_larger": float((sizes[:, 0] > sizes[:, 1]).mean() + 0.5 * (sizes[:, 0] == sizes[:, 1]).mean()),
        "surprising_moves_more": float((sizes[:, 2] > sizes[:, 3]).mean() + 0.5 * (sizes[:, 2] == sizes[:, 3]).mean()),
        "rules_of_the_expected": float(np.mean(kept)),
    }


def measured(category: str, count: int) -> dict:
    started = time.process_time()
    rows = labeled(published(category))
    found = {"cpu_seconds_a_clip": (time.process_time() - started) / (2 * sum(map(len, rows.values())))}
    found |= {"rules": rules_hold(rows), "hit_rate": hit_rate(rows, category)}
    if category == "D":
        found["hit_rate_without_posterior_speeds"] = hit_rate(rows, category, without=(6, 7, 10, 11))
    found["counts"] = compare(category, [subtype(setting) for setting in published(category)])
    found["control"] = controls(category, count)
    return found


def own(category: str) -> dict:
    """Hit rates of trees on settings that are drawn as env=voe_<category> draws them."""
    full = labeled(sample(category), full=True)
    tenth = {segment: [full[segment][trial - first] for trial in trials(segment)] for segment, (first, *_) in SEGMENTS.items()}
    return {"own_settings": {"hit_rate": hit_rate(tenth, category), "hit_rate_full": hit_rate(full, category)}}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--out", type=Path, default=Path("results/voe_ceilings.json"))
    asked.add_argument("--categories", default="ABCDE")
    asked.add_argument("--controls", type=int, default=50, help="how many trials have their controls simulated too")
    asked.add_argument("--own", action="store_true", help="trees on settings that are drawn, and nothing else")
    given = asked.parse_args()
    for category in given.categories:
        row = own(category) if given.own else measured(category, given.controls)
        found = json.loads(given.out.read_text()) if given.out.exists() else {}
        found[CATEGORIES[category]] = found.get(CATEGORIES[category], {}) | row
        write_whole(given.out, json.dumps(found, indent=1) + "\n")
        if "counts" in row:
            print(table(row.pop("counts")))
        print(CATEGORIES[category], json.dumps(row, indent=1), flush=True)


if __name__ == "__main__":
    main()
