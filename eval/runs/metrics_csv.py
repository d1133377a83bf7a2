"""Reading the metrics.csv of a run: rows that are whole and whose numbers are numbers; all others are passed over."""

import csv
from collections.abc import Callable
from pathlib import Path

COLUMNS = {"stage": str, "epoch": int, "metric": str, "value": float}  # of a world model's


def whole_rows(path: Path, columns: dict[str, Callable[[str], object]]) -> list[dict[str, str]]:
    """The rows that were written to their end, as text; none where the file is missing or does not begin with these columns.

    columns: name -> what reads its cells; a row with a cell that it refuses (ValueError) is passed over.
    """
    text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines or lines[0] != ",".join(columns):
        return []
    rows, reader = [], csv.DictReader(lines)
    while True:
        try:
            row = next(reader)
            whole = None not in row and None not in row.values()
            if whole:
                for name, read in columns.items():
                    read(row[name])
                rows.append(row)
        except StopIteration:
            return rows
        except (csv.Error, ValueError):  # a cell of megabytes, or a word in place of a number
            continue


def losses(metrics: Path) -> dict[tuple[str, str], dict[int, float]]:
    """(stage, train/loss or val/loss) -> epoch from 0 -> its value, of a metrics.csv; empty where there is none."""
    return by_epoch(metrics, "train/loss", "val/loss")


def by_epoch(metrics: Path, *names: str) -> dict[tuple[str, str], dict[int, float]]:
    """(stage, name) -> epoch from 0 -> its value, of some metrics of a metrics.csv; empty where there is none."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in whole_rows(metrics, COLUMNS):  # a resumed run repeats an epoch: the last line counts
        if row["metric"] in names:
            found.setdefault((row["stage"], row["metric"]), {})[int(row["epoch"])] = float(row["value"])
    return found
