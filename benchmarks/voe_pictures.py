"""How large surprising and control versions are to the eye: changed pixels of collected pictures, beside what fits controls.

python benchmarks/voe_pictures.py --data data [--categories ABCDE] [--splits valid,test] [--out results/voe_pictures.json]
Of each trial: the share of pixels, over all frames, that differ from the expected version in a colour by more than 8 of 255
(light and shadow with them), in the segment, and in the outlines by which the generator sizes a control (simulated anew, not
drawn). Medians for each category and sub-type; `larger`: share of trials whose surprising version changes more, ties half.
Reads files that are there, and collects none.
"""

import argparse
import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import numpy as np

from envs.episodes import EpisodeFile
from envs.voe.clip import CATEGORIES, FRAMES, SUBTYPES, Version
from envs.voe.settings import SEGMENTS, sample
from envs.voe.silhouettes import silhouettes, size
from envs.voe.simulate import simulate
from envs.whole_files import write_whole

SEEN = 8  # of 255
MEASURES = ("pixels", "segments", "outlines")


def file_of(folder: Path, category: str, split: str, version: Version) -> EpisodeFile:
    name = split if version == Version.EXPECTED else f"{split}-{version}"
    found = [path for path in folder.glob(f"voe_{category}-{name}-*.h5") if path.stem.count("-") == name.count("-") + 2]
    if len(found) != 1:
        sys.exit(f"error: {folder} holds {len(found)} files of voe_{category}, split {name}, expected one; choose --splits")
    return EpisodeFile(found[0])


def changed(folder: Path, category: str, split: str) -> tuple[np.ndarray, list[int], dict]:
    """Shares (trials, 2, 2): of surprising and control, in colours and in segments; sub-types; the header."""
    files = [file_of(folder, category, split, version) for version in Version]
    kinds = files[0].read("label_subtype")["label_subtype"][files[0].ep_offset].tolist()
    shares = [[], []], [[], []]
    for column, of_column, differs in zip(("pixels", "mask"), shares, (_seen_to_differ, np.not_equal)):
        for blocks in zip(*(file.blocks(column) for file in files), strict=True):
            plain, *others = (block.reshape(-1, FRAMES, *block.shape[1:]) for block in blocks)
            for found, other in zip(of_column, others):
                found += [float(differs(a, b).mean()) for a, b in zip(other, plain)]
    return np.array(shares).transpose(2, 1, 0), kinds, files[0].header


def _seen_to_differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(T, H, W) of colours (T, H, W, 3)."""
    return np.abs(one.astype(np.int16) - other).max(-1) > SEEN


def outlined(letter: str, header: dict, first: int, count: int) -> np.ndarray:
    """(trials, 2): the measure that controls are fitted to."""
    settings, rows = sample(letter, header["preset"], header.get("settings_seed", 0)), []
    for setting in settings[first - 1 : first - 1 + count]:
        plain, *others = (silhouettes(simulate(setting, version).clip) for version in Version)
        rows.append([size(plain, other) for other in others])
    return np.array(rows)


def measured(folder: Path, letter: str, splits: list[str]) -> dict:
    """Category and sub-types -> medians of the measures."""
    shares, kinds = [], []
    for split in splits:
        found, named, header = changed(folder, CATEGORIES[letter], split)
        first = SEGMENTS[header["segment"]][0]
        shares.append(np.concatenate([found, outlined(letter, header, first, len(found))[..., None]], 2))
        kinds += named
    shares, kinds = np.concatenate(shares), np.array([SUBTYPES[kind] for kind in kinds])
    return {"splits": splits, "all": _medians(shares), **{kind: _medians(shares[kinds == kind]) for kind in np.unique(kinds)}}


def _medians(shares: np.ndarray) -> dict:
    """shares (trials, 2, measures)"""
    found: dict = {"trials": len(shares)}
    for name, (surprising, control) in zip(MEASURES, shares.transpose(2, 1, 0)):
        larger = (surprising > control).mean() + 0.5 * (surprising == control).mean()
        ratio = np.median(control / np.maximum(surprising, 1e-7))
        found[name] = {
            "surprising": round(float(np.median(surprising)), 6), "control": round(float(np.median(control)), 6),
            "control_to_surprising": round(float(ratio), 3), "larger": round(float(larger), 3),
        }  # fmt: skip
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, default=Path("data"))
    asked.add_argument("--out", type=Path, default=Path("results/voe_pictures.json"))
    asked.add_argument("--categories", default="ABCDE")
    asked.add_argument("--splits", default="valid,test")
    given = asked.parse_args()
    for letter in given.categories:
        found = json.loads(given.out.read_text()) if given.out.exists() else {}
        found[CATEGORIES[letter]] = measured(given.data, letter, given.splits.split(","))
        write_whole(given.out, json.dumps(found, indent=1) + "\n")
        print(CATEGORIES[letter], json.dumps(found[CATEGORIES[letter]]), flush=True)


if __name__ == "__main__":
    main()
