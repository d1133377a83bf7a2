"""A table of equal effort, read from the ledger alone: scores on `final`, curves over minutes, settings and what rows are told."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from eval.effort.jobs import table_name
from eval.effort.settings import Row, causes, choice
from eval.figures.charts import Point, scatter_figure
from eval.runs.ledger import FINAL, SELECT, entry_of

SHOWN = {"H@1": "test/hits@1/h{}", "copy floor": "floor/copy/hits@1/h{}", "what if": "test/cf_hits@1/mean/h{}",
         "what if, several": "test/cf_hits@1/several/h{}", "goals": "plan/success/h{}"}  # fmt: skip
AT_ONCE = {"exact": "readout/mlp/what_if/h10", "order of weights": "order/tau", "own R2": "identifiability/own"}  # one number of a run
ALSO = {"what if": "test/cf_hits@1/h{}"}  # where a world has no classes of actions
CURVE = "what if"
T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)  # Student's t, two sides, of 1 to 9 degrees of freedom
CSV_HEADER = ("env", "row", "metric", "steps", "minutes", "seed", "value")
MISSING = "-"
END = "end"


def interval(values: list[float], digits: int = 1) -> str:
    """Mean and half of the 95 % interval over seeds (Student's t); of one seed the number alone."""
    if not values:
        return MISSING
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    t = T95[min(len(values) - 2, len(T95) - 1)]
    return f"{mean(values):.{digits}f} ± {t * stdev(values) / len(values) ** 0.5:.{digits}f}"


class Scored(NamedTuple):
    """after: which round, or END.  minutes: of processor time until then."""

    after: int | str
    minutes: float
    seed: int
    value: float


@dataclass(frozen=True)
class Filled:
    """What the ledger holds of a row on an env.  chosen: as of `choice`, None before it was made.  entries: of its seeds."""

    row: Row
    env: str
    chosen: dict | None
    entries: dict[int, dict]

    @classmethod
    def of(cls, row: Row, env: str, cfg: dict) -> "Filled":
        ledger = Path(cfg["ledger"])
        chosen = choice(ledger, env, row)
        found = {} if chosen is None else {
            seed: entry for seed in range(cfg["seeds"]) if (entry := entry_of(ledger, env, table_name(row, env, chosen, seed)))}  # fmt: skip
        return cls(row, env, chosen, found)

    def scores(self, name: str, horizon: int, split: str = FINAL) -> dict[int, float]:
        """Seed -> value, of the weights at the end; goals are reached in tasks of their own, on no split."""
        keys = [key.format(horizon) for key in (SHOWN[name], ALSO.get(name, SHOWN[name]))]
        found = {}
        for seed, entry in self.entries.items():
            splits = (SELECT, "valid") if name == "goals" else (split,)
            metrics = {key: value for one in splits for key, value in entry["scores"].get(one, {}).get("metrics", {}).items()}
            value = next((metrics[key] for key in keys if key in metrics), None)
            if value is not None:
                found[seed] = value
        return found

    def number(self, key: str) -> dict[int, float]:
        """Seed -> a metric on `final`."""
        found = {seed: entry["scores"].get(FINAL, {}).get("metrics", {}) for seed, entry in self.entries.items()}
        return {seed: metrics[key] for seed, metrics in found.items() if key in metrics}

    @cached_property
    def curve(self) -> dict[tuple[str, int], list["Scored"]]:
        """(name, horizon) -> scores of rounds and of the end."""
        found: dict = {}
        for seed, entry in self.entries.items():
            ends = [(one["round"], one["cpu_s"] / 60, one["scores"]) for one in entry["rounds"]]
            last = entry["rounds"][-1]["cpu_s"] / 60 if entry["rounds"] else 0.0
            for after, minutes, scores in [*ends, (END, last, entry["scores"])]:
                metrics = scores.get(FINAL, {}).get("metrics", {})
                for name in ("H@1", "what if"):
                    for h in causes()["horizons"]:
                        keys = [key.format(h) for key in (SHOWN[name], ALSO.get(name, SHOWN[name])) if key.format(h) in metrics]
                        found.setdefault((name, h), []).extend(Scored(after, minutes, seed, metrics[key]) for key in keys[:1])
        return found

    @property
    def fell(self) -> str:
        """By how much the criterion is larger on `select` than on `final`, at ten steps."""
        here, there = (self.scores("what if", causes()["horizons"][-1], split) for split in (SELECT, FINAL))
        both = [here[seed] - there[seed] for seed in here.keys() & there.keys()]
        return f"{mean(both):+.2f}" if both else MISSING


def lines(filled: Iterable[Filled]) -> tuple[list[str], list[list[str]]]:
    """Header and rows, best first by what if at ten steps; horizons side by side."""
    horizons = causes()["horizons"]
    header = ["", *(f"{name} {' / '.join(map(str, horizons))}" for name in SHOWN), *AT_ONCE, f"{SELECT} - {FINAL}", "told", "seeds"]

    def last(one: Filled) -> float:
        values = one.scores("what if", horizons[-1]).values()
        return mean(values) if values else -1.0

    rows = []
    for one in sorted(filled, key=last, reverse=True):
        cells = [" / ".join(interval(list(one.scores(name, h).values())) for h in horizons) for name in SHOWN]
        cells = [cell if set(cell) - set("- /") else MISSING for cell in cells]
        alone = [interval(list(one.number(key).values()), 2 if key == AT_ONCE["order of weights"] else 1) for key in AT_ONCE.values()]
        rows.append([one.row.name, *cells, *alone, one.fell, ", ".join(one.row.told), str(len(one.entries))])
    return header, rows


def curve_lines(filled: Iterable[Filled]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: what if at ten steps after so many rounds, mean over seeds, with the minutes that were used."""
    ends, h, rows = [*causes()["table"]["curve"], END], causes()["horizons"][-1], []
    for one in filled:
        points = one.curve.get((CURVE, h), [])
        of_end = [[point for point in points if point.after == end] for end in ends]
        cells = [f"{mean(p.value for p in at):.1f} ({mean(p.minutes for p in at):.1f})" if at else MISSING for at in of_end]
        rows.append([one.row.name, *cells])
    return ["", *(end if end == END else f"round {end}" for end in ends)], rows


def setting_lines(filled: Iterable[Filled]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: the chosen setting, its worth and the worst of the draws."""
    keys = list(causes()["space"])
    rows = []
    for one in filled:
        if one.chosen:
            worths = [tried["worth"] for tried in one.chosen["tried"] if tried["worth"] is not None]
            told = dict(one.chosen["setting"], strength=_strength(one))
            rows.append([one.row.name, *(told[key] if isinstance(told[key], str) else f"{told[key]:g}" for key in keys),
                         str(one.chosen["chosen"]), f"{max(worths):.1f}", f"{min(worths):.1f}", str(len(one.chosen["tried"]) - len(worths))])  # fmt: skip
    return ["", *(key.replace("_", " ") for key in keys), "draw", "worth", "worst draw", "diverged"], rows


def _strength(one: Filled) -> str:
    """What a setting says of the objective's own number."""
    own = causes()["strengths"].get(one.row.loss)
    return MISSING if own is None else f"{own['key'].rpartition('.')[2].replace('_', ' ')} {own['values'][one.chosen['setting']['strength']]:g}"


def caption(env: str, cfg: dict) -> str:
    """The protocol: a number without it means nothing."""
    tune, table = causes()["tune"], causes()["table"]
    return (
        f"{env}; split {FINAL}, {table['episodes']} episodes are the ranking pool, rule grouped, ties against us, {table['states']} states asked what if; "
        f"what if: H@1 among the outcomes of all actions, mean over actions that change nothing, one object, several; goals: 1000 "
        f"tasks, closed loop, exactly T actions; exact: outcomes of every action at ten steps, exact in all factors by a frozen read-out; order "
        f"of weights: Kendall's tau; own R2: of objects in their own slots; {table['minutes']} minutes of processor time for every row, seeds 0 to {cfg['seeds'] - 1}, mean and 95 % "
        f"interval (t) over seeds; every row drew {tune['draws']} settings, {tune['minutes']} minutes each, seed {tune['seed']}, chosen by the mean of what if "
        f"at {', '.join(map(str, causes()['horizons']))} steps in {tune['states']} states of {SELECT}; scored are the last weights; "
        f"goals lie on no split, read-outs are fitted on valid, and own R2 is measured on its other half{_worlds(env)}; percent"
    )


def _worlds(env: str) -> str:
    """Which drawn worlds a table saw, where there are any."""
    told = causes()["worlds"].get(env)
    return f"; chosen in drawn world {told['tune']}, scored in world {told['table']} plus the seed" if told else ""


def chart(filled: list[Filled], title: str):
    """H@1 against what if, a plot for each horizon; None without a point.  -> matplotlib Figure."""
    plots = {}
    for h in causes()["horizons"]:
        points = []
        for one in filled:
            x, y = (one.scores(name, h).values() for name in ("H@1", "what if"))
            if x and y:
                fit = dict(part.split("=", 1) for part in one.row.fit)
                points.append(Point(one.row.name, fit["model"], fit["loss"], mean(x), mean(y)))
        if points:
            plots[f"{h} step{'s' if h > 1 else ''}"] = points
    return scatter_figure(plots, "H@1", "what if", title).drawing if plots else None


def long_csv(filled: Iterable[Filled]) -> str:
    """One line for each number, of every seed; rounds by their minutes."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(CSV_HEADER)
    for one in filled:
        for name in SHOWN:
            for h in causes()["horizons"]:
                for seed, value in one.scores(name, h).items():
                    out.writerow([one.env, one.row.name, name, h, "end", seed, value])
        for name, key in AT_ONCE.items():
            for seed, value in one.number(key).items():
                out.writerow([one.env, one.row.name, name, "", "end", seed, value])
        for (name, h), points in one.curve.items():
            for point in points:
                out.writerow([one.env, one.row.name, name, h, f"{point.minutes:.2f}", point.seed, point.value])
    return text.getvalue()
