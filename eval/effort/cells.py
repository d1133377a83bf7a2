"""The text of one score of a row, with its interval, of how many seeds, and whether it is above its floor;
and of when its weights were."""

from collections.abc import Collection, Sequence
from statistics import mean

from eval.effort.best_round import best_round
from eval.effort.filled import Filled
from eval.effort.intervals import Estimate
from eval.effort.score_names import DIGITS
from eval.runs.final import FINAL

MISSING = "-"
Table = tuple[list[str], list[list[str]]]  # header and rows


def cell(one: Filled, name: str, horizon: int) -> str:
    """The mean over seeds, with its interval."""
    found = one.estimate(name, horizon)
    return MISSING if found is None else found.text() + fewer(one, found.values)


def mean_cell(one: Filled, name: str, horizon: int) -> str:
    """The mean over seeds alone, as of floors."""
    found = one.scores(name, horizon)
    return f"{mean(found.values()):.1f}" if found else MISSING


def changed_by(found: Estimate) -> str:
    """A difference with its sign, in brackets, and with what stands beside a mean."""
    text = found.text()
    return f" ({text if text.startswith('-') else f'+{text}'})"


def once(one: Filled, name: str, *splits: str) -> str:
    """One of AT_ONCE, which has no steps."""
    return over_seeds(one, one.at_once(name, *splits), DIGITS.get(name, 1))


def over_seeds(one: Filled, found: dict[int, float], digits: int = 1) -> str:
    """The mean of what seeds have, with the interval by Student's t, of how many it is."""
    return Estimate.over_seeds(found).text(digits) + fewer(one, found) if found else MISSING


def fewer(one: Filled, found: Collection[int]) -> str:
    """Of how many of the row's seeds a number is, where some were not asked for it."""
    every = one.scores("H@1", one.study.horizons[-1])
    return f" ({len(found)} of {len(every)})" if len(found) < len(every) else ""


def low(one: Filled, name: str, horizon: int) -> str:
    """The mark of a score that is not above its floor."""
    return " *" if one.above_floor(name, horizon) is False else ""


def kept_at(one: Filled) -> str:
    """After which part of a training the scored weights were, in percent, over seeds."""
    rounds = [best_round(entry) for entry in one.entries.values() if FINAL in entry["scores"]]
    found = [100 * number / count for number, count in filter(None, rounds)]
    return mean_least_most(found) if found else MISSING


def mean_least_most(values: Sequence[float]) -> str:
    """Mean, and in brackets from the least to the most where they differ; whole numbers."""
    middle, *ends = (f"{number:,.0f}" for number in (mean(values), min(values), max(values)))
    return middle if len(set(ends)) == 1 else f"{middle} ({' to '.join(ends)})"
