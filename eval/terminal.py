"""What a command shows: tables as wide as the terminal, and how far a long job has come."""

import sys
import time

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text


def print_table(header, rows, caption: str, title: str | None = None, width: int = 100, show_lines: bool = False) -> None:
    """header: texts; rows: lists of texts; caption: below, as wide as the terminal also where the table is narrow."""
    table = Table(title=None if title is None else Text(title, style="table.title"), show_lines=show_lines)
    for name in header:
        table.add_column(Text(name))  # as it is: brackets in a name are no markup
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=None if sys.stdout.isatty() else width)
    console.print(table)
    if caption:
        console.print(Text(caption, style="table.caption"))


SILENCE_S = 60  # at most, where lines are printed


class Steps:
    """How far a long job has come, on stderr: a bar on a terminal; elsewhere a line for every part, and one a minute.

    title: of the job; total: its steps; quiet: say nothing. Use as a context; a bar disappears at the end.
    """

    def __init__(self, title: str, total: int, quiet: bool = False) -> None:
        self.title, self.total, self.done, self.start = title, total, 0, time.monotonic()
        self.lines, self.printed = not quiet and not sys.stderr.isatty(), self.start
        self.bar = Progress(console=Console(stderr=True), transient=True, disable=quiet or self.lines)
        self.task = self.bar.add_task(title, total=total)

    def __enter__(self) -> "Steps":
        self.bar.start()
        return self

    def __exit__(self, *_) -> None:
        self.bar.stop()

    def step(self, part: str | None = None) -> None:
        """One step more is done; with it a part, where it is named."""
        self.done += 1
        self.bar.advance(self.task)
        if part is not None:
            self.part(part)
        elif self.lines and time.monotonic() - self.printed > SILENCE_S:
            self._line("")

    def part(self, name: str) -> None:
        """A part is done; where there is no bar, this is a line."""
        if self.lines:
            self._line(f"  {name}")

    def _line(self, name: str) -> None:
        self.printed = time.monotonic()
        print(f"{self.title} {self.done}/{self.total}{name}  {self.printed - self.start:.0f} s", file=sys.stderr, flush=True)
