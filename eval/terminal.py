"""A table on the terminal, as wide as it; in a log as wide as is asked."""

import sys

from rich.console import Console
from rich.table import Table


def print_table(header, rows, caption: str, title: str | None = None, width: int = 100, show_lines: bool = False) -> None:
    """header: texts; rows: lists of texts."""
    table = Table(*header, title=title, caption=caption, show_lines=show_lines)
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else width).print(table)
