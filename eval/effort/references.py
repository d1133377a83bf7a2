"""What stands beside the scores of all rows, and is told of the world alone:
what needs no weights, exact Bayes, the same search in the true world."""

from collections.abc import Sequence
from statistics import mean
from typing import NamedTuple

from eval.effort.filled import Filled
from eval.effort.score_names import ALONE, BAYES, BLIND, BY_NUMBER, LIKELIEST, PAINTER, TRUE_WORLD
from eval.runs.final import FINAL, SELECT


class Reference(NamedTuple):
    """score: what is compared with it.  word: its own name.  key: its metric, {}: the horizon.
    splits: the first of them that has it."""

    score: str
    word: str
    key: str
    splits: tuple[str, ...] = (FINAL,)


REFERENCES = (
    Reference("H@1", "exact Bayes", BAYES),
    Reference("what if", "weights unknown", BLIND),
    Reference("what if", "likeliest", LIKELIEST),
    Reference("what if", "one outcome", ALONE),
    Reference("goals", "painting by number", PAINTER, (SELECT, "valid")),
    Reference("goals", "true world", TRUE_WORLD, (SELECT, "valid")),
    Reference("order of weights", "by number", BY_NUMBER),
)


class Beside(NamedTuple):
    """One reference, percent.  common: where all rows share it; own: by label of those that have it, where they do not."""

    word: str
    common: float | None
    own: dict[str, float]

    @property
    def head(self) -> str:
        """For a header."""
        return self.word if self.common is None else f"{self.word} {self.common:.1f}"


def beside(filled: Sequence[Filled], score: str, horizon: int) -> list[Beside]:
    """Those of a score that any row has. Where seeds are drawn worlds it has to be known for every one of a row, and is common
    to rows of the same seeds alone."""
    found = []
    for one in REFERENCES:
        if one.score == score and (own := _by_label(filled, one.key.format(horizon), one.splits)):
            apart = filled[0].own_worlds and len({frozenset(row.entries) for row in filled if row.entries}) > 1
            common = None if apart or len(set(own.values())) > 1 else next(iter(own.values()))
            found.append(Beside(one.word, common, own if common is None else {}))
    return found


def _by_label(filled: Sequence[Filled], key: str, splits: Sequence[str]) -> dict[str, float]:
    known = {row.label: (row, row.number(key, *splits)) for row in filled}
    return {label: round(mean(values.values()), 1) + 0.0 for label, (row, values) in known.items()
            if values and not (row.own_worlds and len(values) < len(row.entries))}  # fmt: skip
