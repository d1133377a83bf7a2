"""Tests sentences (sentences.py) on the rows of a table, with intervals.

A row is compared in a score only where it is above its own floor in that score, copying the start, of goals policies without a
model (random, and painting by number where colours are set): below the floor a model has learned nothing, and to be worse than
another says nothing. Every row needs SEEDS seeds whose trainings ended. Each sentence is first tested alone, pair of rows by
pair of rows. Holm's correction then says which sentences still hold when all are tested together; its chances are multiplied by
the number of looks at `final` after which seeds were added.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean

import numpy as np

from eval.effort.differences import difference, scores_of_both
from eval.effort.filled import Filled
from eval.effort.intervals import FEW, holm, reliability
from eval.effort.ledger_rows import in_common
from eval.effort.score_names import RANDOM
from eval.effort.sentences import CORRELATED, NOT_ASKED, PAPER, Sentence, sentences
from eval.effort.settings import causes
from eval.figures.charts import Point, rank_correlation
from eval.runs.answers import REPLICATES, ends

HOLDS, FAILS, OPEN, UNTESTED, MISSING = "holds", "does not hold", "undecided", "not testable at this budget", "runs are missing"
ASKED_OF_NONE = "not asked"
SEEDS = FEW  # of a row, at least
FEWEST = 5  # rows that have a rank correlation, or a share, worth telling
PARTLY = 0.8  # a rank correlation below it is "partly"
RELIABLE = 0.9  # a rank correlation is told where chance takes less than a tenth of it
ALONE, ERROR = ", taken alone", 0.05  # after the word where the interval tells, and Holm's correction does not
RANKS, KNOWS = 97.0, 90.0  # percent at ten steps: ranks well, knows what another action would have done
SLIGHTLY = 5.0  # points above a random policy that are still "only slightly better"


@dataclass(frozen=True)
class Verdict:
    """word: one of the six above; the first two are followed by ALONE where Holm's correction does not confirm them.  figures:
    the numbers behind it.  p: of a sentence on pairs of rows, the chance of so large a difference where there is none."""

    claim: str
    word: str
    figures: str
    p: float | None = None


def check(filled: Sequence[Filled]) -> list[Verdict]:
    """All sentences on the rows of a study in one env, after the last horizon; those on many rows, of the main study alone."""
    study, env = filled[0].study, filled[0].env
    horizon = study.horizons[-1]
    rows = {one.label: one for one in filled if one.entries}
    asked = sentences(filled[0].own_worlds, {row.name for row in study.rows_of(None)})
    looks = causes()["looks"].get(study.name, {}).get(env, 1)
    found = _all_at_once([_pair(rows, horizon, sentence) for sentence in asked], looks)
    found.append(_hardly_better_than_random(rows, horizon))
    if not study.has_main_runs:
        return found
    every = list(rows.values())
    found += [*(_correlated(every, *pair, horizon) for pair in CORRELATED), _ranks_and_knows(every, horizon)]
    return [*found, *(Verdict(claim, ASKED_OF_NONE, why) for claim, why in NOT_ASKED.items())]


def _all_at_once(verdicts: list[Verdict], looks: int) -> list[Verdict]:
    """The verdicts with their chances corrected: Holm's correction over all tested sentences, times the looks at `final`."""
    tested = [one for one in verdicts if one.p is not None]
    corrected = {one.claim: min(1.0, looks * p) for one, p in zip(tested, holm([one.p for one in tested]))}

    def judged(one: Verdict) -> Verdict:
        p = corrected[one.claim]
        word = one.word + ALONE if one.word in (HOLDS, FAILS) and p >= ERROR else one.word
        family = f"{len(tested)} sentences{f', {looks} looks' if looks > 1 else ''}"
        return replace(one, word=word, figures=f"{one.figures}; p {one.p:.3f}, of {family} {p:.3f}")

    return [one if one.p is None else judged(one) for one in verdicts]


