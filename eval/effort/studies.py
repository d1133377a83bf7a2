"""Tables of equal effort by their names: the main one, and those that vary minutes, episodes, objects or steps."""

from dataclasses import dataclass
from pathlib import Path

from envs.problem import Problem, nearest
from eval.effort.settings import MAIN, Row, causes, choice, rows_of


@dataclass(frozen=True)
class Study:
    """minutes: of processor time, none: by epochs.  curve: rounds that are scored beside the end.  cases: label -> overrides of
    train/fit.py; the label of the only one is empty.  tuned: rows take the settings that were chosen for them.  modes: other boards
    on which goals are reached.  orders: splits on which the order of weights is asked.  runs: the study whose runs these are.
    """

    name: str
    title: str
    minutes: float | None
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
    runs: str

    def rows_of(self, only: list[str] | str | None) -> list[Row]:
        """Those of its rows that are named, none named: all. Raises Problem on a name that is none of its rows."""
        own = rows_of(self.rows)
        asked = {row.name for row in rows_of(only)}
        if other := asked - {row.name for row in own} if only is not None else None:
            raise Problem(f"table {self.name} has no row '{min(other)}': {nearest(min(other), [row.name for row in own])}")
        return [row for row in own if row.name in asked]

    def settings(self, ledger: Path, env: str, row: Row) -> list[str] | None:
        """Overrides of train/fit.py that were chosen for a row on an env, none yet: None."""
        if not self.tuned:
            return []
        chosen = choice(ledger, env, row)
        return None if chosen is None else chosen["overrides"]

    @property
    def main(self) -> bool:
        """Whether it is the one that the others vary, whose runs are asked for more."""
        return self.runs == MAIN


def studies() -> dict[str, Study]:
    """All of causes.yaml."""
    told = causes()["studies"]
    return {name: Study(name, **{**told[MAIN], "runs": name, **own}) for name, own in told.items()}
