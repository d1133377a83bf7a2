"""The row of people in Table 4: hit rates of their mean ratings, from the analysis of a human trial."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from envs.problem import Problem
from eval.paper.voe_table import MEAN, SUBTYPES, Filled, Values

HUMANS, NO_SEED = "humans, mean ratings", -1
KEY = "voe/hit_rate"


class Humans(NamedTuple):
    """values: by the number of a sub-type, 0 for all.  caption: what the table's caption says of them."""

    values: dict[int, Values]
    caption: str


def read_humans(path: str | None) -> Humans | None:
    """What an analysis.json says, where one is named. Raises Problem where the file is missing, or is no analysis of
    eval/humans."""
    if path is None:
        return None
    try:
        found = json.loads(Path(path).read_text())
        rows = {number: _values(found, number) for number in range(1 + max(SUBTYPES.values()))}
        trials = sorted({str(of["trials"]) for of in found["categories"].values()}, key=int)
        told = (f"{HUMANS}: {found['accepted']} accepted of {found['finished']} participants of study {found['study']}, "
                f"{' to '.join(trials)} trials a category, each in one version for each participant")  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise Problem(f"{path} is no analysis of a human trial ({told}); make it with: python -m eval.humans analyse <study>, "
                      f"and set humans= to its analysis.json") from error  # fmt: skip
    return Humans(rows, told)


def with_humans(filled: Filled, humans: Humans | None) -> Filled:
    """The table with a row of people, where it is Table 4 and there are some."""
    if humans is None or not filled.table.published:
        return filled
    values = {(HUMANS, number): cells for number, cells in humans.values.items()}
    return replace(filled, values=filled.values | values, humans=HUMANS, told=humans.caption)


def _values(found: dict, number: int) -> Values:
    """Column -> hit rate; of a sub-type where `number` is not 0."""
    cells: Values = {}
    for of in found["categories"].values():
        letter = of["letter"]
        rate = of["metrics"].get(KEY + f"/{letter}{number}" * bool(number))
        if number <= SUBTYPES[letter]:
            cells[letter] = {} if rate is None else {NO_SEED: float(rate)}
    if not number:
        every = [rate for of_seed in cells.values() for rate in of_seed.values()]
        cells[MEAN] = {NO_SEED: mean(every)} if len(every) == len(SUBTYPES) else {}
    return cells
