"""Chooses the trials of checks and familiarisation: those whose two versions differ most, so that the outcome is obvious."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from envs.problem import Problem

UNCLEAR = {"E3"}  # sub-types without checks: how high an opening is, is hardly seen in the blue wall


@dataclass(frozen=True)
class Check:
    """One clip that everybody sees.  row: of its trial in the pairs of the category."""

    category: str
    row: int
    version: str


def choose_checks(
    distances: Mapping[str, np.ndarray], subtypes: Mapping[str, Sequence[str]], count: int, rng: np.random.Generator
) -> list[Check]:
    """The trial of the largest distance of each category, then the second of each, until there are `count`.

    60 % of them, rounded (3 of 5), are shown in the expected version; chance decides which.  distances: category -> how much
    the versions of each validation trial differ (P,).  subtypes: category -> P names; those of UNCLEAR are passed over.
    """
    ranked = {category: [row for row in _from_largest(of_trials) if subtypes[category][row] not in UNCLEAR]
              for category, of_trials in distances.items()}  # fmt: skip
    places = [(category, rank) for rank in range(max(map(len, ranked.values()))) for category in ranked]
    places = [(category, ranked[category][rank]) for category, rank in places if rank < len(ranked[category])]
    if len(places) < count:
        raise Problem(f"{count} checks are taken from validation trials, and there are {len(places)}; ask for fewer --checks")
    surprising = rng.permutation(count) >= round(0.6 * count)
    return [Check(*place, "surprising" if odd else "expected") for place, odd in zip(places, surprising)]


def choose_scenarios(
    distances: Mapping[str, np.ndarray], subtypes: Mapping[str, Sequence[str]], count: int, checks: Sequence[Check]
) -> list[tuple[str, int]]:
    """(category, row) of `count` trials in the order of categories and sub-types: of each sub-type the trial of the largest
    distance that is no check, then the second of each. Twelve are one of each sub-type."""
    used = {(check.category, check.row) for check in checks}
    ranked: dict[tuple[str, str], list[int]] = {}
    for category, of_trials in distances.items():
        for row in _from_largest(of_trials):
            if (category, row) not in used:
                ranked.setdefault((category, subtypes[category][row]), []).append(row)
    kinds = sorted(ranked, key=lambda kind: (list(distances).index(kind[0]), kind[1]))
    rounds = [[(kind, ranked[kind][turn]) for kind in kinds if turn < len(ranked[kind])] for turn in range(count)]
    chosen = [one for of_turn in rounds for one in of_turn][:count]
    if len(chosen) < count:
        raise Problem(f"{count} scenarios are taken from validation trials that are no checks, and there are {len(chosen)}; "
                      f"ask for fewer --familiarisation")  # fmt: skip
    return [(category, row) for (category, _), row in sorted(chosen, key=lambda one: kinds.index(one[0]))]


def _from_largest(distances: np.ndarray) -> list[int]:
    """Rows, the largest distance first; the earlier of equal ones."""
    return np.argsort(-distances, kind="stable").tolist()
