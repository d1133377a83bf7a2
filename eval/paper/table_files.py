"""Tables on the terminal, with the rows and seeds that were asked for, and as files with all that exist."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.charts import replace_chart
from eval.paper.table_charts import table_chart
from eval.paper.table_specs import TableSpec, fill, with_seeds_of
from eval.paper.table_text import caption, latex, lines, long_csv, markdown
from eval.paper.voe_humans import Humans, with_humans
from eval.paper.voe_table import VoeTable
from eval.paper.voe_table import fill as fill_voe
from eval.paper.voe_table import with_seeds_of as voe_with_seeds_of
from eval.paper.voe_text import caption as voe_caption
from eval.paper.voe_text import lines as voe_lines
from eval.paper.voe_text import long_csv as voe_csv
from eval.terminal import print_table


def folder_of(cfg) -> Path:
    """Tables of different budgets never overwrite each other."""
    return Path(cfg["out"]) / cfg["budget"]


def show(asked: list[TableSpec], pages: dict, cfg) -> None:
    """Every table on the terminal, with the rows and seeds that were asked for."""
    for panel in asked:
        print_table(*lines(panel, pages, fill(panel, cfg)), caption(panel, pages, cfg), title=panel.key, width=160)


def write(every: list[TableSpec], pages: dict, cfg) -> None:
    """Every table as files, its panels one below the other, with all rows and seeds that exist, so that none is lost by asking
    for others."""
    out, cfg = folder_of(cfg), with_seeds_of(every, cfg)
    pages_of = groupby([(panel, fill(panel, cfg)) for panel in every], lambda one: one[0].page)  # all, before one is replaced
    for page, of_page in pages_of:
        filled = list(of_page)
        texts = {"md": [], "tex": []}
        for panel, cells in filled:
            header, rows = lines(panel, pages, cells)
            text = caption(panel, pages, cfg)
            texts["md"].append(f"### {panel.key}\n\n{markdown(header, rows, text)}")
            texts["tex"].append(latex(header, rows, text))
            replace_chart(table_chart(panel, f"{panel.title}, budget {cfg['budget']}", cells), out / panel.key)
        for kind, parts in texts.items():
            write_whole(out / f"{page}.{kind}", "\n".join(parts))
        write_whole(out / f"{page}.csv", long_csv(filled))


def show_voe(asked: list[VoeTable], humans: Humans | None, cfg) -> None:
    """`show` of tables of violated expectations."""
    for table in asked:
        one = with_humans(fill_voe(table, cfg), humans)
        print_table(*voe_lines(one, cfg), voe_caption(one, cfg), title=table.name, width=160)


def write_voe(every: list[VoeTable], humans: Humans | None, cfg) -> None:
    """`write` of tables of violated expectations."""
    out, cfg = folder_of(cfg), voe_with_seeds_of(every, cfg)
    pages_of = groupby([with_humans(fill_voe(table, cfg), humans) for table in every], lambda one: one.table.page)
    for page, of_page in pages_of:
        filled = list(of_page)
        texts = [(one.table.name, *voe_lines(one, cfg), voe_caption(one, cfg)) for one in filled]
        write_whole(out / f"{page}.md", "\n".join(f"### {name}\n\n{markdown(*parts)}" for name, *parts in texts))
        write_whole(out / f"{page}.tex", "\n".join(latex(*parts) for _, *parts in texts))
        write_whole(out / f"{page}.csv", voe_csv(filled))


@contextmanager
def files_of(pages: Iterable[str], cfg) -> Iterator[None]:
    """Files also hold rows that were not asked for: where one of those is damaged, they stay as they are, and that is said."""
    folder_of(cfg).mkdir(parents=True, exist_ok=True)
    try:
        yield
    except Problem as problem:
        if cfg["rows"] is None:
            raise
        print(f"files of {', '.join(dict.fromkeys(pages))} stay as they are: {problem}")
