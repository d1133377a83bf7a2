"""Scores of surprise: does the clip with a violated cause surprise more than its pair, ties one half?"""

import math

import numpy as np
from scipy.stats import rankdata

GUESSED = 0.5  # of pairs is what guessing hits in the mean, of however many pairs


def _scores(expected, surprising) -> tuple[np.ndarray, np.ndarray]:
    """Both sides as numbers; ValueError on an empty one, and on NaN."""
    sides = []
    for name, values in (("expected", expected), ("surprising", surprising)):
        values = np.asarray(values, float)
        if values.ndim != 1:
            raise ValueError(f"surprise of {name} clips is one number a clip, (P,), got shape {values.shape}; pass a vector")
        if not len(values):
            raise ValueError(f"surprise of {name} clips is empty, expected one number or more; score clips of both kinds")
        if np.isnan(values).any():
            raise ValueError(f"surprise of {name} clips holds {int(np.isnan(values).sum())} NaN of {len(values)}; "
                             f"a model that diverged cannot be scored")  # fmt: skip
        sides.append(values)
    return sides[0], sides[1]


def hit_rate(expected, surprising) -> float:
    """Share of pairs whose surprising clip has the larger surprise, ties count one half; from 0 to 1.

    expected, surprising (P,): the surprise of the two clips of each pair.  ValueError on NaN, on no pairs, and on sides of
    unequal length.
    """
    expected, surprising = _scores(expected, surprising)
    if len(expected) != len(surprising):
        raise ValueError(f"pairs have two sides of one length, got {len(expected)} expected and {len(surprising)} surprising "
                         f"clips; match them by their trial")  # fmt: skip
    return float((surprising > expected).mean() + 0.5 * (surprising == expected).mean())


def interval(rate: float, pairs: int) -> tuple[float, float]:
    """The 95 % interval of a hit rate over so many pairs (Wilson's score), from 0 to 1.

    A tie is counted as half a hit; the interval of rates with ties is then a little too wide.  ValueError on a rate outside 0
    to 1 and on no pairs.
    """
    if not 0 <= rate <= 1 or pairs < 1:
        raise ValueError(f"an interval is that of a rate from 0 to 1 over one pair or more, got {rate} over {pairs}; pass "
                         f"those of hit_rate")  # fmt: skip
    z = 1.959964  # of the standard normal, 2.5 % above it
    middle, half = rate + z**2 / (2 * pairs), z * math.sqrt(rate * (1 - rate) / pairs + z**2 / (4 * pairs**2))
    return max(0.0, (middle - half) / (1 + z**2 / pairs)), min(1.0, (middle + half) / (1 + z**2 / pairs))


def auc(expected, surprising) -> float:
    """Area under the ROC curve: share of all pairs, matched or not, that `hit_rate` counts; from 0 to 1.

    expected (P,), surprising (Q,).  ValueError on NaN and where one class is missing: the area is undefined.
    """
    expected, surprising = _scores(expected, surprising)
    ranks = rankdata(np.concatenate([expected, surprising]))[len(expected) :]
    wins = ranks.sum() - len(surprising) * (len(surprising) + 1) / 2
    return float(wins / (len(expected) * len(surprising)))


def accuracy(expected, surprising, threshold: float) -> float:
    """Share of clips on the right side of a threshold that was fixed beforehand: surprising ones above it; from 0 to 1."""
    expected, surprising = _scores(expected, surprising)
    if not np.isfinite(threshold):
        raise ValueError(f"a threshold is a finite number, got {threshold}; fix it on validation clips")
    right = (expected <= threshold).sum() + (surprising > threshold).sum()
    return float(right / (len(expected) + len(surprising)))
