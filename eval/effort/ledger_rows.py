"""Rows of a study as the ledger has them: all that are whole, what is left out and why,
and which of them stand beside one another."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from envs.problem import Problem
from eval.effort.filled import Filled
from eval.effort.score_names import WEIGHTS
from eval.effort.settings import Row, causes
from eval.effort.studies import Study


def whole_of(study: Study, rows: list[Row], env: str, cfg: dict) -> tuple[list[Filled], dict[str, Problem]]:
    """Rows of a study that are made for an env, in all of its cases, and by their names what is left out: rows that are
    damaged, or were chosen by another protocol, and runs under a setting that is no longer the chosen one."""
    found, wrong = [], {}
    for row in (row for row in rows if row.fits(env)):
        try:
            of_row = [Filled.of(study, case, row, env, cfg) for case in study.cases_of(row)]
            for one in of_row:
                one.check_answers()
            found += of_row
        except Problem as problem:
            wrong[row.name] = problem
            continue
        shown = {entry["run"] for one in found if one.row == row for entry in one.entries.values()}
        if others := [run for run in _runs_of(study, row, env, cfg) if run not in shown]:
            wrong[row.name] = Problem(f"its {others[0]}{f' and {len(others) - 1} more' if others[1:] else ''} ran under "
                                      f"another setting than the one that is chosen today; "
                                      f"remove such entries from the ledger, or choose again")  # fmt: skip
    return found, wrong


def all_of(study: Study, env: str, ledger: Path) -> tuple[list[Filled], dict[str, Problem]]:
    """All rows and seeds of a study that the ledger has, and what is left out."""
    return whole_of(study, study.rows_of(None), env, {"ledger": str(ledger), "seeds": seeds_of(study, env, ledger)})


def tell_left_out(env: str, wrong: dict[str, Problem]) -> None:
    """On the terminal, what tables and pages do not show, and why."""
    for name, problem in wrong.items():
        print(f"{env}, {name}: left out; {problem}")


def _runs_of(study: Study, row: Row, env: str, cfg: dict) -> list[str]:
    """Those in the ledger, under whatever setting, of the seeds that are asked for."""
    return sorted(run for run, seed in _entered(study, row, env, Path(cfg["ledger"])).items() if seed < cfg["seeds"])


def _entered(study: Study, row: Row, env: str, ledger: Path) -> dict[str, int]:
    """Run -> its seed, of a row in the ledger, under whatever setting."""
    name = re.compile(rf"(?P<run>{re.escape(f'{row.slug}-{env}-{study.runs}')}-[0-9a-f]{{6}}-s(?P<seed>\d+))-[0-9a-f]+\.json")
    found = (name.fullmatch(path.name) for path in (ledger / env).glob("*.json"))
    return {one["run"]: int(one["seed"]) for one in found if one}


def seeds_of(study: Study, env: str, ledger: Path) -> int:
    """How many seeds, from 0, the ledger has of a study, of the row that has most."""
    return max((1 + seed for row in study.rows_of(None) for seed in _entered(study, row, env, ledger).values()), default=0)


def in_common(filled: list[Filled], name: str, horizon: int) -> list[Filled]:
    """The rows that have a score. Where every seed is a drawn world, each row keeps only the worlds in which all of these rows
    have it, since worlds differ in difficulty; no rows where they share no world."""
    ran = [one for one in filled if one.scores(name, horizon)]
    if not ran or not ran[0].own_worlds:
        return ran
    common = sorted(set.intersection(*(set(one.scores(name, horizon)) for one in ran)))
    return [replace(one, entries={seed: one.entries[seed] for seed in common}) for one in ran] if common else []


def in_order(filled: Sequence[Filled]) -> list[Filled]:
    """Best first by what if at the last horizon; of a study with cases as they are."""
    study = filled[0].study

    def known(one: Filled) -> float:
        found = one.estimate("what if", study.horizons[-1])
        return found.mean if found else -1.0

    return sorted(filled, key=known, reverse=True) if len(study.cases) == 1 else list(filled)


def asked_by_pushes(filled: Sequence[Filled]) -> bool:
    """Whether any row told which block is heavier, as those of physics alone can."""
    return any(one.at_once(WEIGHTS) for one in filled)


def chosen_there(filled: Sequence[Filled]) -> bool:
    """Whether settings were chosen on the very task that is scored, so that what they were worth then compares with `final`."""
    return filled[0].study.has_main_runs and filled[0].env not in causes()["tuned_on"]
