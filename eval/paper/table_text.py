"""A filled panel as text: rows and caption, markdown, LaTeX, CSV."""

import csv
import io

from eval.paper.table_specs import HORIZONS, Cell, TableSpec, is_agent_row, line_below, seeds_of


def lines(panel: TableSpec, pages: dict, cells: dict) -> tuple[list[str], list[list[str]]]:
    """Header and rows, a column's horizons side by side, published numbers beside ours."""
    header = ["", *(f"{column.label} {' / '.join(map(str, HORIZONS))}" for column in panel.columns)]
    header += ["published"] * panel.of_paper
    published_rows = pages["published"].get(panel.key, {})
    rows = []
    for row in [*panel.rows, *panel.bounds]:
        shown = [_joined([cells[row, column.label, h] for h in HORIZONS]) for column in panel.columns]
        published = "; ".join(
            f"{metric} {' / '.join(map(str, values))}" for metric, values in published_rows.get(row, {}).items()
        )
        published = published or ("not published" if row in pages["groups"]["paper"] else "")
        if row in panel.rows or any(text != "-" for text in shown):
            rows.append([row, *shown, *[published] * panel.of_paper])
        for below in (line_below(row, name) for name in panel.beside if row in panel.rows):
            shown = [_joined([cells[below, column.label, h] for h in HORIZONS]) for column in panel.columns]
            if any(text != "-" for text in shown):  # runs of before were not asked
                rows.append([below, *shown, *[""] * panel.of_paper])
    return header, rows


def _joined(cells: list[Cell]) -> str:
    """The numbers of all horizons; the number of seeds stands once where it is the same for all."""
    if not any(cell.values for cell in cells):
        return "-"
    if len({cell.short for cell in cells}) == 1:
        return " / ".join(cell.number for cell in cells) + cells[0].short
    return " / ".join(map(str, cells))


def caption(panel: TableSpec, pages: dict, cfg) -> str:
    """The protocol in one line: a number without it means nothing."""
    budget = pages["budgets"][cfg["budget"]]
    seeds = ", ".join(map(str, seeds_of(cfg)))
    agents = f" ({budget['agents']})" if any(map(is_agent_row, panel.rows)) else ""
    said = f"; the paper's text: {panel.said}" if panel.said else ""
    trained = f"{budget['told']}{agents} (budget {cfg['budget']}), seeds {seeds}"
    return f"{panel.title}. {panel.env}; {trained}; {panel.caption}; {panel.unit}{said}"


def markdown(header: list[str], rows: list[list[str]], text: str) -> str:
    """A table and its caption."""
    body = "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])
    return f"{body}\n\n{text}\n"


def latex(header, rows, text: str) -> str:
    def cell(content: str) -> str:
        return content.replace("±", r"$\pm$").replace("%", r"\%").replace("_", r"\_").replace("&", r"\&")

    body = " \\\\\n".join(" & ".join(map(cell, row)) for row in rows)
    top = " & ".join(map(cell, header))
    return (
        f"\\begin{{table}}\n\\caption{{{cell(text)}}}\n\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}\n"
        f"\\hline\n{top} \\\\\n\\hline\n"
        f"{body} \\\\\n\\hline\n\\end{{tabular}}\n\\end{{table}}\n"
    )


CSV_HEADER = ("table", "env", "row", "metric", "steps", "seed", "value")


def long_csv(filled: list[tuple[TableSpec, dict]]) -> str:
    """One line for each number of some panels: row, metric, horizon, seed, value."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(CSV_HEADER)
    for panel, cells in filled:
        for (row, metric, h), cell in cells.items():
            for seed, value in cell.values.items():
                out.writerow([panel.key, panel.env, row, metric, h, "" if seed < 0 else seed, value])
    return text.getvalue()


def bullets(facts: list[str]) -> str:
    """Facts as a Markdown list."""
    return "\n".join(f"- {fact}" for fact in facts)
