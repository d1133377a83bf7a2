"""The lists of a study: which version of which trial each participant sees, what is repeated, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from envs.problem import Problem
from eval.humans.study import Entry

_MOST = 20_000  # shuffles that are tried for one list
_BLOCK = 250  # that are drawn at once


@dataclass(frozen=True)
class Rules:
    """What an order keeps.  repeats: clips that are shown twice.  distance: places from a clip to its repeat, at least.
    margin: places at both ends without a check."""

    repeats: int = 25
    distance: int = 5
    margin: int = 3


Trial = tuple[str, str]  # ids of the expected and of the surprising clip


def halves(trials: Mapping[str, Sequence[Trial]], rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Clips of two complementary participants: of each category a random half of the trials in the expected version for one
    and in the surprising version for the other.  trials: category -> an even number of trials."""
    one, other = [], []
    for of_category in trials.values():
        expected = rng.permutation(len(of_category)) < len(of_category) // 2
        for trial, first in zip(of_category, expected):
            one.append(trial[0 if first else 1])
            other.append(trial[1 if first else 0])
    return one, other


def order(clips: Sequence[str], checks: Sequence[str], rules: Rules, rng: np.random.Generator) -> tuple[Entry, ...]:
    """One list: every clip and every check once, some clips again. All orders that keep the rules are equally likely.

    It shuffles everything until the rules hold, which at the sizes of the paper is every second or third time.  Raises Problem
    where no order is found.
    """
    repeated = rng.choice(len(clips), rules.repeats, replace=False)
    items = np.concatenate([np.arange(len(clips)), repeated])
    total = len(items) + len(checks)
    for _ in range(_MOST // _BLOCK):
        for place in rng.permuted(np.tile(np.arange(total), (_BLOCK, 1)), axis=1):  # place[i]: where item i stands, from 0
            far = np.abs(place[repeated] - place[len(clips) : len(items)]) >= rules.distance
            inside = (place[len(items) :] >= rules.margin) & (place[len(items) :] < total - rules.margin)
            if far.all() and inside.all():
                return _entries([*(clips[item] for item in items), *checks], place, len(items))
    raise Problem(f"no order of {total} clips was found in {_MOST} shuffles with {rules.repeats} repeats "
                  f"{rules.distance} places away and no check in the first and last {rules.margin}; "
                  f"ask for a smaller --distance, or fewer --repeats")  # fmt: skip


def _entries(shown: Sequence[str], place: np.ndarray, checks_from: int) -> tuple[Entry, ...]:
    """The list of items that stand at these places; the earlier showing of a clip is its original."""
    first: dict[str, int] = {}
    entries = []
    for position, item in enumerate(np.argsort(place).tolist(), 1):
        clip = shown[item]
        if item >= checks_from:
            entries.append(Entry(position, clip, "check", None))
        elif clip in first:
            entries.append(Entry(position, clip, "repeat", first[clip]))
        else:
            first[clip] = position
            entries.append(Entry(position, clip, "test", None))
    return tuple(entries)


def complementary_lists(
    trials: Mapping[str, Sequence[Trial]], checks: Sequence[str], rules: Rules, seed: int, count: int
) -> tuple[tuple[Entry, ...], ...]:
    """`count` lists, an even number; 2j and 2j + 1 complement each other. More lists leave the first ones as they are."""
    lists = []
    for pair in range(count // 2):
        rng = np.random.default_rng([2, seed, pair])  # 1 is that of the checks
        lists += [order(clips, checks, rules, rng) for clips in halves(trials, rng)]
    return tuple(lists)
