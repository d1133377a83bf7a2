"""Which questions a run answered rightly, small enough to be kept, so that intervals can be drawn over episodes and seeds.

Answers (E, C) of E episodes or states count what was right, and what was asked, of C classes of questions; a score is the mean
over classes of their shares: with one class, the share of all.
"""

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

REPLICATES, LEVEL = 2000, 95.0  # of the bootstrap; percent
# that are kept: of five drawn worlds and of all others together, of 10,000 episodes (80 MB each) and of 500 states (4)
DRAWINGS = 12


class Answers(NamedTuple):
    """right, asked: (E, C) of whole numbers from 0 to 65535."""

    right: np.ndarray
    asked: np.ndarray

    @classmethod
    def of(cls, right: np.ndarray, kinds: np.ndarray | None = None, classes: int = 1) -> "Answers":
        """right (E,) or (E, Q) bool, of Q questions each; kinds (E, Q): the class of every question, none: all of class 0."""
        right = right.reshape(len(right), -1)
        kinds = np.zeros(right.shape, int) if kinds is None else kinds
        every = [kinds == kind for kind in range(classes)]
        return cls(np.stack([(right & of).sum(1) for of in every], 1), np.stack([of.sum(1) for of in every], 1))

    def together(self, group: np.ndarray) -> "Answers":
        """Those of one group as one, in the order in which groups begin.  group: (E,)."""
        _, first, index = np.unique(group, return_index=True, return_inverse=True)
        place, found = first.argsort().argsort()[index], Answers(*(np.zeros((len(first), part.shape[1]), int) for part in self))
        for part, whole in zip(self, found):
            np.add.at(whole, place, part)
        return found

    def packed(self) -> str:
        """The answers as text, for a JSON file."""
        return " ".join([f"{len(self.right)}x{self.right.shape[1]}", *(
            base64.b85encode(zlib.compress(part.astype("<u2").tobytes(), 9)).decode() for part in self)])  # fmt: skip

    @classmethod
    def unpacked(cls, text: str) -> "Answers":
        """The inverse of `packed`. Raises ValueError on any other text."""
        try:
            shape, *parts = text.split(" ")
            right, asked = (np.frombuffer(zlib.decompress(base64.b85decode(part)), "<u2") for part in parts)
            return cls(*(part.reshape(*map(int, shape.split("x"))).astype(int) for part in (right, asked)))
        except (ValueError, AttributeError, zlib.error, binascii.Error) as error:
            raise ValueError("these are no packed answers") from error


def weighted(runs: Sequence[Answers], weights: np.ndarray) -> np.ndarray:
    """Percent of N runs where episodes count so often, weights (R, E)  ->  (R, N); classes that nobody was asked are left out.

    One product for all runs, as reading the weights takes longer than multiplying them.
    """
    parts = np.stack([np.stack(run, 1) for run in runs], 2)  # (E, 2, N, C)
    counted = weights @ parts.reshape(len(parts), -1).astype(np.float32)
    right, asked = np.moveaxis(counted.reshape(-1, *parts.shape[1:]), 1, 0)
    shares = np.divide(right, asked, where=asked > 0, out=np.full(asked.shape, np.nan, np.float32))
    return 100 * np.nanmean(shares, 2)


def bootstrap(runs: Mapping[int, Answers], same: bool = True, row: str = "") -> np.ndarray:
    """Scores of REPLICATES draws with replacement, of runs by their seeds and of episodes, (R,).

    same: all runs were asked the same episodes, which are then drawn alike; else each seed has its own, and so has the same
    seed of another row. So differences of two rows are paired over what they were asked: subtract the draws.
    row: whose seeds these are. Rows of other names draw theirs apart, as chance in one says nothing of the other, unless every
    seed has episodes of its own, which both were asked.
    """
    chosen = np.random.default_rng([0, *(row.encode() if same else b"")]).integers(len(runs), size=(REPLICATES, len(runs)))
    counts = {len(run.right) for run in runs.values()}
    if same and len(counts) > 1:
        raise ValueError(f"runs were asked {sorted(counts)} episodes, and are said to have been asked the same")
    together = [sorted(runs)] if same else [[seed] for seed in sorted(runs)]
    scores = [weighted([runs[seed] for seed in of], _weights(len(runs[of[0]].right), 0 if same else of[0])) for of in together]
    return np.concatenate(scores, 1)[np.arange(REPLICATES)[:, None], chosen].mean(1)


@lru_cache(maxsize=DRAWINGS)
def _weights(count: int, which: int) -> np.ndarray:
    """How often each episode counts, (R, count)."""
    draw = np.random.default_rng((count, which))
    return draw.multinomial(count, np.full(count, 1 / count), REPLICATES).astype(np.float32)


def ends(draws: np.ndarray) -> tuple[float, float]:
    """The LEVEL % interval of draws, by percentiles."""
    low, high = np.percentile(draws, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)


def two_sided(draws: np.ndarray) -> float:
    """How likely draws of a difference lie on the other side of 0, on both sides counted, one in REPLICATES at least."""
    beyond = min(float((draws <= 0).mean()), float((draws >= 0).mean()))
    return min(1.0, 2 * max(beyond, 1 / REPLICATES))
