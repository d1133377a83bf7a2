"""Adds rows to the metrics.csv of a run, all or none; rows that a killed command left half-written are removed."""

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from envs.whole_files import write_whole
from eval.runs.metrics_csv import whole_rows


def add_rows(path: Path, columns: dict[str, Callable[[str], object]], rows: list[tuple]) -> None:
    """Append rows. The file is written beside its name and renamed, so a kill leaves the old rows."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([list(row.values()) for row in whole_rows(path, columns)])
    writer.writerows(rows)
    write_whole(path, text.getvalue())
