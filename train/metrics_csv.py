"""metrics.csv of a run: rows are added whole or not at all; what a killed command or a full disk left behind is cut off."""

import csv
from io import StringIO
from pathlib import Path

from eval.page import write_whole


def whole_rows(path: Path, header: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows that were written to their end; none where the file is missing or does not begin with its header."""
    text = path.read_bytes().decode(errors="replace") if path.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines or lines[0] != ",".join(header):
        return []
    return [row for row in csv.DictReader(lines) if None not in row and None not in row.values()]


def add_rows(path: Path, header: tuple[str, ...], rows: list[tuple]) -> None:
    """Append rows. The file is written beside its name and renamed, so a kill leaves the rows of before."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([list(row.values()) for row in whole_rows(path, header)])
    writer.writerows(rows)
    write_whole(path, text.getvalue())
