"""The tables and figures of the paper: trains what is missing, then prints ours beside the published number.

    python eval/tables.py table=4                       two minutes of training for each row, one seed
    python eval/tables.py table=[3,4] budget=5min seeds=3
    python eval/tables.py figure=23 run_missing=false   only what is there already
    python eval/tables.py table=[few-shot,ablation]     ours, beyond the paper
    python eval/tables.py table=all
    python eval/tables.py table=[voe,voe-trees] budget=40min seeds=10
    python eval/tables.py table=[voe,voe-control] budget=stored runs_dir=results seeds=10
    python eval/tables.py table=voe-control budget=found runs_dir=<any folder of runs> seeds=10
    python eval/tables.py table=voe budget=stored runs_dir=results seeds=10 humans=<study>/analysis/analysis.json
    python eval/tables.py table=causes tune=true        equal effort: draws settings for every row and chooses on split select
    python eval/tables.py table=causes seeds=5          trains what was chosen, scores it on final, prints from the ledger
    python eval/tables.py -m table=4 seeds=3 worker='range(4)' hydra/launcher=submitit_slurm

Says what it will run and for how long before it starts; killed, the same command goes on. Writes <out>/<budget>/table4.md,
.csv, .tex, its bars or scatter plots as .svg and .png, and claims.md: what the paper says in words, held against these numbers
where they decide any of it.
Tables of violated expectations (voe, voe-control, voe-trees, voe-alternate) have pages of their own; their budgets `found` and
`stored` train nothing and show every run of a folder, or of the JSON files in results.
causes (eval/effort/causes.yaml) and what varies it (causes-minutes, causes-episodes, causes-objects, causes-horizon,
causes-units, causes-updates, causes-factors, causes-published) are read from ledger= alone; what that holds is not run again,
on any machine.
voe-grid prints a grid search (configs/experiment/voe_grid.yaml) and the row that validation pairs choose.

Copies of a command share its runs, on machines that see the same runs_dir: each worker begins at another place of the list,
leaves a run that somebody is at, waits for the last ones and writes the tables, whole file by whole file. What fails, every
copy tries once. On one machine give the copies `jobs` that add up to its cores.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("tables", "eval.tables:run", __doc__))  # what stands below is imported for the work alone

from collections.abc import Iterable
from dataclasses import replace

from omegaconf import OmegaConf

from envs.problem import Problem, nearest
from envs.whole_files import check_writable, write_whole
from envs.workers import cores
from eval.effort.command import run_study
from eval.effort.studies import studies
from eval.paper.claims import PAPER_ROWS, check_claims, claims_markdown, print_claims
from eval.paper.sweep import Job, missing, run_jobs, steps_of
from eval.paper.table_files import files_of, folder_of, show, show_voe, write, write_voe
from eval.paper.table_specs import (
    HORIZONS,
    Column,
    TableSpec,
    declared_specs,
    is_agent_row,
    metrics_of,
    overrides_of,
    paper_tables,
    run_name,
    table_specs,
    with_seeds_of,
)
from eval.paper.voe_grid import GRID, show_grid
from eval.paper.voe_humans import read_humans
from eval.paper.voe_runs import jobs_of as voe_jobs_of
from eval.paper.voe_runs import voe_tables
from eval.paper.voe_table import voe_specs

SCORE_S, PLAN_S, SURPRISE_S = 75, 90, 60  # seconds for scores, plans and surprise of one run on one thread, to tell beforehand
PAPER = "paper"  # the budget whose runs take a GPU where there is one
GPU_RUN = 6 << 30  # bytes of GPU memory that a run stays below


def jobs_of(asked: list[TableSpec], cfg) -> list[Job]:
    """What fills the panels: for every row and seed a training, then the scores and plans that some column shows."""
    wanted: dict[str, tuple] = {}  # run name -> row, env, seed, columns
    for panel in asked:
        for row in panel.rows:
            for seed in range(cfg["seeds"]):
                name = run_name(row, panel.env, cfg["budget"], seed)
                wanted.setdefault(name, (row, panel.env, seed, {}))[3].update(dict.fromkeys(panel.columns))
    return [_job(name, *what, cfg) for name, what in wanted.items()]


def _planner(key: str) -> str:
    """Of plan/success/<planner>/h10; plan/success/h10 is the closed loop's."""
    return key.split("/")[2] if key.count("/") > 2 else "model_closed"


