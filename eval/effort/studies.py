"""Tables of equal effort by their names: the main one, and those that vary minutes, episodes, objects or steps."""

from dataclasses import dataclass
from pathlib import Path

from envs.problem import Problem, nearest
from eval.effort.score_names import SHOWN
from eval.effort.settings import MAIN, Row, causes, choice, rows_of
from eval.runs.final import FINAL

PAPER_MINUTES = 130  # of processor time, about, that a training of the published epochs takes: modular 38, GNN 220
MISSING_SEEDS = "causes-updates"  # the study that trains those of the main table
FEWEST_OF_MAIN = "fewest"
SLOWER = 2  # times the processor time of the main table, about: single precision, the updates of its slowest training
UPDATE_S = 0.09  # of processor time, about, that an update takes: AE .11, edge .08, GNN .26


@dataclass(frozen=True)
class Study:
    """minutes: of processor time of every row, or updates, which go before minutes; neither: by epochs. updates=FEWEST_OF_MAIN:
    in every stage the fewest that a training of the row made in the main table; trained are seeds that it lacks there.  curve:
    rounds that are scored beside the end.  cases: label -> overrides of train/fit.py; the label of the only one is empty.
    only: label -> names of the rows that a case is of, not named: all.  untold: label -> what its rows do not know then.
    tuned: rows take the settings that were chosen for them.  modes: other boards on which goals are reached.  orders: splits on
    which the order of weights is asked.  runs: the study whose runs these are.
    """

    name: str
    title: str
    minutes: float | None
    updates: int | str | None
    rounds: int
    curve: list[int]
    episodes: int
    states: int
    horizons: list[int]
    goals: bool
    tuned: bool
    rows: list[str] | None
    modes: list[str]
    orders: list[str]
    envs: list[str]
    overrides: list[str]
    cases: dict[str, list[str]]
    only: dict[str, list[str]]
    untold: dict[str, list[str]]
    runs: str

    def rows_of(self, only: list[str] | str | None) -> list[Row]:
        """Those of its rows that are named, none named: all. Raises Problem on a name that is none of its rows."""
        own = rows_of(self.rows)
        asked = {row.name for row in rows_of(only)}
        if other := asked - {row.name for row in own} if only is not None else None:
            raise Problem(f"table {self.name} has no row '{min(other)}': {nearest(min(other), [row.name for row in own])}")
        return [row for row in own if row.name in asked]

    def cases_of(self, row: Row) -> list[str]:
        """Labels of the cases that a row is trained in."""
        return [case for case in self.cases if row.name in self.only.get(case, [row.name])]

    def told(self, case: str, row: Row) -> tuple[str, ...]:
        """What a row knows in a case beside frames and numbered actions, words of `privileges`."""
        return tuple(word for word in row.told if word not in self.untold.get(case, []))

    def settings(self, ledger: Path, env: str, row: Row) -> list[str] | None:
        """Overrides of train/fit.py that were chosen for a row on an env, none yet: None."""
        if not self.tuned:
            return []
        chosen = choice(ledger, env, row)
        return None if chosen is None else chosen["overrides"]

    def effort(self, row: Row) -> list[str]:
        """How long a row is trained, as overrides of train/fit.py; by epochs: nothing, the study's own say it; of one that
        trains missing seeds: all but the number of updates, which the ledger tells."""
        if not self.in_rounds:
            return []
        if self.trains_missing_seeds:
            return ["trainer=updates", *row.rounds(self.rounds)]
        if self.updates:
            return ["trainer=updates", f"trainer.updates={self.updates}", *row.rounds(self.rounds)]
        return ["trainer=minutes", f"trainer.cpu_minutes={self.minutes}", *row.rounds(self.rounds)]

    def rounds_without_score(self, entry: dict) -> list[int]:
        """Those of the curve that an entry of the ledger has no score of on `final`."""
        return [n for n in self.curve if not any(one["round"] == n and FINAL in one["scores"] for one in entry["rounds"])]

    def rounds_without_goals(self, entry: dict) -> list[int]:
        """Those of the curve whose weights were not asked for goals so far away as the last horizon."""
        key = SHOWN["goals"].format(self.horizons[-1])
        reached = {one["round"] for one in entry["rounds"] if key in one.get("plan", {}).get("metrics", {})}
        return [n for n in self.curve if self.goals and n not in reached]

    @property
    def in_rounds(self) -> bool:
        """Whether effort is counted in minutes or updates, of which rounds are shares."""
        return bool(self.minutes or self.updates)

    @property
    def trains_missing_seeds(self) -> bool:
        """Whether it trains seeds that the main table lacks, counted in updates."""
        return self.updates == FEWEST_OF_MAIN

    @property
    def accelerator(self) -> str:
        """What its runs are trained on: minutes are those of a processor."""
        return "cpu" if self.minutes and not self.updates else "auto"

    @property
    def expected_minutes(self) -> float:
        """How long a training takes on one thread, about; a GPU is faster."""
        if self.trains_missing_seeds:
            return SLOWER * studies()[MAIN].minutes
        return self.updates * UPDATE_S / 60 if self.updates else self.minutes or PAPER_MINUTES

    @property
    def asks_kept_tasks(self) -> bool:
        """Whether its runs are also asked the goals that nobody saw before."""
        return self.goals and self.name == MAIN

    @property
    def has_main_runs(self) -> bool:
        """Whether its runs are those of the main table, which the others vary, and which are asked for more."""
        return self.runs == MAIN


def studies() -> dict[str, Study]:
    """All of causes.yaml."""
    told = causes()["studies"]
    return {name: Study(name, **{**told[MAIN], "runs": name, **own}) for name, own in told.items()}