def _unfit(one: Filled, name: str, horizon: int) -> tuple[str, str] | None:
    """Why a row can be part of no test: a word, and a reason; None where it can."""
    if one.diverged:
        return UNTESTED, f"{len(one.diverged)} training{'s' if len(one.diverged) > 1 else ''} of {one.label} diverged"
    if len(one.scores(name, horizon)) < SEEDS:
        return MISSING, f"{one.label} has {len(one.scores(name, horizon))} of {SEEDS} seeds"
    above, goals = one.above_floor(name, horizon), name == "goals"
    if above is None:
        return MISSING, f"of {one.label} {'no policy without a model was asked' if goals else 'answers were not kept'}"
    floor = "a policy without a model" if goals else "its floor of copying"
    return None if above else (UNTESTED, f"{one.label} is not above {floor}")


def _fit(rows: list[Filled], name: str, horizon: int) -> list[Filled]:
    """The rows that can be part of a test; where every seed is a drawn world, in those that all of them have,
    none of fewer than SEEDS."""
    fit = in_common([one for one in rows if _unfit(one, name, horizon) is None], name, horizon)
    return [one for one in fit if len(one.scores(name, horizon)) >= SEEDS]


def _pair(rows: dict[str, Filled], horizon: int, sentence: Sentence) -> Verdict:
    """A sentence on one row and those that are said to be better."""
    claim, section, name, better, worse = sentence
    text = f"{claim}, {name} at {horizon} steps{f' ({section})' if section else ''}"
    if lacking := [row for row in (*better, worse) if row not in rows]:
        return Verdict(text, MISSING, lacking[0])
    for row in (*better, worse):
        if why := _unfit(rows[row], name, horizon):
            return Verdict(text, *why)
    if few := [row for row in better if len(scores_of_both(rows[row], rows[worse], name, horizon)[0]) < SEEDS]:
        return Verdict(text, MISSING, f"{few[0]} and {worse} have fewer than {SEEDS} drawn worlds in common")
    apart = {row: difference(rows[row], rows[worse], name, horizon) for row in better}
    if None in apart.values():
        return Verdict(text, UNTESTED, "no seed differs from another")
    figures = (
        "; ".join(f"{row} {one.mean:+.1f} [{one.low:.1f}, {one.high:.1f}]" for row, one in apart.items()) + f" against {worse}"
    )
    low, high = min(one.low for one in apart.values()), min(one.high for one in apart.values())
    against = [one.p for one in apart.values() if one.high < 0]  # one pair refutes a sentence, all are needed to hold it
    p = min(1.0, len(apart) * min(against)) if against else max(one.p for one in apart.values())
    word = HOLDS if low > 0 else FAILS if high < 0 else OPEN
    room = 100 - max(mean(scores_of_both(rows[row], rows[worse], name, horizon)[1].values()) for row in better)
    if word == OPEN and room < min((one.high - one.low) / 2 for one in apart.values()):
        word, figures = UNTESTED, f"{figures}, which leaves {room:.1f} to be better by"
    return Verdict(text, word, figures, p)  # a p all the same: whether it was tested is not decided by what was found


def _hardly_better_than_random(rows: dict[str, Filled], horizon: int) -> Verdict:
    """Most of the paper's rows, each with its interval over seeds."""
    text = f"most models reach goals only slightly better than a random policy, {horizon} steps (4.3)"
    asked = [rows[name] for name in PAPER if name in rows]
    above = [one.goals_above(RANDOM, horizon) for one in asked]
    if len(asked) < len(PAPER) or any(len(of.values) < SEEDS or one.diverged for one, of in zip(asked, above)):
        return Verdict(text, MISSING, f"needed are {'; '.join(PAPER)}, with {SEEDS} seeds each that ended")
    told = "; ".join(f"{one.label} {of.mean:+.1f} [{of.low:.1f}, {of.high:.1f}]" for one, of in zip(asked, above))
    few, many = sum(of.high < SLIGHTLY for of in above), sum(of.low > SLIGHTLY for of in above)
    word = HOLDS if 2 * few > len(above) else FAILS if 2 * many > len(above) else OPEN
    return Verdict(text, word, f"{told}; slightly: less than {SLIGHTLY:g}")