def _joined(names: Iterable[str]) -> str:
    """A list as the command line writes it, every name once."""
    return f"[{','.join(dict.fromkeys(names))}]"


def _job(name: str, row: str, env: str, seed: int, columns: dict[Column, None], cfg) -> Job:
    folder = Path(cfg["runs_dir"]) / name
    train = *overrides_of(row, cfg["budget"]), f"env={env}", f"seed={seed}", f"name={name}", f"runs_dir={cfg['runs_dir']}"
    if is_agent_row(row):  # trains and plans in one command
        agent = ("train/agent.py", *train)
        return Job(name, lambda: [] if metrics_of(row, env, seed, cfg) else [agent])
    into = f"ledger={cfg['ledger']}"
    # plans are asked for below
    fit = ("train/fit.py", *train, "logger=csv", f"data_dir={cfg['data_dir']}", "goals=false", into)

    def left() -> list[tuple[str, ...]]:
        steps = []
        lacking = [
            c for c in columns if not {c.at(h) for h in HORIZONS} <= (metrics_of(row, env, seed, cfg, c.file) or {}).keys()
        ]
        splits = _joined(c.split for c in lacking if c.split and c.key.startswith("test/"))
        if splits != "[]":
            steps.append(("eval/score.py", f"run={folder}", f"split={splits}", into))
        for elsewhere in (False, True):  # plans under the usual protocol, then on boards drawn otherwise
            plans = [c for c in lacking if c.key.startswith("plan/") and bool(c.split) == elsewhere]
            if plans:
                planners, modes = _joined(_planner(c.key) for c in plans), _joined(c.split or "" for c in plans)
                where = (f"mode={modes}",) if elsewhere else ()
                steps.append(("eval/plan.py", f"run={folder}", f"planners={planners}", *where, into))
        # A run whose folder is gone has its weights elsewhere: what lacks cannot be asked of it.
        done = metrics_of(row, env, seed, cfg) and (not steps or (folder / "results.json").exists())
        return steps if done else [fit, *steps]

    return Job(name, left)


def turned(todo: list[Job], worker: int) -> list[Job]:
    """The same jobs, begun where this copy of the command begins: any number of copies lie well apart (golden ratio)."""
    place = int(len(todo) * (worker * 0.618034 % 1))
    return todo[place:] + todo[:place]


def expected_minutes(todo: list[Job], minutes: float, workers: int) -> float:
    """Of all jobs side by side; none for what is damaged."""
    train = 60 * minutes
    seconds = {
        "train/fit.py": train + SCORE_S,
        "train/agent.py": train,
        "eval/score.py": SCORE_S,
        "eval/plan.py": PLAN_S,
        "eval/surprise.py": SURPRISE_S,
    }
    return sum(seconds[step[0]] for job in todo for step in steps_of(job) or ()) / 60 / min(workers, max(1, len(todo)))


