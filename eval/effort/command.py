"""The command of a table of equal effort: draws and chooses settings, trains what was chosen, and prints what the ledger holds."""

from collections.abc import Callable
from pathlib import Path

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.effort.jobs import table_job, tune_job, tune_ledger, tune_name
from eval.effort.settings import TABLE, Row, causes, choice, choose, envs_of, rows_of
from eval.effort.table import Filled, caption, chart, curve_lines, lines, long_csv, setting_lines
from eval.figures.charts import write_chart
from eval.paper.sweep import Job
from eval.paper.table_text import markdown
from eval.runs.ledger import SELECT, entry_of
from eval.terminal import print_table

RunMissing = Callable[[list[Job], float, dict], dict[str, str]]


def _tune(rows: list[Row], envs: list[str], cfg: dict, run_missing: RunMissing) -> dict[str, str]:
    """Draw and train settings, choose one for every row that has all of its draws.  -> name of each failed run: why."""
    draws, ledger = range(causes()["tune"]["draws"]), Path(cfg["ledger"])
    jobs = [tune_job(row, env, draw, cfg) for env in envs for row in rows for draw in draws]
    failed = run_missing(jobs, causes()["tune"]["minutes"], cfg) if cfg["run_missing"] else {}
    for env in envs:
        for row in rows:
            entered = {draw: entry_of(tune_ledger(ledger), env, tune_name(row, env, draw)) for draw in draws}
            scored = {draw: one["scores"].get(SELECT, {}).get("metrics", {}) for draw, one in entered.items() if one}
            if len(scored) == len(draws):
                choose(ledger, env, row, scored)
            else:
                print(f"{env}, {row.name}: {len(scored)} of {len(draws)} drawn settings are there, none is chosen yet")
    return {name: why for name, why in failed.items() if not _diverged(name, envs, ledger)}


def _diverged(run: str, envs: list[str], ledger: Path) -> bool:
    """Whether a run failed by its setting, which is a finding."""
    return any((entry_of(place, env, run) or {}).get("diverged") for env in envs for place in (ledger, tune_ledger(ledger)))


def run_causes(cfg: dict, run_missing: RunMissing) -> dict[str, str]:
    """Tune, or train and print.  run_missing: runs jobs of so many minutes each.  -> name of each failed run: why."""
    rows, envs = rows_of(cfg["rows"]), envs_of(cfg)
    failed = _tune(rows, envs, cfg, run_missing) if cfg["tune"] else {}
    if cfg["run_missing"] and not cfg["tune"]:
        ledger = Path(cfg["ledger"])
        ready = [(row, env) for env in envs for row in rows if choice(ledger, env, row) is not None]
        for row, env in ((row, env) for env in envs for row in rows if (row, env) not in ready):
            remedy = f"run first: python eval/tables.py table={TABLE} tune=true envs=[{env}]"
            if not ready:
                raise Problem(f"no setting was chosen for row '{row.name}' on {env}; {remedy}")
            print(f"{env}, {row.name}: left out, no setting was chosen; {remedy}")
        jobs = [table_job(row, env, seed, cfg) for seed in range(cfg["seeds"]) for row, env in ready]
        failed = run_missing(jobs, causes()["table"]["minutes"], cfg)
        failed = {name: why for name, why in failed.items() if not _diverged(name, envs, ledger)}
    for env in envs:
        _show([Filled.of(row, env, cfg) for row in rows], env, cfg)
    return failed


def _show(filled: list[Filled], env: str, cfg: dict) -> None:
    """The tables of an env on the terminal and as files, and its figure."""
    out, parts = Path(cfg["out"]) / TABLE, []
    out.mkdir(parents=True, exist_ok=True)
    tables = {"scores": lines, "what if at ten steps after (minutes)": curve_lines, "chosen settings": setting_lines}
    for title, made in tables.items():
        header, body = made(filled)
        text = caption(env, cfg) if title == "scores" else ""
        print_table(header, body, text, title=f"{TABLE}, {env}: {title}", width=160)
        parts.append(f"### {env}: {title}\n\n{markdown(header, body, text)}")
    write_whole(out / f"{env}.md", "\n".join(parts))
    write_whole(out / f"{env}.csv", long_csv(filled))
    if (drawing := chart(filled, f"{env}, {causes()['table']['minutes']} minutes")) is not None:
        write_chart(drawing, out / env)
