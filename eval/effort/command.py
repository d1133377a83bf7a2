"""The command of a table of equal effort: draws and chooses settings, trains what was chosen,
and prints what the ledger holds.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from envs.problem import Problem
from envs.whole_files import check_writable, write_whole
from eval.effort.captions import one_line
from eval.effort.cells import Table
from eval.effort.figures import chart, rows_figure
from eval.effort.filled import Filled
from eval.effort.jobs import (
    ON,
    check_precision,
    entered_row,
    finalist_job,
    finalist_name,
    precision_of,
    seeds_to_train,
    table_job,
    tune_job,
    tune_ledger,
    tune_name,
    tuned_precision,
)
from eval.effort.ledger_rows import seeds_of, tell_left_out, whole_of
from eval.effort.scaling import scaling_figure
from eval.effort.settings import MAIN, Row, causes, choose, envs_of, finalists
from eval.effort.studies import MISSING_SEEDS, Study, studies
from eval.effort.table import CLAIMED, long_csv, tables, waiting
from eval.effort.worlds import write_worlds
from eval.figures.charts import replace_chart
from eval.paper.sweep import Job
from eval.paper.table_text import bullets, markdown
from eval.runs.final import SELECT, check_overrides
from eval.runs.identity import family
from eval.runs.ledger import entry_of
from eval.terminal import print_table

RunMissing = Callable[[list[Job], float, dict, bool], dict[str, str]]
Wrong = dict[tuple[Row, str] | str, Problem]  # of a row on an env, or of an env


def _scored(ledger: Path, env: str, names: dict[int, str]) -> dict[int, dict]:
    """Draw -> metrics on `select`, none of a training that diverged; those that are not entered are left out."""
    entered = {draw: entry_of(tune_ledger(ledger), env, name) for draw, name in names.items()}
    scored = {draw: one["scores"][SELECT]["metrics"] for draw, one in entered.items() if one and SELECT in one["scores"]}
    return scored | {draw: {} for draw, one in entered.items() if one and one.get("diverged")}


def _tune(rows: list[Row], envs: list[str], cfg: dict, run_missing: RunMissing) -> dict[str, str]:
    """Draw and train settings, the best for longer, and choose one for every row that has all.

    -> name of each failed run: why.  What is wrong with one row is told, and does not stand in the way of the others.
    Raises Problem where no row is left.
    """
    draws, ledger, failed, wrong = range(causes()["tune"]["draws"]), Path(cfg["ledger"]), {}, {}
    asked = [(row, env) for env in envs for row in rows if row.fits(env)]

    def train(jobs: dict[tuple[Row, str], list[Job]], minutes: float) -> None:
        if cfg["run_missing"]:
            ready = []
            for of, of_row in jobs.items():
                with _told_apart(wrong, of):
                    check_precision(tuned_precision(*of, ledger), ON, of_row)
                    ready += of_row
            failed.update(run_missing(ready, minutes, cfg, False) if ready else {})

    train({(row, env): [tune_job(row, env, draw, cfg) for draw in draws] for row, env in asked}, causes()["tune"]["minutes"])
    scored, best = {}, {}
    for row, env in (of for of in asked if of not in wrong):
        with _told_apart(wrong, (row, env)):
            scored[row, env] = _scored(ledger, env, {draw: tune_name(row, env, draw) for draw in draws})
            if len(scored[row, env]) == len(draws):
                best[row, env] = finalists(row, env, scored[row, env])
    train(
        {(row, env): [finalist_job(row, env, draw, cfg) for draw in of] for (row, env), of in best.items()},
        studies()[MAIN].minutes,
    )
    for row, env in (of for of in asked if of not in wrong):
        with _told_apart(wrong, (row, env)):
            if (row, env) not in best:
                print(
                    f"{env}, {row.name}: {len(scored[row, env])} of {len(draws)} drawn settings are there, none is chosen yet"
                )
                continue
            ended = _scored(ledger, env, {draw: finalist_name(row, env, draw) for draw in best[row, env]})
            if len(ended) < len(best[row, env]):
                print(f"{env}, {row.name}: {len(ended)} of {len(best[row, env])} finalists are there, none is chosen yet")
            else:
                choose(ledger, env, row, scored[row, env], ended)
    _tell(wrong, len(asked), "not chosen")
    return {name: why for name, why in failed.items() if not _diverged(name, envs, ledger)}


@contextmanager
def _told_apart(wrong: Wrong, of: tuple[Row, str] | str) -> Iterator[None]:
    """What is wrong with one row of an env, or with one env, is kept under it."""
    try:
        yield
    except Problem as problem:
        wrong[of] = problem


def _tell(wrong: Wrong, count: int, what: str) -> None:
    """What is wrong with some of `count` rows or envs, on the terminal. Raises the first Problem where it is all of them."""
    if wrong and len(wrong) == count:
        raise next(iter(wrong.values()))
    for of, problem in wrong.items():
        print(f"{of if isinstance(of, str) else f'{of[1]}, {of[0].name}'}: {what}; {problem}")


def _diverged(run: str, envs: list[str], ledger: Path) -> bool:
    """Whether a run failed by its setting, which is a finding; not where its entry is damaged, which is why it failed."""
    try:
        return any((entry_of(place, env, run) or {}).get("diverged") for env in envs for place in (ledger, tune_ledger(ledger)))
    except Problem:
        return False


def _left(study: Study, rows: list[Row], envs: list[str], cfg: dict) -> list[Job]:
    """What a table trains and scores, of rows for which a setting was chosen, and that `final` saw under no other.

    Raises Problem where no row is left.
    """
    ledger = Path(cfg["ledger"])
    asked = [(row, env) for env in envs for row in rows if row.fits(env)]
    ready, wrong = [], {}
    for row, env in asked:
        source = causes()["tuned_on"].get(env, env)
        with _told_apart(wrong, (row, env)):
            setting = study.settings(ledger, env, row)
            if setting is None:
                raise Problem(f"no setting was chosen for row '{row.name}' on {source}; run first: python eval/tables.py "
                              f"table={MAIN} tune=true envs=[{source}]")  # fmt: skip
            of_row = study.cases_of(row)
            for case in of_row:
                overrides = [*row.fit, *setting, *study.effort(row), *study.overrides, *study.cases[case]]
                check_overrides(ledger, env, entered_row(study, case, row), overrides)
            lacking = seeds_to_train(study, row, env, ledger, cfg["seeds"])
            jobs = {case: {seed: table_job(study, case, row, env, seed, cfg) for seed in lacking} for case in of_row}
            anywhere = f"python eval/tables.py table={MISSING_SEEDS} envs=[{env}] seeds={cfg['seeds']}"
            for case, of_case in jobs.items():
                precision = precision_of(study, case, row, env, ledger)
                check_precision(precision, study.accelerator, list(of_case.values()), anywhere * (study.name == MAIN))
            ready.append(jobs)
    _tell(wrong, len(asked), "not trained")
    return [of_case[seed] for seed in range(cfg["seeds"]) for jobs in ready for of_case in jobs.values() if seed in of_case]


def run_study(name: str, cfg: dict, run_missing: RunMissing) -> dict[str, str]:
    """Tune, or train and print.

    run_missing: runs jobs of so many minutes each, on a GPU or not.  -> name of each failed run: why.
    """
    study = studies()[name]
    cfg = cfg | {"envs": study.envs if cfg["envs"] is None else cfg["envs"]}
    rows, envs = study.rows_of(cfg["rows"]), envs_of(cfg)
    for env in envs:
        if not any(row.fits(env) for row in rows):
            raise Problem(f"no row asked for is made for {env}; leave out rows=, or set envs=")
        if study.modes and family(env) != "physics":
            raise Problem(f"table {name} changes what blocks look like, and {env} has none; set envs=")
    writes = cfg["run_missing"] or cfg["tune"]
    for key in ("out", *["ledger"] * writes, *["runs_dir"] * cfg["run_missing"]):
        check_writable(Path(cfg[key]), key)
    if cfg["tune"]:
        failed = _tune(rows, list(dict.fromkeys(causes()["tuned_on"].get(env, env) for env in envs)), cfg, run_missing)
    else:
        on_gpu = study.accelerator != ON
        failed = run_missing(_left(study, rows, envs, cfg), study.expected_minutes, cfg, on_gpu) if cfg["run_missing"] else {}
        failed = {name: why for name, why in failed.items() if not _diverged(name, envs, Path(cfg["ledger"]))}
    wrong = {}
    for env in envs:
        with _told_apart(wrong, env):
            _show(study, rows, env, cfg)
    _tell(wrong, len(envs), "not shown")
    if study.name == MAIN and (path := write_worlds(Path(cfg["ledger"]), Path(cfg["out"]) / study.name, shown=envs)):
        print(f"all rows in every world: {path}")
    return failed


def _show(study: Study, asked: list[Row], env: str, cfg: dict) -> None:
    """The rows and seeds asked for on the terminal; all that the ledger has as files and figure,
    so that none is lost by asking for others.

    What is wrong with one is told, and does not stand in the way of the others. Raises Problem where no row asked for is left.
    """
    filled, wrong = whole_of(study, asked, env, cfg)
    if wrong and not filled:
        raise next(iter(wrong.values()))
    rows, made = study.rows_of(None), tables(filled)
    for title, ((header, body), told) in made.items():
        if title == CLAIMED and asked != rows:  # sentences on rows that were not asked for
            continue
        print_table(header, body, one_line(told), title=f"{study.name}, {env}: {title}", width=160)
    print(waiting(filled))
    whole = cfg | {"seeds": max(cfg["seeds"], seeds_of(study, env, Path(cfg["ledger"])))}
    if asked != rows or whole != cfg:
        filled, wrong_too = whole_of(study, rows, env, whole)
        wrong, made = wrong | wrong_too, tables(filled) if filled else {}
    tell_left_out(env, wrong)
    if filled:
        print(f"all rows and seeds of the ledger: {_write(filled, made, Path(cfg['out']) / study.name)}")


def _write(filled: list[Filled], made: dict[str, tuple[Table, list[str]]], out: Path) -> Path:
    """Whole file by whole file, rows in the order of causes.yaml.

    made: their tables.  -> the table, which others lie beside.
    """
    study, env = filled[0].study, filled[0].env
    out.mkdir(parents=True, exist_ok=True)
    parts = [f"### {env}: {title}\n\n{markdown(header, body, bullets(told))}" for title, ((header, body), told) in made.items()]
    write_whole(out / f"{env}.md", "\n".join([*parts, waiting(filled)]))
    write_whole(out / f"{env}.csv", long_csv(filled))
    title = f"{env}, {study.title}"
    drawings = {} if study.modes else {f"{env}-scaling": scaling_figure(filled, title)}
    # cases of one row are no rows of their own
    drawings |= {env: chart(filled, title)} if not study.modes and len(study.cases) == 1 else {}
    if study.name == MAIN:
        drawings |= {f"{env}-rows": rows_figure(filled, title), f"{env}-goals": chart(filled, title, "what if", "goals")}
    for name, drawing in drawings.items():
        replace_chart(drawing, out / name)
    return out / f"{env}.md"
