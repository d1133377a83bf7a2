"""The paper's tables that have runs, as HTML: bars, numbers with their bounds, the published ones beside them.

Every folder of runs and every budget stands for itself: numbers of different budgets never share a table.
"""

from html import escape
from pathlib import Path

from eval.figures.charts import scatter_chart
from eval.figures.svg import inline_svg
from eval.pages.html import table
from eval.paper.table_charts import axis_names, scatter_points, table_chart
from eval.paper.table_specs import TableSpec, declared_specs, fill, paper_tables, run_name
from eval.paper.table_text import caption, lines


def table_sections(scored: dict[Path, dict]) -> str:
    """One figure for each table, folder and budget that holds a run of it; empty where none does."""
    pages, parts = paper_tables(), []
    seeds_of: dict[Path, set[int]] = {}
    for folder, results in scored.items():
        seeds_of.setdefault(folder.parent, set()).add(results["seed"])
    for panel in declared_specs(pages):
        for place, seeds in seeds_of.items():
            for budget in pages["budgets"]:
                found = [s for s in seeds for row in panel.rows if place / run_name(row, panel.env, budget, s) in scored]
                if found:
                    parts.append(_section(panel, pages, {"runs_dir": str(place), "budget": budget, "seeds": max(found) + 1}))
    return "\n".join(filter(None, parts))


def _drawing(panel: TableSpec, name: str, cells: dict) -> tuple[str, str]:
    """The chart and what is to be said of it; empty where there is nothing to draw."""
    if panel.chart == "scatter":
        plots = scatter_points(panel, cells)
        return (scatter_chart(plots, *axis_names(panel)), "Points: rows that have both numbers.") if plots else ("", "")
    figure = table_chart(panel, "", cells)
    if figure is None:
        return "", ""
    note = "Bars: rows that have runs; whiskers: standard deviation over seeds."
    return f'<div class="scroll chart">{inline_svg(figure, name)}</div>', note


def _section(panel: TableSpec, pages: dict, cfg: dict) -> str:
    """Empty where runs are there and none has the numbers of this table, as before eval/plan.py."""
    cells = fill(panel, cfg)
    name = f"{panel.key.replace('table', 'Table ').replace('figure', 'Figure ')}, budget {cfg['budget']}"
    drawing, note = _drawing(panel, name, cells)
    if not drawing and (panel.chart != "none" or not any(cell.values for cell in cells.values())):
        return ""
    header, rows = lines(panel, pages, cells)
    classes = ["" if row[0] in panel.rows else "bound" for row in rows]
    shown = table(header, [[escape(cell) for cell in row] for row in rows], classes)
    return (
        f"<section class=panel><h3>{escape(name)}: {escape(panel.title)}</h3>"
        f'{drawing}{shown}<p class="soft">{escape(caption(panel, pages, cfg))}. {note}</p></section>'
    )
