"""A study of the size of a test: a square that goes on, or stops, in pictures of 16 x 16 pixels, without any simulation."""

from pathlib import Path

import numpy as np

from eval.humans.build import LETTERS, Sizes, build
from eval.humans.order import Rules
from eval.humans.pairs import Pairs
from eval.humans.study import Study

FRAMES, SIDE = 6, 16
KINDS = {"A": 2, "B": 2, "C": 2, "D": 3, "E": 3}  # how many sub-types a category has


def square_pairs(category: str, segment: str, count: int = 8) -> Pairs:
    """Trials of a category: a square moves to the right; in the surprising version it stops half way."""
    letter = LETTERS[category]
    rng = np.random.default_rng([ord(letter), segment == "test"])
    both = np.full((2, count, FRAMES, SIDE, SIDE, 3), 220, np.uint8)
    for trial in range(count):
        side, color = rng.integers(2, 6), rng.integers(0, 160, 3)
        for version in range(2):
            for frame in range(FRAMES):
                left = 2 * (min(frame, FRAMES // 2) if version else frame)
                both[version, trial, frame, 8 : 8 + side, left : left + side] = color
    numbers = np.arange(count) + {"valid": 3751, "test": 4501}[segment]
    return Pairs(numbers, [f"{letter}{1 + trial % KINDS[letter]}" for trial in range(count)], *both)


def tiny_study(
    folder: str | Path, trials_each: int = 2, repeats: int = 2, checks: int = 2, familiarisation: int = 2, lists: int = 4,
    distance: int = 5, seed: int = 0,
) -> Study:  # fmt: skip
    """A whole study in a new folder. By default a list holds 14 clips: 10 test clips, 2 repeats and 2 checks."""
    sizes = Sizes(trials_each, checks, familiarisation, lists, Rules(repeats, distance))
    return build(square_pairs, folder, sizes, seed, size=(64, 36), quiet=True)
