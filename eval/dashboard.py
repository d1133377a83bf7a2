"""The finished runs on Weights & Biases: each with its scores and losses, grouped by table or env, and a workspace over them.

    python eval/dashboard.py                      logged in: to W&B; else offline runs in runs/wandb and runs/dashboard.json
    WANDB_MODE=offline python eval/dashboard.py   nothing leaves this machine, logged in or not
    python eval/dashboard.py log_runs=false       the workspace alone
    python eval/dashboard.py ledger=results/ledger  what is entered in a ledger, by its scores on final where it has some

Everything is read from results.json and metrics.csv or from the ledger, so runs that were trained without W&B are there too.
They go to a project of their own: what training mirrors live stays as it is. A run keeps its id: logged again, it stays one
run.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("dashboard", "eval.dashboard:run", __doc__))  # what stands below is imported for the work alone

import hashlib
import json
import os
from typing import NamedTuple

import wandb

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.paper.table_specs import declared_specs, paper_tables, run_name
from eval.probes import every_row
from eval.runs import load_config, read_results, run_folders
from eval.runs.final import FINAL, row_of
from eval.runs.ledger import entries, results_in
from eval.runs.metrics_csv import losses


def env_of(results: dict) -> str:
    """Its section: a workspace cannot filter, so every metric is logged once more under the name of its env."""
    return results["env"] + ("_state" if results["protocol"].get("observation") == "state" else "")


def tables_of(seeds: set[int]) -> dict[str, list[str]]:
    """Run name -> the tables that show it, ours and the paper's, and figures of its own."""
    pages, found = paper_tables(), {}
    for panel in declared_specs(pages):
        for name in (run_name(row, panel.env, b, s) for row in panel.rows for b in pages["budgets"] for s in seeds):
            found.setdefault(name, {})[panel.page] = None
    return {name: list(pages) for name, pages in found.items()}


def panels_of(results: list[dict]) -> dict[str, tuple[str, tuple]]:
    """Panels of some runs, of every score that pages compare: title -> (metric of results.json, ends of its axis)."""
    present = {key for one in results for key in one["metrics"]}
    horizons = sorted({h for one in results for h in one["protocol"]["distinct"]}, key=lambda h: int(h[1:]))
    found = {}
    for row in every_row():
        if row.kind != "score" or not row.compared(horizons):
            continue
        ends = (0, 100) if row.percent else (None, None)
        if row.key.endswith("/"):
            found |= {f"{row.name}, {h[1:]} step{'s' * (h != 'h1')}": (row.key + h, ends) for h in horizons}
        else:
            found[row.name] = row.key, ends
    return {title: panel for title, panel in found.items() if panel[0] in present}


class Finished(NamedTuple):
    """A run.  place: what tells it from all others.  history: (stage, loss) -> its value after every epoch.  row: what tables
    call its model."""

    name: str
    place: str
    results: dict
    history: dict[tuple[str, str], list[float]]
    row: str


def of_folders(root: Path) -> tuple[list[Finished], int]:
    """All runs below a folder, and how many have no results: not finished or broken, the report names them."""
    found, unread = [], 0
    for folder in run_folders(root):
        try:
            results = read_results(folder)
        except Problem:
            unread += 1
            continue
        curves = {key: [curve[epoch] for epoch in sorted(curve)] for key, curve in losses(folder / "metrics.csv").items()}
        try:
            row = row_of(load_config(folder))
        except Problem:  # of an agent, or damaged
            row = f"{results['model']} + {results['loss']}"
        found.append(Finished(folder.name, folder.relative_to(root).as_posix(), results, curves, row))
    return found, unread


def of_ledger(ledger: Path) -> tuple[list[Finished], int]:
    """All runs that are entered, by their last scores, and how many have none: their training diverged. Goals are asked of no
    split, and stand beside the scores that were made first."""
    found, without = [], 0
    for entry in entries(ledger):
        split = next((name for name in (FINAL, entry.get("split", "test"), *entry["scores"]) if name in entry["scores"]), None)
        if split is None:
            without += 1
            continue
        curves = {tuple(name.split(" ", 1)): values for name, values in entry["losses"].items()}
        results = results_in(entry, f"results-{split}.json")
        every = [one["metrics"] for one in entry["scores"].values()]
        goals = {key: value for metrics in every for key, value in metrics.items() if key.startswith("plan/")}
        results = results | {"metrics": goals | results["metrics"]}
        found.append(Finished(entry["run"], entry["run"], results, curves, entry["row"]))
    return found, without


