"""A filled table of violated expectations as text: rows, caption, lines of a CSV file."""

import csv
import io

from eval.paper.table_specs import seeds_of
from eval.paper.table_text import CSV_HEADER
from eval.paper.voe_runs import told_of, voe_tables
from eval.paper.voe_table import MEAN, SUBTYPES, Cell, Filled, difference, published

COLUMNS = (*SUBTYPES, MEAN)
NOT_RUN, UNPUBLISHED = "not run", "not published"
COMPARED = ("OFPR-Net", "OF-Net")


def published_cells(row: str) -> dict[str, Cell]:
    """Column -> cell of a published row; of the mean over categories no spread is published. Empty: an unpublished row."""
    cells = {column: cell for column, env in voe_tables()["envs"].items() if (cell := published().get(row, {}).get(env))}
    return cells and cells | {
        MEAN: Cell(sum(cell.mean for cell in cells.values()) / len(cells), float("nan"), voe_tables()["seeds"])
    }


def our_cells(filled: Filled, row: str, number: int = 0) -> dict[str, Cell]:
    """Column -> cell of a row of ours, columns without a run left out."""
    return {column: Cell.of(list(values.values())) for column, values in filled.values[row, number].items() if values}


def lines(filled: Filled, cfg: dict) -> tuple[list[str], list[list[str]]]:
    """Header and rows: ours, the published ones beside, their differences, bounds, and the sub-types of rows that have runs."""
    table, rows = filled.table, []
    ours = {row.name: our_cells(filled, row.name) for row in filled.rows}

    def add(name: str, cells: dict, empty: str, columns=COLUMNS) -> None:
        rows.append([name, *(str(cells[c]) if c in cells else empty if c in columns else "" for c in COLUMNS)])

    for row in filled.rows:
        name, cells = row.name, ours[row.name]
        short = {column: f"{cell}{f' ({cell.seeds} of {asked})' if cell.seeds < (asked := len(seeds_of(cfg))) else ''}"
                 for column, cell in cells.items()}  # fmt: skip
        add(f"{name}, ours" if table.published else name, short, NOT_RUN)
        if table.published:
            theirs = published_cells(name)
            add(f"{name}, published", theirs, UNPUBLISHED)
            if theirs:
                add(f"{name}, ours - published", _differences(cells, theirs), NOT_RUN)
    if table.published and set(COMPARED) <= ours.keys():
        add(f"{' - '.join(COMPARED)}, ours", _differences(*(ours[name] for name in COMPARED)), NOT_RUN)
        add(f"{' - '.join(COMPARED)}, published", _differences(*map(published_cells, COMPARED)), UNPUBLISHED)
    humans = [filled.humans] if filled.humans else []
    for name in (*humans, *table.bounds):
        add(name, our_cells(filled, name), NOT_RUN)
    for name in [*(row.name for row in filled.rows if ours[row.name]), *humans] if table.subtypes else ():
        for number in range(1, 1 + max(SUBTYPES.values())):
            there = [column for column, count in SUBTYPES.items() if number <= count]
            named = ", ".join(f"{column}{number}" for column in there)
            add(f"{name}: {named}", our_cells(filled, name, number), NOT_RUN, there)
    return ["", *(f"{letter} {env.removeprefix('voe_')}" for letter, env in voe_tables()["envs"].items()), MEAN], rows


def _differences(ones: dict[str, Cell], others: dict[str, Cell]) -> dict:
    return {column: difference(ones[column], others[column]) for column in COLUMNS if column in ones and column in others}


def caption(filled: Filled, cfg: dict) -> str:
    """The protocol in one line: a number without it means nothing."""
    table, budget = filled.table, voe_tables()["budgets"][cfg["budget"]]
    tests = "t, p: Welch's test, two-sided; " if table.published else ""
    seeds = ", ".join(map(str, seeds_of(cfg)))
    return (f"{table.title}. Hit rates from 0 to 1, ties one half; mean ± sample standard deviation over seeds, as many as are "
            f"there of seeds {seeds}; mean: over the categories, of seeds that have all; {tests}{budget['told']} "
            f"(budget {cfg['budget']}); {told_of(filled.runs)}; OFPR-Net and OF-Net are told the rules that hold in the clip "
            f"(oracle) and compare them with what they expect; our data and backbone, not the published ones"
            f"{'; ' * bool(filled.told)}{filled.told}")  # fmt: skip


def long_csv(filled: list[Filled]) -> str:
    """One line for each number: ours by seed, means over seeds of bounds, published means and deviations."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(CSV_HEADER)
    for one in filled:
        envs = voe_tables()["envs"]
        for (row, number), values in one.values.items():
            for column, of_seed in values.items():
                key = one.table.bounds.get(row, one.table.key) + f"/{column}{number}" * bool(number)
                for seed, value in of_seed.items():
                    out.writerow([one.table.name, envs.get(column, MEAN), row, key, "", "" if seed < 0 else seed, value])
        for row in [row.name for row in one.rows] if one.table.published else ():
            for column, cell in published_cells(row).items():
                out.writerow([one.table.name, envs.get(column, MEAN), row, "published mean", "", "", round(cell.mean, 4)])
                if column != MEAN:
                    out.writerow([one.table.name, envs[column], row, "published sd", "", "", cell.sd])
    return text.getvalue()
