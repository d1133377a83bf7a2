"""All runs at a glance: what the numbers mean, the best of every env, every run, and means over seeds."""

import re
from html import escape
from pathlib import Path
from statistics import mean, stdev
from urllib.parse import quote

from eval.pages.html import table
from eval.paper.table_specs import HORIZONS, paper_tables, read
from eval.probes import every_row
from eval.probes.probe import Row

MEANING = """<p><b>H@1</b> is how often, in percent, the outcome nearest to the model's prediction is the true one, out of a
pool of held-out outcomes; after 5 or 10 steps the model is fed its own predictions. <b>What-if H@1</b> asks the same of
one state under every possible action, so that a model which ignores the action scores no better than one that says
"nothing happens". <b>Success</b> is how often planning with the model, seeing every true frame, reaches a goal in exactly
as many steps as made it: read all three against their ceilings and floors, and only within one env, budget and pool.</p>"""


BUDGETS = tuple(paper_tables()["budgets"])


def shown_env(results: dict) -> str:
    """The env, and what models are shown where it is not pixels."""
    return results["env"] + (", state" if results["protocol"].get("observation") == "state" else "")


def budget(results: dict) -> str:
    """The folder of a table's run tells its budget; the profile alone does not, it may train for any number of epochs."""
    parts = results["run"].split("-")
    return next((part for part in parts[::-1] if part in BUDGETS), str(results["protocol"]["budget"]))


def setting(results: dict) -> tuple[str, str, str, int, tuple[str, ...]]:
    """Env, budget, split, pool and horizons: only runs that share them can be compared."""
    protocol = results["protocol"]
    return shown_env(results), budget(results), protocol["split"], protocol["pool"], tuple(protocol["distinct"])


def overview_section(scored: dict[Path, dict]) -> str:
    """The meaning, how many runs of which budgets, and the best run of every setting."""
    budgets = ", ".join(sorted({str(r["protocol"]["budget"]) for r in scored.values()}))
    settings = len({setting(r) for r in scored.values()})
    count = f"{len(scored)} runs in {settings} settings, by env, budget ({escape(budgets)}), split, pool and horizons:"
    return f"{MEANING}<p>{count}</p>{_best(scored)}"


def _best(scored: dict[Path, dict]) -> str:
    groups: dict[tuple, list[dict]] = {}
    for results in scored.values():
        groups.setdefault(setting(results), []).append(results)
    present = [key for results in scored.values() for key in results["metrics"]]
    compared = [row for row in every_row() if row.kind == "score" and _best_column(row)]
    shown = [row for row in compared if any(key.startswith(row.key) for key in present)]
    rows = []
    for (env, budget, split, pool, horizons), runs in sorted(groups.items()):
        cells = [_winner(runs, row, list(row.compared(list(horizons)).values())[-1]) for row in shown]
        rows.append([escape(env), escape(budget), escape(split), f"{pool:,}", " ".join(horizons), str(len(runs)), *cells])
    header = ["env", "budget", "split", "pool", "horizons", "runs", *(escape(_best_column(row)) for row in shown)]
    return table(header, rows, text_columns=3) + (
        '<p class="soft">The single best run of each, in percent where nothing else is said, with its ceiling (exact Bayes) '
        "where chance decides and the world is small; each env may hold several drawn worlds with ceilings of their own. The "
        "best of many is lucky: means over seeds stand below.</p>"
    )


def _best_column(row: Row) -> str | None:
    """What the table of best runs shows of a score, none where pages that compare runs leave it out: H@1, last step."""
    ends = list(row.compared(["first", "last"]))
    return ends[-1].replace(" first", ", first step").replace(" last", ", last step") if ends else None


def _winner(runs: list[dict], row: Row, key: str) -> str:
    having = [r for r in runs if key in r["metrics"]]
    if not having:
        return "-"
    best = (max if row.higher_is_better else min)(having, key=lambda r: r["metrics"][key])
    beside, digits = "", 1 if row.percent else row.digits
    for bound in every_row():
        value = best["metrics"].get(bound.key + key.removeprefix(row.key)) if bound.of == row.key else None
        if value is not None and (bound.kind == "ceiling" or bound.short):
            text = f"{bound.scale * value:.{digits}f}"
            beside += f" of {text}" if bound.kind == "ceiling" else f", {bound.short} {text}"
    who = f"{best['model']} + {best['loss']}".replace("_", " ")
    return f"{row.scale * best['metrics'][key]:.{digits}f}{escape(beside)} <small>{escape(who)}</small>"