def _correlated(rows: list[Filled], name: str, other: str, section: str, horizon: int) -> Verdict:
    """Rows are drawn with replacement.

    Chance of seeds in the means of rows lowers a correlation: where it does so by much, nothing is told.
    """
    text = (
        f"{name} and {other.replace('goals', 'success')} correlate only partly (Spearman below {PARTLY}), "
        f"{horizon} steps ({section})"
    )
    both = [one for one in _fit(rows, name, horizon) if len(one.scores(other, horizon)) >= SEEDS]
    fit = [one for one in in_common(both, other, horizon) if len(one.scores(other, horizon)) >= SEEDS]
    if len(fit) < FEWEST:
        return Verdict(
            text, UNTESTED, f"rows above their floor of copying in {name} with {SEEDS} seeds: {len(fit)}; {FEWEST} are needed"
        )
    sides = [[one.estimate(side, horizon) for one in fit] for side in (name, other)]
    points = [Point(one.label, "", "", x.mean, y.mean) for one, x, y in zip(fit, *sides)]
    rho, kept = rank_correlation(points), np.sqrt(np.prod([reliability(side, fit[0].own_worlds) for side in sides]))
    if rho is None or kept < RELIABLE:
        return Verdict(
            text, UNTESTED, f"{len(fit)} rows lie too near each other: seeds alone would lower a correlation of 1 to {kept:.2f}"
        )
    draw = np.random.default_rng(0).integers(len(points), size=(REPLICATES, len(points)))
    low, high = ends(_rank_correlations(*(np.array([one.mean for one in side])[draw] for side in sides)))
    word = HOLDS if high < PARTLY else FAILS if low > PARTLY else OPEN
    return Verdict(text, word, f"{rho:.2f} [{low:.2f}, {high:.2f}] over {len(points)} rows")


def _rank_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's of each row of x and y (R, N), as of `rank_correlation`; rows in which a side never changes are left out."""
    from scipy.stats import rankdata  # takes a second

    x, y = (rankdata(side, axis=1) - (side.shape[1] + 1) / 2 for side in (x, y))
    spread = np.sqrt((x**2).sum(1) * (y**2).sum(1))
    return (x * y).sum(1)[spread > 0] / spread[spread > 0]


def _ranks_and_knows(rows: list[Filled], horizon: int) -> Verdict:
    """Ours: most that rank well do not know what another action would have done.

    The share is bootstrapped over rows, seeds and episodes.
    """
    text = f"most models that rank above {RANKS:g} know less than {KNOWS:g} of what another action does, {horizon} steps (ours)"
    fit = [one for one in _fit(rows, "H@1", horizon) if one.draws("what if", horizon) is not None]
    drawn = ([one.draws(name, horizon) for one in fit] for name in ("H@1", "what if"))
    ranked, known = (np.stack(of) if fit else np.zeros((0, REPLICATES)) for of in drawn)  # (rows, R)
    well = ranked > RANKS
    usual = int(np.median(well.sum(0)))
    if usual < FEWEST:
        return Verdict(text, UNTESTED, f"rows that rank above {RANKS:g} with {SEEDS} seeds: {usual}; {FEWEST} are needed")
    # (rows, R): how often each is drawn
    among = np.random.default_rng(1).multinomial(len(fit), np.full(len(fit), 1 / len(fit)), REPLICATES).T
    ranking, ignorant = ((among * of).sum(0) for of in (well, well & (known < KNOWS)))
    share = 100 * ignorant[ranking > 0] / ranking[ranking > 0]
    low, high = ends(share)
    word = HOLDS if low > 50 else FAILS if high < 50 else OPEN
    above = [one for one in fit if one.estimate("H@1", horizon).mean > RANKS]
    lacking = [one for one in above if one.estimate("what if", horizon).mean < KNOWS]
    return Verdict(text, word, f"{len(lacking)} of {len(above)} rows, [{low:.0f}, {high:.0f}] %")


def lines(verdicts: list[Verdict]) -> tuple[list[str], list[list[str]]]:
    """Header and rows."""
    return ["", "sentence", "our runs"], [[one.word, one.claim, one.figures] for one in verdicts]