def _workers(on_gpu: bool) -> int:
    """One run for each core; of those that train on a GPU where there is one, as many as fit into its free memory."""
    if not on_gpu:
        return cores()
    import torch  # takes seconds, and this is all that tables ask of it

    if not torch.cuda.is_available():
        return cores()
    return max(1, min(cores(), torch.cuda.mem_get_info()[0] // GPU_RUN))


def _run_missing(todo: list[Job], minutes: float, cfg, on_gpu: bool) -> dict[str, str]:
    """Train, score and plan what tables lack; minutes: of one training; on_gpu: where there is one.

    -> name of each failed run: why.
    """
    todo = missing(todo)
    if not todo:
        return {}
    workers = cfg["jobs"] or _workers(on_gpu)
    minutes = expected_minutes(todo, minutes, workers)
    count = f"{len(todo)} run{'s are' if len(todo) > 1 else ' is'} missing"
    print(f"{count}; {workers} at a time, about {minutes:.0f} minutes in all", flush=True)
    return run_jobs(turned(todo, cfg["worker"]), workers, Path(cfg["runs_dir"]) / "logs", lambda text: print(text, flush=True))


def _budget(cfg, known: dict) -> dict:
    if cfg["budget"] not in known:
        raise Problem(f"there is no budget '{cfg['budget']}': {nearest(str(cfg['budget']), known)}")
    return known[cfg["budget"]]


def _run_voe(names: list[str], cfg) -> dict[str, str]:
    """Tables of violated expectations.  -> name of each failed run: why."""
    minutes = _budget(cfg, voe_tables()["budgets"]).get("minutes", 0)
    asked = voe_specs(names, [cfg["rows"]] if isinstance(cfg["rows"], str) else cfg["rows"])
    humans = read_humans(cfg["humans"])
    check_writable(folder_of(cfg), "out")
    jobs = voe_jobs_of([row for table in asked for row in table.rows], cfg) if cfg["run_missing"] else []
    failed = _run_missing(jobs, minutes, cfg, on_gpu=cfg["budget"] == PAPER)
    show_voe(asked, humans, cfg)
    shown = {one.page for one in asked}
    with files_of(shown, cfg):
        write_voe([table for table in voe_specs(names) if table.page in shown], humans, cfg)
    return failed


def _run_paper(table, cfg) -> dict[str, str]:
    """Tables and figures of the paper, and of ours on its worlds.  -> name of each failed run: why."""
    pages = paper_tables()
    minutes = _budget(cfg, pages["budgets"])["minutes"]
    asked, every = (table_specs(pages, table, cfg["figure"], only) for only in (cfg["rows"], None))
    check_writable(folder_of(cfg), "out")
    failed = _run_missing(jobs_of(asked, cfg), minutes, cfg, on_gpu=cfg["budget"] == PAPER) if cfg["run_missing"] else {}
    show(asked, pages, cfg)
    shown = {one.page for one in asked}
    with files_of(shown, cfg):
        write([panel for panel in every if panel.page in shown], pages, cfg)
    with files_of(["claims"], cfg):
        cfg = with_seeds_of([replace(panel, rows=PAPER_ROWS) for panel in declared_specs(pages)], cfg)
        verdicts = check_claims(cfg)
        if any(verdict.decided for verdict in verdicts):  # tables of other worlds say nothing about them
            print_claims(verdicts, cfg)
            write_whole(folder_of(cfg) / "claims.md", claims_markdown(verdicts, cfg))
    return failed


def run(cfg) -> None:
    """The command."""
    cfg = OmegaConf.to_container(cfg)
    asked = cfg["table"] if isinstance(cfg["table"], list) else [cfg["table"]]
    grid = asked.count(GRID) * [GRID]
    voe = [name for name in asked if name in voe_tables()["tables"]]
    effort_asked = [name for name in asked if name in studies()]
    rest = [name for name in asked if name not in (*voe, *grid, *effort_asked)]
    if not effort_asked and (cfg.get("tune") or cfg.get("envs") is not None):
        raise Problem(f"tune= and envs= are of tables causes...; expected one of {', '.join(studies())}, got "
                      f"{', '.join(map(str, asked))}; leave them out")  # fmt: skip
    if cfg.get("humans") is not None and not voe:
        raise Problem(f"humans= is of tables voe...; expected one of {', '.join(voe_tables()['tables'])}, got "
                      f"{', '.join(map(str, asked))}; leave it out")  # fmt: skip
    known = {str(name) for name in (*paper_tables()["tables"], "all", *voe_tables()["tables"], GRID, *studies())}
    for name in rest:
        if name is not None and str(name) not in known:
            raise Problem(f"there is no table '{name}': {nearest(name, known)}")
    if grid:
        show_grid(cfg)
    failed = _run_voe(voe, cfg) if voe else {}
    for name in effort_asked:
        failed |= run_study(name, cfg, _run_missing)
    if rest or cfg["figure"] is not None:
        failed |= _run_paper(cfg["table"] if rest == asked else rest or None, cfg)
    if failed:
        count, (first, why) = f"{len(failed)} run{'s' if len(failed) > 1 else ''}", next(iter(failed.items()))
        raise Problem(f"{count} failed, first {first}: {why}; "
                      f"their logs lie in {cfg['runs_dir']}/logs, the same command tries them again")  # fmt: skip