def _shown(results: dict) -> dict[str, tuple[Row, str]]:
    """The columns of a run, and the rows and metrics behind them: what the rows of the probes name, at the nearest and the
    longest horizon."""
    horizons = list(results["protocol"]["distinct"])
    every = {label: (row, key) for row in every_row() for label, key in row.compared(horizons).items()}
    return {label: (row, key) for label, (row, key) in every.items() if key in results["metrics"]}


def _numbers(results: dict) -> dict[str, float]:
    return {label: row.scale * results["metrics"][key] for label, (row, key) in _shown(results).items()}


def in_order(scored: dict[Path, dict]) -> dict[Path, dict]:
    """Scored runs, those of one setting side by side."""
    return dict(
        sorted(scored.items(), key=lambda item: (*(str(item[1][key]) for key in ("env", "model", "loss")), item[1]["seed"]))
    )


def runs_section(scored: dict[Path, dict], root: Path) -> str:
    """Every run with a link to its own page; the box above finds some of them."""
    columns, rows = _columns(scored), []
    for folder, results in scored.items():
        place, numbers = folder.relative_to(root).as_posix(), _numbers(results)
        name = escape(place)
        link = f'<a href="{quote(place)}/report.html">{name}</a>' if (folder / "report.html").exists() else name
        about = (shown_env(results), results["model"], results["loss"], results["protocol"]["budget"])
        cells = [f"{numbers[c]:.{digits}f}" if c in numbers else "" for c, digits in columns.items()]
        rows.append([link, *(escape(str(word)) for word in about), str(results["seed"]), *cells])
    header = ["run", "env", "model", "loss", "budget", "seed", *map(escape, columns)]
    pools = ", ".join(sorted({str(r["protocol"]["pool"]) for r in scored.values()}))
    return (
        f'<p><input type="search" placeholder="Search {len(rows)} runs" aria-label="Search runs" data-finds="all-runs"></p>'
        f'<div id="all-runs" class="tall">{table(header, rows, text_columns=5)}</div>'
        f'<p class="soft">Percent where nothing else is said, pool {pools}, rule grouped, ties against us; '
        "h5 = after 5 steps of open loop.</p>"
    )


def _columns(scored: dict[Path, dict]) -> dict[str, int]:
    """Of all runs, and how many decimals they show."""
    return {label: row.digits for results in scored.values() for label, (row, _) in _shown(results).items()}


def seeds_section(scored: dict[Path, dict]) -> str:
    """Mean and standard deviation over seeds; empty where no setting has two."""
    groups: dict[tuple, dict[int, dict]] = {}
    for r in scored.values():
        key = (shown_env(r), r["model"], r["loss"], r["protocol"]["budget"], r["protocol"]["pool"], r["setting_hash"])
        groups.setdefault(key, {})[r["seed"]] = _numbers(r)
    columns, rows = _columns(scored), []
    for key, seeds in groups.items():
        if len(seeds) > 1:
            values = [([n[c] for n in seeds.values() if c in n], digits) for c, digits in columns.items()]
            cells = [f"{mean(v):.{digits}f} ± {stdev(v):.{digits}f}" if len(v) > 1 else "" for v, digits in values]
            rows.append([*(escape(str(part)) for part in key[:4]), str(len(seeds)), *cells])
    header = ["env", "model", "loss", "budget", "seeds", *map(escape, columns)]
    return table(header, rows, text_columns=4) if rows else ""


def agents_section(folders: list[Path], root: Path) -> str:
    """What agents without a model reach; empty where there is none. An unfinished one has no numbers."""
    planned, played = [], []
    for folder in folders:
        metrics, name = read(folder) or {}, escape(folder.relative_to(root).as_posix())
        protocols = {key.split("/")[1]: f"{value:.1f}" for key, value in metrics.items() if re.match("protocol/.*/last$", key)}
        if protocols:
            played.append([name, *(protocols.get(f"P{i}", "") for i in range(13))])
            continue
        shown = [[f"{metrics[key]:.1f}" if key in metrics else "" for key in (f"{part}/h{h}" for h in HORIZONS)] for part in
                 ("plan/success", "plan/true/greedy", "plan/floor/painter", "plan/floor/random")]  # fmt: skip
        planned.append([name, *(" / ".join(part) if any(part) else "" for part in shown)])
    header = ["run", *(f"{name} {' / '.join(map(str, HORIZONS))}" for name in
               ("success", "greedy, true world", "painting by number", "random"))]
    goals = table(header, planned) if planned else ""
    return goals + (table(["fractional success at the last step", *(f"P{i}" for i in range(13))], played) if played else "")
