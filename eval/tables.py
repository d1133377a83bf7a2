"""The tables and figures of the paper: trains what is missing, then prints ours beside the published number.

    python eval/tables.py table=4                       two minutes of training for each row, one seed
    python eval/tables.py table=[3,4] budget=5min seeds=3
    python eval/tables.py figure=23 run_missing=false   only what is there already
    python eval/tables.py table=all
    python eval/tables.py -m table=4 seeds=3 worker='range(4)' hydra/launcher=submitit_slurm

Says what it will run and for how long before it starts; killed, the same command goes on. Writes <out>/table4.md, .csv, .tex.
Copies of a command share its runs, on machines that see the same runs_dir: each worker begins at another place of the list,
leaves a run that somebody is at, waits for the last ones and writes the tables, whole file by whole file. What fails, every
copy tries once. On one machine give the copies `jobs` that add up to its cores.
"""

import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import csv
import io
import json
import os
from dataclasses import dataclass
from statistics import mean, stdev

import torch
from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table as RichTable

from envs.problem import Problem, nearest
from eval.page import write_whole
from eval.sweep import Job, missing, run_jobs

HORIZONS = (1, 5, 10)
SCORE_S, PLAN_S = 75, 90  # seconds for scores and for plans of one run on one thread, to tell beforehand


@dataclass(frozen=True)
class Panel:
    """One table: rows of runs on one env."""

    key: str  # table4, figure23-1
    title: str
    env: str
    metrics: str  # ranking | success
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """What one row shows of one metric at one horizon: the values of the seeds that are there, of so many asked for."""

    values: dict[int, float]
    asked: int = 1

    def __str__(self) -> str:
        values = list(self.values.values())
        if not values:
            return "-"
        short = f" ({len(values)} of {self.asked})" if len(values) < self.asked else ""
        return (f"{mean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}") + short


def book() -> dict:
    """paper_tables.yaml."""
    return OmegaConf.to_container(OmegaConf.load(Path(__file__).parent / "paper_tables.yaml"))


def panels(book: dict, table, figure, only: list[str] | str | None) -> list[Panel]:
    """The panels asked for; unknown tables, figures and rows are refused."""
    found = []

    def add(key: str, spec: dict) -> None:
        rows = tuple(row for group in spec["rows"] for row in book["groups"][group] if only is None or row in only)
        if rows:
            found.append(Panel(key, spec["title"], spec["env"], spec["metrics"], rows))

    only = [only] if isinstance(only, str) else only
    for row in only or []:
        if row not in book["rows"]:
            raise Problem(f"there is no row '{row}': {nearest(row, book['rows'])}")
    for kind, asked in (("table", table), ("figure", figure)):
        known = book[f"{kind}s"]
        numbers = known if asked == "all" else [] if asked is None else asked if isinstance(asked, list) else [asked]
        for number in numbers:
            if number not in known:
                raise Problem(f"there is no {kind} '{number}'; known: {', '.join(map(str, known))}, all")
            spec = known[number]
            for part, one in enumerate(spec if isinstance(spec, list) else [spec], 1):
                name = f"{kind}{number}" + (f"-{part}" if isinstance(spec, list) and len(spec) > 1 else "")
                add(name, one if isinstance(one, dict) else book["tables"][one])
    if not found:
        if only and (table or figure):
            raise Problem(f"no table asked for has the rows {', '.join(only)}; leave out rows=")
        raise Problem("nothing asked for; name a table or a figure: python eval/tables.py table=4")
    return found


def run_name(row: str, env: str, budget: str, seed: int) -> str:
    """The run folder of one row: letters, digits, dashes."""
    words = "".join(c if c.isalnum() else " " for c in row.lower()).split()
    return "-".join([*words, env, budget, f"s{seed}"])


