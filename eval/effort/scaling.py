"""Lines of a study of equal effort: what if over what it varies, minutes of training, steps ahead, or what its cases count."""

import re
from collections.abc import Sequence
from statistics import mean

from eval.effort.filled import Filled, Scored
from eval.effort.intervals import Estimate
from eval.figures.curves import LinePoint, lines_figure

SCORE, MINUTES = "what if", "minutes of processor time"
_CASE = re.compile(r"(?P<count>\d+) (?P<what>\w+)(, (?P<how>.+))?")  # 7 objects, 5 at a time in training
Lines = dict[str, list[LinePoint]]


def scaling(filled: Sequence[Filled]) -> tuple[str, Lines]:
    """What a study varies, and label of a line -> its points, lines of most at the last point first.
    Rows without a run have none."""
    study = filled[0].study
    if len(study.cases) > 1:
        what, lines = _over_cases(filled)
    elif study.curve:
        what, lines = MINUTES, {one.label: _over_minutes(one) for one in filled}
    else:
        what, lines = "steps", {one.label: _over_steps(one) for one in filled}
    whole = {label: sorted(points) for label, points in lines.items() if points}
    return what, dict(sorted(whole.items(), key=lambda line: -line[1][-1].y))


def scaling_figure(filled: Sequence[Filled], title: str = ""):
    """`scaling` as a chart; None where no line has two points.  -> matplotlib Figure."""
    what, lines = scaling(filled)
    if not any(len(points) > 1 for points in lines.values()):
        return None
    study, ticks = filled[0].study, []
    if what == MINUTES and study.minutes:
        ticks = [study.minutes * after / study.rounds for after in sorted({*study.curve, study.rounds})]
    at = "" if what == "steps" else f" at {study.horizons[-1]} steps"
    return lines_figure(lines, what, f"{SCORE}{at}, %", title, ticks)


def _point(x: float, found: Estimate) -> LinePoint:
    return LinePoint(x, found.mean, *found.whiskers)


def _over_cases(filled: Sequence[Filled]) -> tuple[str, Lines]:
    """Cases begin with a number of something; what follows a comma makes a line of its own."""
    lines: Lines = {}
    for one in filled:
        case = _CASE.fullmatch(one.case)
        found = one.estimate(SCORE, one.study.horizons[-1])
        if found:
            label = one.row.name if case["how"] is None else f"{one.row.name}, {case['how']}"
            lines.setdefault(label, []).append(_point(float(case["count"]), found))
    return _CASE.fullmatch(filled[0].case)["what"], lines


def _over_minutes(one: Filled) -> list[LinePoint]:
    """After the same rounds of all seeds, at their mean time; at the end what the whole time gave, not the last weights."""
    after: dict[int | str, list[Scored]] = {}
    for scored in one.curve.get((SCORE, one.study.horizons[-1]), []):
        if scored.after != one.study.rounds:
            after.setdefault(scored.after, []).append(scored)
    return [
        _point(mean(s.minutes for s in same), Estimate.over_seeds({s.seed: s.value for s in same})) for same in after.values()
    ]


def _over_steps(one: Filled) -> list[LinePoint]:
    found = {h: one.estimate(SCORE, h) for h in one.study.horizons}
    return [_point(float(h), estimate) for h, estimate in found.items() if estimate]
