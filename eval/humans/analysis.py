"""What the answers of the accepted say: hit rate, accuracy, and how well people agree with each other.

kappa([0, 20, 80, 90], [10, 60, 70, 100])  # .5: three of four on one side, and two of four by chance
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import t

from eval.humans.answers import Export
from eval.humans.decision import SURPRISING_FROM
from eval.humans.study import Clip, Study
from eval.probes.pair_scores import auc, hit_rate, interval


def kappa(a: Sequence[float], b: Sequence[float]) -> float:
    """Cohen's kappa of two people on the sides < 50 and >= 50, from -1 to 1; nan where it is undefined.

    a, b (N,): their ratings of the same clips, from 0 to 100. It is undefined of no clip, and where both put every clip on one
    and the same side: they agree, and so would chance.  ValueError on unequal lengths.
    """
    one, other = (np.asarray(ratings) >= SURPRISING_FROM for ratings in (a, b))
    if one.shape != other.shape:
        raise ValueError(f"kappa compares ratings of the same clips, got {one.shape} and {other.shape}; match them by clip")
    if not len(one):
        return float("nan")
    chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    return float("nan") if chance == 1 else float(((one == other).mean() - chance) / (1 - chance))


@dataclass(frozen=True)
class Rated:
    """Ratings of the accepted.  people (P,): participants.  clips (C,): test clips.  ratings (P, C): nan where a clip was not
    shown; repeats do not count."""

    people: tuple[str, ...]
    clips: tuple[Clip, ...]
    ratings: np.ndarray

    @classmethod
    def of(cls, study: Study, exports: Sequence[Export]) -> "Rated":
        """Those of accepted participants, in the order of their lists."""
        ids = [name for name, clip in study.clips.items() if clip.role == "test"]
        place = {name: column for column, name in enumerate(ids)}
        accepted = sorted((export for export in exports if export.decision.accepted), key=lambda export: export.list)
        ratings = np.full((len(accepted), len(ids)), np.nan)
        for row, export in enumerate(accepted):
            for response in export.tests():
                ratings[row, place[response.clip]] = response.rating
        return cls(tuple(export.participant for export in accepted), tuple(study.clips[name] for name in ids), ratings)

    def of_kind(self, name: str) -> "Rated":
        """The clips of a category (support) or of a sub-type (A1)."""
        columns = [column for column, clip in enumerate(self.clips) if name in (clip.category, clip.subtype)]
        return Rated(self.people, tuple(self.clips[column] for column in columns), self.ratings[:, columns])

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean ratings of the expected and of the surprising version, (T,) each, of trials that have ratings of both."""
        seen = ~np.isnan(self.ratings)
        counts = seen.sum(0)
        totals = np.where(seen, self.ratings, 0).sum(0)
        mean = {(clip.category, clip.trial, clip.version): total / count
                for clip, total, count in zip(self.clips, totals, counts) if count}  # fmt: skip
        trials = sorted({key[:2] for key in mean if {(*key[:2], "expected"), (*key[:2], "surprising")} <= mean.keys()})
        expected, surprising = ([mean[*trial, version] for trial in trials] for version in ("expected", "surprising"))
        return np.array(expected), np.array(surprising)

    def right(self) -> np.ndarray:
        """(P,): share of the clips that a participant saw whose rating lies on the side of their version."""
        surprising = np.array([clip.version == "surprising" for clip in self.clips])
        seen = ~np.isnan(self.ratings)
        return (((self.ratings >= SURPRISING_FROM) == surprising) & seen).sum(1) / seen.sum(1)

    def single(self) -> np.ndarray:
        """(P,): AUC of each participant over the clips that they saw, which are of different trials."""
        surprising = np.array([clip.version == "surprising" for clip in self.clips])
        seen = ~np.isnan(self.ratings)
        return np.array([auc(row[here & ~surprising], row[here & surprising]) for row, here in zip(self.ratings, seen)])


@dataclass(frozen=True)
class Agreement:
    """Kappa of every pair.  pairs: rows of two people.  common: clips that both saw, in the same version.  values: kappa, nan
    where it is undefined."""

    pairs: tuple[tuple[int, int], ...]
    common: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, rated: Rated) -> "Agreement":
        """Of all pairs of people."""
        seen = ~np.isnan(rated.ratings)
        pairs = tuple(combinations(range(len(rated.people)), 2))
        both = [seen[one] & seen[other] for one, other in pairs]
        values = [kappa(rated.ratings[one, here], rated.ratings[other, here]) for (one, other), here in zip(pairs, both)]
        return cls(pairs, np.array([here.sum() for here in both], int), np.array(values, float))

    def defined(self) -> np.ndarray:
        """The values that are numbers."""
        return self.values[~np.isnan(self.values)]

    def summary(self) -> dict:
        """Mean, quartiles, and how many pairs have no kappa and why."""
        there, none = self.defined(), np.isnan(self.values)
        quartiles = np.quantile(there, [0.25, 0.5, 0.75]).round(4).tolist() if len(there) else [None] * 3
        return {
            "pairs": len(there), "mean": round(float(there.mean()), 4) if len(there) else None, "quartiles": quartiles,
            "no_common_clip": int((self.common == 0).sum()), "all_on_one_side": int((none & (self.common > 0)).sum()),
        }  # fmt: skip


def over_people(shares: np.ndarray) -> tuple[float, tuple[float, float] | None]:
    """Mean over participants and its 95 % interval (Student's t), cut to 0 to 1; none of a single participant."""
    mean = float(shares.mean())
    if len(shares) < 2:
        return mean, None
    reach = float(t.ppf(0.975, len(shares) - 1) * shares.std(ddof=1) / np.sqrt(len(shares)))
    return mean, (max(0.0, mean - reach), min(1.0, mean + reach))


def scores(rated: Rated) -> dict:
    """Hit rate over trials, accuracy and AUC over participants, each with its interval, of all clips of `rated`."""
    expected, surprising = rated.means()
    found = {"trials": len(expected)}
    if len(expected):
        rate = hit_rate(expected, surprising)
        found |= {"hit_rate": rate, "hit_rate_interval": interval(rate, len(expected))}
    for name, shares in (("accuracy", rated.right()), ("auc", rated.single())):
        found[name], found[f"{name}_interval"] = over_people(shares)
    return found


def ratings_of_versions(rated: Rated) -> Counter:
    """Number of ratings -> how many clips have so many."""
    return Counter((~np.isnan(rated.ratings)).sum(0).tolist())
