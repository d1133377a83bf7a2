"""What the ledger holds of a row of a table: its scores, and what is drawn of its answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np

from envs.problem import Problem
from eval.effort.intervals import FEW, Estimate, wider
from eval.effort.jobs import table_name
from eval.effort.score_names import ALSO, AT_ONCE, CURVES, FLOORS, PAINTER, RANDOM, READ_OUTS, SCALE, SHOWN
from eval.effort.settings import Row, causes, choice
from eval.effort.studies import Study
from eval.runs.answers import Answers, bootstrap, ends
from eval.runs.final import FINAL, SELECT
from eval.runs.ledger import entry_of

END = "end"


class Scored(NamedTuple):
    """after: which round, or END.  minutes: of processor time until then."""

    after: int | str
    minutes: float
    seed: int
    value: float


def _of_round(one: dict, name: str) -> dict[str, float]:
    """The metrics of a round behind a name of CURVES."""
    return (one.get("plan", {}) if name == "goals" else one["scores"].get(FINAL, {})).get("metrics", {})


@lru_cache(maxsize=4096)  # 16 KB each; a table asks for most of them several times, of copies of a row as well
def _bootstrapped(kept: tuple[tuple[int, str], ...], same: bool, row: str) -> np.ndarray:
    """`bootstrap` of packed answers by seeds."""
    return bootstrap({seed: Answers.unpacked(text) for seed, text in kept}, same, row)


@dataclass(frozen=True)
class Filled:
    """chosen: as of `choice`, None before it was made.  entries: by seed, those that ended or diverged."""

    study: Study
    case: str
    row: Row
    env: str
    chosen: dict | None
    entries: dict[int, dict]

    @classmethod
    def of(cls, study: Study, case: str, row: Row, env: str, cfg: dict) -> "Filled":
        """Raises Problem on a damaged choice, and on an entry of another seed than its name says, or of another drawn world."""
        ledger, first = Path(cfg["ledger"]), causes()["worlds"].get(env, {}).get("table")
        setting, found = study.settings(ledger, env, row), {}
        for seed in range(cfg["seeds"]) if setting is not None else ():
            entry = entry_of(ledger, env, table_name(study, case, row, env, setting, seed))
            if entry is None:
                continue
            if entry["seed"] != seed:
                raise Problem(f"run '{entry['run']}' of the ledger says seed {entry['seed']}; expected {seed}; take its entry "
                              f"from the history again, or remove it and enter its run anew")  # fmt: skip
            if first is not None and entry.get("world") != first + seed:
                raise Problem(f"run '{entry['run']}' of the ledger was trained in drawn world {entry.get('world')}; "
                              f"expected {first + seed}, by worlds: in eval/effort/causes.yaml; "
                              f"remove such entries, or set worlds: back")  # fmt: skip
            found[seed] = entry
        return cls(study, case, row, env, choice(ledger, env, row) if study.tuned else None, found)

    @property
    def label(self) -> str:
        """What its line in a table is called: the row, and the case where a study has several."""
        return f"{self.row.name}, {self.case}" if self.case else self.row.name

    @property
    def told(self) -> tuple[str, ...]:
        """What it knows beside frames and numbered actions."""
        return self.study.told(self.case, self.row)

    @property
    def diverged(self) -> list[int]:
        """Seeds whose training could not end."""
        return [seed for seed, entry in self.entries.items() if entry.get("diverged")]

    def key(self, name: str, horizon: int) -> str | None:
        """The metric behind a name of SHOWN; None where no run has it."""
        keys = (key.format(horizon) for key in (SHOWN[name], ALSO.get(name, SHOWN[name])))
        return next((key for key in keys if key in self._present), None)

    @cached_property
    def _present(self) -> set[str]:
        """The metrics that any run of the row has, on any split."""
        return {key for entry in self.entries.values() for scores in entry["scores"].values() for key in scores["metrics"]}

    def scores(self, name: str, horizon: int, split: str = FINAL) -> dict[int, float]:
        """Seed -> value, of the weights that were kept; goals are reached in tasks of their own, on no split."""
        key = self.key(name, horizon)
        return {} if key is None else self.number(key, *((SELECT, "valid") if name == "goals" else (split,)))

    def number(self, key: str, *splits: str) -> dict[int, float]:
        """Seed -> a metric, on the first of some splits that has it; none named: on `final`."""
        found = {}
        for seed, entry in self.entries.items():
            every = [entry["scores"].get(split, {}).get("metrics", {}) for split in splits or (FINAL,)]
            found |= {seed: metrics[key] for metrics in reversed(every) if key in metrics}
        return found

    def at_once(self, name: str, *splits: str) -> dict[int, float]:
        """Seed -> one of AT_ONCE as tables show it, on a split, none named: on `final`."""
        return {seed: round(SCALE.get(name, 1.0) * value, 4) for seed, value in self.read(AT_ONCE[name], *splits).items()}

    def read(self, key: str, *splits: str) -> dict[int, float]:
        """Seed -> a metric, {}: of the linear or the small read-out, by which of them reads more factors on the split that is
        for choosing; on a split, none named: on `final`."""
        every = {kind: self.number(key.format(kind), *splits) for kind in READ_OUTS}
        read = {kind: self.number(AT_ONCE["factors read"].format(kind), SELECT, "valid") for kind in READ_OUTS}
        better = {seed: max(READ_OUTS, key=lambda kind: read[kind].get(seed, -1.0)) for seed in self.entries}
        return {seed: every[kind][seed] for seed, kind in better.items() if seed in every[kind]}

    def draws(self, name: str, horizon: int, seeds: tuple[int, ...] = ()) -> np.ndarray | None:
        """Bootstrapped means over seeds, none named: all, and over episodes of `final`, (R,), the same episodes for all rows;
        None where answers were not kept. Raises Problem on damaged ones.
        """
        key = self.key(name, horizon)
        of_seeds = seeds or sorted(self.number(key or ""))
        kept = [self.entries[seed]["scores"].get(FINAL, {}).get("answers", {}).get(key) for seed in of_seeds]
        if not kept or None in kept:
            return None
        with self._damage_told():
            return _bootstrapped(tuple(zip(of_seeds, kept)), not self.own_worlds, self.label)

    def check_answers(self) -> None:
        """Raise Problem where answers are damaged that intervals will be drawn of, or not of the same episodes; drawing them
        all here would take longer than a table."""
        kept = [entry["scores"].get(FINAL, {}).get("answers", {}) for entry in self.entries.values()]
        with self._damage_told():
            for key in (self.key(name, h) for name in SHOWN if name != "goals" for h in self.study.horizons):
                counts = {len(Answers.unpacked(of[key]).right) for of in kept if key in of}
                if not self.own_worlds and len(counts) > 1:
                    raise ValueError(f"{key} was asked of {sorted(counts)} episodes")

    @contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise Problem(f"the ledger's answers of {self.label} on {self.env} are damaged ({error}); take its entries "
                          f"from the history again") from error  # fmt: skip

    @property
    def own_worlds(self) -> bool:
        """Whether every seed has a drawn world of its own."""
        return self.env in causes()["worlds"]

    def estimate(self, name: str, horizon: int) -> Estimate | None:
        """A score with its interval; None without a run."""
        values = self.scores(name, horizon)
        if not values:
            return None
        over_seeds = Estimate.over_seeds(values)
        draws = None if name == "goals" or len(values) < FEW else self.draws(name, horizon)  # of fewer none is shown
        return over_seeds if draws is None else Estimate(values, *wider(ends(draws), (over_seeds.low, over_seeds.high)))

    def goals_above(self, floor: str, horizon: int) -> Estimate:
        """By how much more goals are reached than by a policy without a model, over seeds; goals have no other interval."""
        blind = self.number(floor.format(horizon), SELECT, "valid")
        reached = self.scores("goals", horizon)
        return Estimate.over_seeds({seed: value - blind[seed] for seed, value in reached.items() if seed in blind})

    def above_floor(self, name: str, horizon: int) -> bool | None:
        """Whether a score is above the row's own floor of copying in that score, with its interval, of fewer than FEW seeds by
        that of the bootstrap; goals: above every policy without a model that was asked; None without both."""
        if name == "goals":
            lows = [one.low for one in (self.goals_above(floor, horizon) for floor in (RANDOM, PAINTER)) if one.values]
            return None if not lows or None in lows else min(lows) > 0
        ours, floor = self.draws(name, horizon), self.draws(FLOORS[name], horizon)
        if ours is None or floor is None:
            return None
        copied, drawn = self.scores(FLOORS[name], horizon), ends(ours - floor)
        apart = Estimate.over_seeds(
            {seed: value - copied[seed] for seed, value in self.scores(name, horizon).items() if seed in copied}
        )
        return (drawn if len(apart.values) < FEW else wider(drawn, (apart.low, apart.high)))[0] > 0

    def goals_apart(self, mode: str) -> dict[int, float]:
        """Seed -> success at the last horizon on boards of a mode, or on the tasks that are kept (`final`)."""
        key = SHOWN["goals"].format(self.study.horizons[-1])
        plans = {seed: entry.get("plans", {}).get(mode) for seed, entry in self.entries.items()}
        return {seed: plan["metrics"][key] for seed, plan in plans.items() if plan and key in plan["metrics"]}

    @cached_property
    def curve(self) -> dict[tuple[str, int], list[Scored]]:
        """(name, horizon) -> scores of rounds, and at the end of what all of them gave:
        the weights of the least validation loss."""
        found: dict = {}
        for name in CURVES:
            for h in self.study.horizons:
                key, ends = self.key(name, h), self.scores(name, h)
                for seed, entry in self.entries.items():
                    minutes = [one["cpu_s"] / 60 for one in entry["rounds"]]
                    of_rounds = ((one["round"], at, _of_round(one, name).get(key)) for one, at in zip(entry["rounds"], minutes))
                    points = [*of_rounds, (END, max(minutes, default=0.0), ends.get(seed))]
                    found.setdefault((name, h), []).extend(
                        Scored(after, at, seed, value) for after, at, value in points if value is not None
                    )
        return {of: points for of, points in found.items() if points}

    @property
    def updates(self) -> dict[int, dict[str, int]]:
        """Seed -> stage -> training steps, of trainings that ended: equal minutes are not equal work
        where a model is slow or a machine is shared."""
        ended = {seed: entry for seed, entry in self.entries.items() if not entry.get("diverged")}
        every = {seed: {one["stage"]: one["updates"] for one in entry["rounds"]} for seed, entry in ended.items()}
        return {seed: found for seed, found in every.items() if found}

    @property
    def parameters(self) -> int | None:
        """Numbers that are learned, of all parts; None where no run says."""
        return next((sum(entry["parameters"].values()) for entry in self.entries.values() if entry.get("parameters")), None)

    @property
    def fell(self) -> float | None:
        """By how much what if at the last horizon is larger on `select` than on `final`."""
        here, there = (self.scores("what if", self.study.horizons[-1], split) for split in (SELECT, FINAL))
        both = [here[seed] - there[seed] for seed in here.keys() & there.keys()]
        return mean(both) if both else None