def log_run(one: Finished, root: Path, tables: list[str], project: str, mode: str) -> None:
    """One finished run: losses as its history, scores as its summary.  root: of W&B's own files."""
    results, env = one.results, env_of(one.results)
    facts = {key: results[key] for key in ("env", "model", "loss", "seed", "protocol")} | {"row": one.row}
    run = wandb.init(
        project=project, name=one.place, group=tables[0] if tables else env, mode=mode, dir=str(root), resume="allow",
        id=hashlib.sha256(f"{one.place} {results.get('config_hash')}".encode()).hexdigest()[:12], config=facts,
        tags=[results["model"], results["loss"], str(results["protocol"]["budget"]), *tables],
        settings=wandb.Settings(silent=True, console="off"),
    )  # fmt: skip
    for epoch in range(max(map(len, one.history.values()), default=0)):
        run.log({f"{env}/{stage}/{key}": v[epoch] for (stage, key), v in one.history.items() if epoch < len(v)}, step=epoch + 1)
    run.summary.update(results["metrics"] | {f"{env}/{key}": value for key, value in results["metrics"].items()})
    run.finish()


def workspace(runs: list[Finished], project: str):
    """A section for each env, its runs grouped by table or env, and by row."""
    try:
        import wandb_workspaces.reports.v2 as parts
        import wandb_workspaces.workspaces as spaces
    except ModuleNotFoundError as error:
        raise Problem("the dashboard needs the package wandb-workspaces: pip install 'wandb-workspaces>=0.4'") from error
    sections = []
    for env in sorted({env_of(one.results) for one in runs}):
        own = [one for one in runs if env_of(one.results) == env]
        panels = [
            parts.BarPlot(title=title, metrics=[parts.SummaryMetric(f"{env}/{key}")], range_x=ends)
            for title, (key, ends) in panels_of([one.results for one in own]).items()
        ]
        history = dict.fromkeys(key for one in own for key in one.history)
        panels += [parts.LinePlot(title=f"{key}, stage {stage}", y=[f"{env}/{stage}/{key}"]) for stage, key in history]
        sections.append(spaces.Section(name=env, panels=panels))
    grouped = spaces.RunsetSettings(groupby=[spaces.Metric("Group"), spaces.Config("row")])
    owner = os.environ.get("WANDB_ENTITY", "")
    return spaces.Workspace(owner, project, "Causal World Models", sections=sections, runset_settings=grouped)


def logged_in() -> bool:
    """Whether W&B may be asked: an account is known and WANDB_MODE does not forbid it."""
    try:
        return os.environ.get("WANDB_MODE", "online") == "online" and wandb.login(prompt=False)
    except wandb.errors.Error as error:
        raise Problem(f"W&B refused the login ({error}); set WANDB_MODE=offline to go without") from error


def run(cfg) -> None:
    """The command."""
    root = Path(cfg.runs_dir)
    runs, unread = of_folders(root) if cfg.ledger is None else of_ledger(Path(cfg.ledger))
    if not runs:
        raise Problem(f"{root if cfg.ledger is None else cfg.ledger} holds no finished run; make one with: python train/fit.py")
    root.mkdir(parents=True, exist_ok=True)
    made, online = workspace(runs, cfg.project), logged_in()
    if cfg.log_runs:
        tables = tables_of({one.results["seed"] for one in runs})
        for one in runs:
            log_run(one, root, tables.get(one.name, []), cfg.project, "online" if online else "offline")
        print(f"{len(runs)} runs logged to {'W&B' if online else root / 'wandb'}, {unread} without results left out")
    if online:
        made.entity = made.entity or wandb.Api().default_entity
        print(made.save().url)
    else:
        model = made._to_model()  # what save() would send; the package has no public way to write it
        path = write_whole(root / "dashboard.json", json.dumps(json.loads(model.model_dump_json(by_alias=True)), indent=1))
        print(f"not logged in to W&B, so the workspace was written to {path}; log in and run this again to save it there")