def read(folder: Path) -> dict | None:
    """results.json of a finished run, or none."""
    try:
        return json.loads((folder / "results.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def jobs_of(asked: list[Panel], book: dict, cfg) -> list[Job]:
    """What fills the panels: for every row and seed a training, and plans where one of them asks for success."""
    wanted: dict[str, tuple] = {}  # run name -> row, env, seed, whether plans are needed
    for panel in asked:
        for row in panel.rows:
            for seed in range(cfg["seeds"]):
                name = run_name(row, panel.env, cfg["budget"], seed)
                plans = panel.metrics == "success" or (name in wanted and wanted[name][3])
                wanted[name] = row, panel.env, seed, plans
    return [_job(name, *what, book, cfg) for name, what in wanted.items()]


def _job(name: str, row: str, env: str, seed: int, plans: bool, book: dict, cfg) -> Job:
    folder = Path(cfg["runs_dir"]) / name
    fit = ("train/fit.py", *book["rows"][row], *book["budgets"][cfg["budget"]]["rows"][row], f"env={env}", f"seed={seed}",
           f"name={name}", "logger=csv", f"runs_dir={cfg['runs_dir']}", f"data_dir={cfg['data_dir']}")  # fmt: skip
    planned = {key.format(h): key.split("/")[2] for key in book["metrics"]["success"].values() for h in HORIZONS} if plans else {}

    def left() -> list[tuple[str, ...]]:
        results = read(folder)
        if results is None:
            return [fit, _plan(folder, dict.fromkeys(planned.values()))] if plans else [fit]
        lacking = dict.fromkeys(planner for key, planner in planned.items() if key not in results["metrics"])
        return [_plan(folder, lacking)] if lacking else []

    return Job(name, left)


def _plan(folder: Path, planners) -> tuple[str, ...]:
    return "eval/plan.py", f"run={folder}", f"planners=[{','.join(planners)}]"


def turned(todo: list[Job], worker: int) -> list[Job]:
    """The same jobs, begun where this copy of the command begins: any number of copies lie well apart (golden ratio)."""
    place = int(len(todo) * (worker * 0.618034 % 1))
    return todo[place:] + todo[:place]


def expected_minutes(todo: list[Job], minutes: float, workers: int) -> float:
    """Of all jobs side by side."""
    seconds = [60 * minutes + SCORE_S if step[0].startswith("train") else PLAN_S for job in todo for step in job.left()]
    return sum(seconds) / 60 / min(workers, max(1, len(todo)))


def fill(panel: Panel, book: dict, cfg) -> dict[tuple[str, str, int], Cell]:
    """(row, metric, horizon) -> what the finished runs say. A bound is the mean over all of them, its seed is -1."""
    found = {}  # row -> seed -> metrics
    for row in panel.rows:
        runs = {seed: read(Path(cfg["runs_dir"]) / run_name(row, panel.env, cfg["budget"], seed)) for seed in range(cfg["seeds"])}
        found[row] = {seed: results["metrics"] for seed, results in runs.items() if results}
    cells = {}
    for h in HORIZONS:
        for metric, key in book["metrics"][panel.metrics].items():
            for row, of_row in found.items():
                values = {seed: m[key.format(h)] for seed, m in of_row.items() if key.format(h) in m}
                cells[row, metric, h] = Cell(values, cfg["seeds"])
            for bound, pattern in book["bounds"][panel.metrics].items():
                name = pattern.format(h) if "h{}" in pattern else pattern.format(key.format(h).removeprefix("test/"))
                values = [m[name] for of_row in found.values() for m in of_row.values() if name in m]
                cells[bound, metric, h] = Cell({-1: mean(values)} if values else {})
    return cells


def lines(panel: Panel, book: dict, cells: dict) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a panel, published numbers beside ours."""
    metrics = list(book["metrics"][panel.metrics])
    header = ["", *(f"{metric} {h}" for metric in metrics for h in HORIZONS), "published"]
    told = book["published"].get(panel.key, {})
    rows = []
    for row in [*panel.rows, *book["bounds"][panel.metrics]]:
        shown = [str(cells[row, metric, h]) for metric in metrics for h in HORIZONS]
        ours = row.startswith("ours") or row not in panel.rows
        published = "; ".join(f"{metric} {' / '.join(map(str, values))}" for metric, values in told.get(row, {}).items())
        if row in panel.rows or any(text != "-" for text in shown):
            rows.append([row, *shown, "" if ours else published or "not published"])
    return header, rows


def caption(panel: Panel, book: dict, cfg) -> str:
    """The protocol in one line."""
    budget = book["budgets"][cfg["budget"]]
    seeds = ", ".join(map(str, range(cfg["seeds"])))
    what = {
        "ranking": "test split, pool 10000, rule grouped, ties against us",
        "success": "1000 fresh episodes, goals differ from the start, exactly T actions, siamese reward",
    }[panel.metrics]
    return f"{panel.title}. {panel.env}; {budget['told']} (budget {cfg['budget']}), seeds {seeds}; {what}; percent"


def markdown(panel: Panel, header, rows, text: str) -> str:
    body = "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])
    return f"### {panel.key}\n\n{body}\n\n{text}\n"


def latex(header, rows, text: str) -> str:
    def cell(content: str) -> str:
        return content.replace("±", r"$\pm$").replace("%", r"\%").replace("_", r"\_").replace("&", r"\&")

    body = " \\\\\n".join(" & ".join(map(cell, row)) for row in rows)
    top = " & ".join(map(cell, header))
    return (
        f"\\begin{{table}}\n\\caption{{{cell(text)}}}\n\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}\n\\hline\n{top} \\\\\n\\hline\n"
        f"{body} \\\\\n\\hline\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def long_csv(panel: Panel, cells: dict) -> str:
    """One line for each number: row, metric, horizon, seed, value."""
    text = io.StringIO()
    out = csv.writer(text)
    out.writerow(["table", "env", "row", "metric", "steps", "seed", "value"])
    for (row, metric, h), cell in cells.items():
        for seed, value in cell.values.items():
            out.writerow([panel.key, panel.env, row, metric, h, seed if row in panel.rows else "", value])
    return text.getvalue()


def run(cfg) -> None:
    """The command."""
    pages = book()
    cfg = OmegaConf.to_container(cfg)
    if cfg["budget"] not in pages["budgets"]:
        raise Problem(f"there is no budget '{cfg['budget']}': {nearest(str(cfg['budget']), pages['budgets'])}")
    asked = panels(pages, cfg["table"], cfg["figure"], cfg["rows"])
    todo = missing(jobs_of(asked, pages, cfg))
    failed = {}
    if todo and cfg["run_missing"]:
        alone = cfg["budget"] == "paper" and torch.cuda.is_available()  # the others train on the CPU
        workers = cfg["jobs"] or (1 if alone else os.cpu_count() or 1)
        minutes = expected_minutes(todo, pages["budgets"][cfg["budget"]]["minutes"], workers)
        print(f"{len(todo)} runs are missing; {workers} at a time, about {minutes:.0f} minutes in all", flush=True)
        todo = turned(todo, cfg["worker"])
        failed = run_jobs(todo, workers, Path(cfg["runs_dir"]) / "logs", lambda text: print(text, flush=True))
    out = Path(cfg["out"])
    out.mkdir(parents=True, exist_ok=True)
    for panel in asked:
        cells = fill(panel, pages, cfg)
        header, rows = lines(panel, pages, cells)
        text = caption(panel, pages, cfg)
        shown = RichTable(*header, title=panel.key, caption=text)
        for row in rows:
            shown.add_row(*row)
        Console(width=None if sys.stdout.isatty() else 160).print(shown)
        write_whole(out / f"{panel.key}.md", markdown(panel, header, rows, text))
        write_whole(out / f"{panel.key}.tex", latex(header, rows, text))
        write_whole(out / f"{panel.key}.csv", long_csv(panel, cells))
    if failed:
        raise Problem(f"{len(failed)} of {len(todo)} runs failed, first {next(iter(failed))}: {next(iter(failed.values()))}; "
                      f"their logs lie in {cfg['runs_dir']}/logs, the same command tries them again")  # fmt: skip


if __name__ == "__main__":
    from configs.command import main

    main("tables", run, __doc__)
