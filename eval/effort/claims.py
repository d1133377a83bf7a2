"""What Ke et al. say (arXiv 2107.00848), and what is said of world models today, tested on rows of equal effort with intervals.

Only rows that rank above their own floor of copying the start are compared: below it, a model has learned nothing that another could
have learned better. The sentences are tested as they are meant, one pair of rows after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from eval.effort.filled import Filled, difference, spearman
from eval.runs.answers import LEVEL, REPLICATES

HOLDS, FAILS, OPEN, UNTESTED, MISSING = "holds", "does not hold", "undecided", "not testable at this budget", "runs are missing"
FEWEST = 5  # rows that have a rank correlation worth telling
PARTLY = 0.8  # a rank correlation below it is "partly"
RANKS, KNOWS = 97.0, 90.0  # percent at ten steps: ranks well, knows what another action would have done
PAIRS = (  # sentence, section of the paper, metric, the rows that are said to be better, the one that they beat
    ("models with structure beat the monolithic one under the hinge loss", "4.1", "H@1",
     ("GNN + hinge, small encoder", "modular + hinge, small encoder"), "AE + hinge, small encoder"),
    ("models with structure beat the monolithic one, asked what if (ours to ask)", "4.1", "what if",
     ("GNN + InfoNCE", "modular + InfoNCE", "edge + InfoNCE"), "AE + InfoNCE"),
    ("with structure the contrastive loss ranks better than likelihood", "4.4", "H@1", ("edge + hinge",), "edge + NLL"),
    ("with structure the contrastive loss knows more than likelihood, asked what if (ours to ask)", "4.4", "what if", ("edge + hinge",), "edge + NLL"),
    ("negatives of the same episode help the hinge (Biza et al. 2021)", "", "H@1", ("edge + hinge, same episode",), "edge + hinge"),
    ("hiding objects helps, asked what if (C-JEPA)", "", "what if", ("transformer + InfoNCE, hidden objects",), "transformer + InfoNCE"),
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """word: one of the five above.  figures: what it is judged by."""

    claim: str
    word: str
    figures: str


def check(filled: Sequence[Filled]) -> list[Verdict]:
    """All sentences on one env, after the last horizon."""
    rows, horizon = {one.label: one for one in filled if one.scores("H@1", one.study.horizons[-1])}, filled[0].study.horizons[-1]
    found = [_pairs(rows, horizon, *claim) for claim in PAIRS]
    above = [one for one in rows.values() if one.above_floor(horizon)]
    for name in ("H@1", "what if"):
        found.append(_correlated(above, name, horizon))
    return [*found, _ranks_and_knows(above, horizon)]


def _pairs(rows: dict[str, Filled], horizon: int, claim: str, section: str, name: str, better: tuple[str, ...], worse: str) -> Verdict:
    text = f"{claim}, {name} at {horizon} steps{f' ({section})' if section else ''}"
    if lacking := [row for row in (*better, worse) if row not in rows]:
        return Verdict(text, MISSING, lacking[0])
    floors = {row: rows[row].above_floor(horizon) for row in (*better, worse)}
    if not all(floors[row] for row in better):  # what is said to be better must know something
        return Verdict(text, UNTESTED, f"{next(row for row in better if not floors[row])} is not above its floor of copying")
    apart = {row: difference(rows[row], rows[worse], name, horizon) for row in better}
    if None in apart.values():
        return Verdict(text, MISSING, "answers were not kept")
    figures = "; ".join(f"{row} {one[0]:+.1f} [{one[1]:.1f}, {one[2]:.1f}]" for row, one in apart.items())
    figures += f" against {worse}" + ("" if floors[worse] else ", which is not above its floor of copying")
    low, high = (min(one[1] for one in apart.values()), min(one[2] for one in apart.values()))
    return Verdict(text, HOLDS if low > 0 else FAILS if high < 0 else OPEN, figures)


def _correlated(above: list[Filled], name: str, horizon: int) -> Verdict:
    """Rows are drawn with replacement."""
    text = f"{name} and success correlate only partly (Spearman below {PARTLY}), {horizon} steps (4.3)"
    points = []
    for one in above:
        x, y = one.estimate(name, horizon), one.estimate("goals", horizon)
        if x and y:
            points.append((x.mean, y.mean))
    rho = spearman(points) if len(points) >= FEWEST else None
    if rho is None:
        return Verdict(text, UNTESTED, f"{len(points)} rows are above their floors of copying")
    draw = np.random.default_rng(0).integers(len(points), size=(REPLICATES, len(points)))
    drawn = [value for of in draw if (value := spearman([points[i] for i in of])) is not None]
    low, high = np.percentile(drawn, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    word = HOLDS if high < PARTLY else FAILS if low > PARTLY else OPEN
    return Verdict(text, word, f"{rho:.2f} [{low:.2f}, {high:.2f}] over {len(points)} rows")


def _ranks_and_knows(above: list[Filled], horizon: int) -> Verdict:
    """Ours: most that rank well do not know what another action would have done."""
    text = f"most models that rank above {RANKS:g} know less than {KNOWS:g} of what another action does, {horizon} steps (ours)"
    well = {one.label: mean(one.scores("what if", horizon).values()) for one in above
            if one.estimate("H@1", horizon).mean > RANKS and one.scores("what if", horizon)}  # fmt: skip
    if not well:
        return Verdict(text, UNTESTED, f"no row ranks above {RANKS:g}")
    less = [row for row, value in well.items() if value < KNOWS]
    return Verdict(text, HOLDS if 2 * len(less) > len(well) else FAILS, f"{len(less)} of {len(well)} rows")


def lines(verdicts: list[Verdict]) -> tuple[list[str], list[list[str]]]:
    """Header and rows."""
    return ["", "sentence", "our runs"], [[one.word, one.claim, one.figures] for one in verdicts]
