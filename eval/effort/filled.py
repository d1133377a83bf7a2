"""What the ledger holds of a row of a table, and the intervals of its scores, over seeds and over episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np

from eval.effort.jobs import table_name
from eval.effort.settings import Row, causes, choice
from eval.effort.studies import Study
from eval.runs.answers import Answers, bootstrap, ends
from eval.runs.ledger import FINAL, SELECT, entry_of

SHOWN = {"H@1": "test/hits@1/h{}", "copy floor": "floor/copy/hits@1/h{}", "what if": "test/cf_hits@1/mean/h{}",
         "what if, several": "test/cf_hits@1/several/h{}", "goals": "plan/success/h{}"}  # fmt: skip
AT_ONCE = {"exact": "readout/mlp/what_if/h10", "order of weights": "order/tau", "own R2": "identifiability/own"}  # one number of a run
ALSO = {"what if": "test/cf_hits@1/h{}"}  # where a world has no classes of actions
END = "end"
T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)  # Student's t, two sides, of 1 to 9 degrees of freedom


class Estimate(NamedTuple):
    """A mean over seeds with its 95 % interval, none of a single seed without answers.  values: seed -> score."""

    values: dict[int, float]
    low: float | None
    high: float | None

    @property
    def mean(self) -> float:
        return mean(self.values.values())

    @classmethod
    def over_seeds(cls, values: dict[int, float]) -> "Estimate":
        """Student's t."""
        if len(values) < 2:
            return cls(values, None, None)
        found, t = list(values.values()), T95[min(len(values) - 2, len(T95) - 1)]
        half = t * stdev(found) / len(found) ** 0.5
        return cls(values, mean(found) - half, mean(found) + half)

    def text(self, digits: int = 1) -> str:
        """The mean and half of the interval."""
        if self.low is None:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {(self.high - self.low) / 2:.{digits}f}"


class Scored(NamedTuple):
    """after: which round, or END.  minutes: of processor time until then."""

    after: int | str
    minutes: float
    seed: int
    value: float


