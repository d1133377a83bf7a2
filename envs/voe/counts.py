"""How many trials there are of every sub-type: ours beside the supplement's Tables 1 and 2, or forced to be theirs."""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence

import numpy as np

from envs.problem import Problem
from envs.voe.labels import subtype
from envs.voe.settings import SEGMENTS, Setting, enters, stream, trials

_COLUMNS = ("A1", "A2", "B1", "B2", "C1", "C2", "D1", "D2", "D3", "E1", "E2", "E3")
_TABLES = {  # full set or not, segment -> counts
    (True, "train"): (1818, 1932, 1710, 2040, 1616, 2134, 1665, 404, 1681, 717, 714, 2319),
    (True, "valid"): (377, 373, 318, 432, 446, 304, 317, 86, 347, 142, 147, 461),
    (True, "test"): (246, 254, 224, 276, 308, 192, 208, 74, 218, 97, 99, 304),
    (False, "train"): (180, 195, 159, 216, 168, 207, 170, 34, 171, 73, 63, 239),
    (False, "valid"): (35, 40, 35, 40, 48, 27, 37, 4, 34, 14, 12, 49),
    (False, "test"): (26, 24, 24, 26, 31, 19, 16, 9, 25, 8, 15, 27),
}


def published_counts(category: str, full: bool, segment: str) -> dict[str, int]:
    """Sub-type -> trials in a segment of the full set (Table 1), or of the 10 % set (Table 2)."""
    return {name: count for name, count in zip(_COLUMNS, _TABLES[full, segment]) if name.startswith(category)}


def compare(category: str, subtypes: Sequence[str]) -> list[dict]:
    """subtypes of trials 1..5000 -> rows: set, segment, subtype, ours, published."""
    rows = []
    for full, segment in _TABLES:
        ours = Counter(subtypes[trial - 1] for trial in trials(segment, full))
        for name, count in published_counts(category, full, segment).items():
            which = "full" if full else "tenth"
            rows.append({"set": which, "segment": segment, "subtype": name, "ours": ours[name], "published": count})
    return rows


def table(rows: list[dict]) -> str:
    """`compare` as text, a line for each cell."""
    lines = [f"{'set':6} {'segment':8} {'type':5} {'ours':>6} {'paper':>6} {'off':>7}"]
    for row in rows:
        off = 100 * (row["ours"] / row["published"] - 1)
        cells = f"{row['set']:6} {row['segment']:8} {row['subtype']:5} {row['ours']:6} {row['published']:6}"
        lines.append(f"{cells} {off:+6.1f}%")
    return "\n".join(lines)


def exact(category: str, preset: str = "supplement", seed: int = 0, colors: str = "by_shape") -> list[Setting]:
    """5000 settings as `sample` draws them, but with the published count of every sub-type in every segment and 10 % set.

    What is drawn too early waits until its sub-type is asked for. Trials of C are simulated, which takes a minute or two.
    """
    drawn, waiting, found = stream(category, preset, seed), defaultdict(deque), []
    for trial, wanted in enumerate(_order(category, seed), 1):
        late = category == "C" and trial > SEGMENTS["train"][1]
        found.append(_next(drawn, waiting, wanted, lambda s, late=late: not late or enters(s), category, trial, colors, seed))
    return found


def _order(category: str, seed: int) -> list[str]:
    """The sub-type of every trial: shuffled within the 10 % set and within the rest of every segment."""
    rng, order = np.random.default_rng([seed, ord(category), 1]), []
    for segment in SEGMENTS:
        tenth, full = (Counter(published_counts(category, which, segment)) for which in (False, True))
        for block in (tenth, full - tenth):
            order += rng.permutation(sorted(block.elements())).tolist()
    return order


def _next(drawn, waiting, wanted: str, admit, category: str, trial: int, colors: str, seed: int) -> Setting:
    """The first setting of the wanted sub-type: one that waits, else one that is drawn.

    What is not admitted is dropped: later trials do not admit it either.
    """
    while waiting[wanted]:
        setting = Setting(category, trial, **waiting[wanted].popleft(), colors=colors, seed=seed)
        if admit(setting):
            return setting
    for values in drawn:
        setting = Setting(category, trial, **values, colors=colors, seed=seed)
        if not admit(setting):
            continue
        kind = subtype(setting)
        if kind == wanted:
            return setting
        waiting[kind].append(values)
    raise Problem(f"the grid of category {category} has no more settings of sub-type {wanted}; take counts=natural")
