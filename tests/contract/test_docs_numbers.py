"""Tables that docs/equal_effort.md tells in its own words hold the numbers of results/tables, of which they are a part."""

import csv
import re
from collections import defaultdict
from statistics import mean

import pytest

STEPS = (1, 5, 10)
SAME = "edge + hinge, same episode"


def at(name: str, *steps: int | str) -> list[tuple[str, str, str]]:
    return [("", name, str(h)) for h in steps]


def cases(names: list[str], *of_each: str) -> list[tuple[str, str, str]]:
    return [(f", {name}", score, "10") for name in names for score in of_each]


ONE_WORLD = [*at("what if", *STEPS), *at("H@1", 10), *at("goals", 10), *at("smallest gap", "")]
EPISODES, OBJECTS = ([f"{n} {what}" for n in counts] for counts, what in (((30, 100, 300, 1000), "episodes"), ((3, 5, 7, 9), "objects")))
FEWER = [f"{n} objects, 5 at a time in training" for n in (7, 9)]
TABLES = {  # how the header begins -> where its numbers are, of which seeds (None: all), and which ones a line holds, (case, score, steps)
    "| row | what if | H@1 | goals": ("causes/physics5_shuffled", None, [*at("what if", 10), *at("H@1", 10), *at("goals", 10), *at("order of weights", "")]),
    "| row | H@1 1 / 5 / 10 | what if": ("causes-published/physics5_shuffled", None, [one for name in ("H@1", "what if", "goals") for one in at(name, *STEPS)]),
    "| row | what if 1 / 5 / 10 | H@1 10": ("causes/chemistry_chain5", {"0"}, ONE_WORLD),
    "| row, world 11 |": ("causes/chemistry_chain5", {"1"}, ONE_WORLD),
    "| row | 30 | 100 |": ("causes-episodes/physics5_shuffled", None, cases(EPISODES, "what if", "H@1")),
    "| row | 3 | 5 | 7 |": ("causes-objects/physics5", None, cases([*OBJECTS, *FEWER], "what if", "H@1", "goals")),
    "| row | 1 | 2 | 5 | 10 |": ("causes-horizon/physics5_shuffled", {"0"}, [*at("what if", 1, 2, 5, 10, 20, 50), *at("H@1", 50), *at("copy floor", 50)]),
}  # fmt: skip


def lines_below(text: str, header: str) -> dict[str, str]:
    """Label -> the cells of its line, of the table that begins so; lines in italics tell of no row, or of one after a colon."""
    table = re.search(rf"^{re.escape(header)}.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.M).group(1)
    named = (line.strip("| ").split(" | ", 1) for line in table.splitlines())
    return {label.rpartition("*: ")[2]: cells for label, cells in named if not label.endswith("*")}


def means(root, place: str, seeds: set[str] | None) -> dict[tuple[str, str, str], float]:
    """(label, score, steps) -> mean over seeds, of the weights at the end."""
    found = defaultdict(list)
    with open(root / "results" / "tables" / f"{place}.csv", newline="") as file:
        for one in csv.DictReader(file):
            if one["minutes"] == "end" and (seeds is None or one["seed"] in seeds):
                found[one["row"], one["metric"], one["steps"]].append(float(one["value"]))
    return {key: mean(values) for key, values in found.items()}


def numbers(cells: str, of_each: int) -> list[float | None]:
    """Those of a line in their order, without half intervals; None: so many for each cell that was not run."""
    found = []
    for cell in re.sub(r"± *[\d.]+", "", cells).split(" | "):
        found += [None] * of_each if cell == "-" else [float(text) for text in re.findall(r"-?[\d.]+", cell.replace(",", " "))]
    return found


@pytest.mark.parametrize("header", TABLES)
def test_docs_say_what_the_tables_say(root, header):
    """Each number within its rounding; once, a second drawn world was told by another mean, and shares as percent."""
    place, seeds, wanted = TABLES[header]
    held, short = means(root, place, seeds), ", small encoder" * ("published" in place)
    told = lines_below((root / "docs" / "equal_effort.md").read_text(), header)
    assert len(told) > 2
    for label, cells in told.items():
        keys = [(label + short + case, score, steps) for case, score, steps in wanted]
        there = numbers(cells, len(keys) // (1 + cells.count(" | ")))[: len(keys)]
        assert [None if value is None else round(value, 2) for value in there] == [pytest.approx(held[key], abs=0.0501) if key in held else None for key in keys], label