@dataclass(frozen=True)
class Filled:
    """chosen: as of `choice`, None before it was made.  entries: of its seeds, those that ended."""

    study: Study
    case: str
    row: Row
    env: str
    chosen: dict | None
    entries: dict[int, dict]

    @classmethod
    def of(cls, study: Study, case: str, row: Row, env: str, cfg: dict) -> "Filled":
        """Raises Problem on a damaged choice."""
        ledger = Path(cfg["ledger"])
        setting, found = study.settings(ledger, env, row), {}
        for seed in range(cfg["seeds"]) if setting is not None else ():
            entry = entry_of(ledger, env, table_name(study, case, row, env, setting, seed))
            if entry is not None:
                found[seed] = entry
        return cls(study, case, row, env, choice(ledger, env, row) if study.tuned else None, found)

    @property
    def label(self) -> str:
        """Of its line."""
        return f"{self.row.name}, {self.case}" if self.case else self.row.name

    @property
    def diverged(self) -> list[int]:
        """Seeds whose training could not end."""
        return [seed for seed, entry in self.entries.items() if entry.get("diverged")]

    def key(self, name: str, horizon: int) -> str | None:
        """The metric behind a name of SHOWN; None where no run has it."""
        present = {key for entry in self.entries.values() for scores in entry["scores"].values() for key in scores["metrics"]}
        keys = (key.format(horizon) for key in (SHOWN[name], ALSO.get(name, SHOWN[name])))
        return next((key for key in keys if key in present), None)

    def scores(self, name: str, horizon: int, split: str = FINAL) -> dict[int, float]:
        """Seed -> value, of the weights at the end; goals are reached in tasks of their own, on no split."""
        key = self.key(name, horizon)
        return {} if key is None else self.number(key, *((SELECT, "valid") if name == "goals" else (split,)))

    def number(self, key: str, *splits: str) -> dict[int, float]:
        """Seed -> a metric, on the first of some splits that has it; none named: on `final`."""
        found = {}
        for seed, entry in self.entries.items():
            every = [entry["scores"].get(split, {}).get("metrics", {}) for split in splits or (FINAL,)]
            found |= {seed: metrics[key] for metrics in reversed(every) if key in metrics}
        return found

    @cached_property
    def _drawn(self) -> dict[tuple[str, int], np.ndarray | None]:
        return {}

    def draws(self, name: str, horizon: int) -> np.ndarray | None:
        """Bootstrapped means over seeds and episodes of `final`, (R,), the same episodes for all rows; None where answers were not
        kept.
        """
        if (name, horizon) not in self._drawn:
            self._drawn[name, horizon] = self._draw(name, horizon)
        return self._drawn[name, horizon]

    def _draw(self, name: str, horizon: int) -> np.ndarray | None:
        key, scored = self.key(name, horizon), [entry for entry in self.entries.values() if FINAL in entry["scores"]]
        kept = [entry["scores"][FINAL].get("answers", {}).get(key) for entry in scored]
        if not kept or None in kept:
            return None
        return bootstrap([Answers.unpacked(text) for text in kept], same=self.env not in causes()["worlds"])

    def estimate(self, name: str, horizon: int) -> Estimate | None:
        """A score with its interval; None without a run."""
        values = self.scores(name, horizon)
        draws = None if name == "goals" or not values else self.draws(name, horizon)
        if not values:
            return None
        return Estimate.over_seeds(values) if draws is None else Estimate(values, *ends(draws))

    def above_floor(self, horizon: int) -> bool | None:
        """Whether H@1 is above the row's own floor of copying, with its interval; None without both."""
        ours, floor = self.draws("H@1", horizon), self.draws("copy floor", horizon)
        return None if ours is None or floor is None else ends(ours - floor)[0] > 0

    def reached_elsewhere(self, mode: str) -> dict[int, float]:
        """Seed -> success at the last horizon on boards of a mode."""
        key, plans = SHOWN["goals"].format(self.study.horizons[-1]), {s: e.get("plans", {}).get(mode) for s, e in self.entries.items()}
        return {seed: plan["metrics"][key] for seed, plan in plans.items() if plan and key in plan["metrics"]}

    @cached_property
    def curve(self) -> dict[tuple[str, int], list[Scored]]:
        """(name, horizon) -> scores of rounds and of the end."""
        found: dict = {}
        for seed, entry in self.entries.items():
            rounds = [(one["round"], one["cpu_s"] / 60, one["scores"]) for one in entry["rounds"]]
            last = entry["rounds"][-1]["cpu_s"] / 60 if entry["rounds"] else 0.0
            for after, minutes, scores in [*rounds, (END, last, entry["scores"])]:
                metrics = scores.get(FINAL, {}).get("metrics", {})
                for name in ("H@1", "what if"):
                    for h in self.study.horizons:
                        key = self.key(name, h)
                        if key in metrics:
                            found.setdefault((name, h), []).append(Scored(after, minutes, seed, metrics[key]))
        return found

    @property
    def fell(self) -> float | None:
        """By how much what if at the last horizon is larger on `select` than on `final`."""
        here, there = (self.scores("what if", self.study.horizons[-1], split) for split in (SELECT, FINAL))
        both = [here[seed] - there[seed] for seed in here.keys() & there.keys()]
        return mean(both) if both else None


def difference(one: Filled, other: Filled, name: str, horizon: int) -> tuple[float, float, float] | None:
    """Mean and 95 % interval of how much larger a score of `one` is, paired over episodes; None where either lacks answers."""
    mine, theirs = one.draws(name, horizon), other.draws(name, horizon)
    if mine is None or theirs is None:
        return None
    apart = mine - theirs
    values = [mean(found.scores(name, horizon).values()) for found in (one, other)]
    return values[0] - values[1], *ends(apart)


def spearman(points: Sequence[tuple[float, float]]) -> float | None:
    """Rank correlation; None of fewer than three points, or where one side never changes."""
    if len(points) < 3 or any(len(set(side)) == 1 for side in zip(*points)):
        return None
    from scipy.stats import spearmanr  # takes a second

    return float(spearmanr(*zip(*points)).statistic)
