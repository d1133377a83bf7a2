"""How much larger a score of one row is than that of another, with its interval and the chance of as much."""

from statistics import mean
from typing import NamedTuple

from eval.effort.filled import Filled
from eval.effort.intervals import students, wider
from eval.runs.answers import ends, two_sided


class Difference(NamedTuple):
    """How much larger a score is: mean, the ends of its 95 % interval, and the chance of as much in one test made alone; as the
    interval, so is the chance the larger of the bootstrap's and Student's."""

    mean: float
    low: float
    high: float
    p: float


def scores_of_both(one: Filled, other: Filled, name: str, horizon: int) -> tuple[dict[int, float], dict[int, float]]:
    """Seed -> score of either; where every seed is a drawn world, of those alone that both have:
    in other worlds it is another question."""
    mine, theirs = (found.scores(name, horizon) for found in (one, other))
    if one.own_worlds:
        both = sorted(mine.keys() & theirs.keys())
        mine, theirs = ({seed: values[seed] for seed in both} for values in (mine, theirs))
    return mine, theirs


def difference(one: Filled, other: Filled, name: str, horizon: int) -> Difference | None:
    """Of a score of `one`: the interval is the wider of a bootstrap over seeds and episodes, paired over what both were asked,
    and of Student's t over seeds (Welch's; paired where every seed is a world); of goals it is the latter alone. None where
    either lacks answers, or has a single seed: what another seed would have said is not in its episodes; of goals also where no
    seed differs.
    """
    mine, theirs = scores_of_both(one, other, name, horizon)
    if min(len(mine), len(theirs)) < 2:
        return None
    over_seeds, apart = students(mine, theirs, one.own_worlds), mean(mine.values()) - mean(theirs.values())
    if name == "goals":  # tasks, of which no answers are kept
        return None if over_seeds.low is None else Difference(apart, *over_seeds)
    draws = [found.draws(name, horizon, tuple(sorted(values))) for found, values in ((one, mine), (other, theirs))]
    if any(draw is None for draw in draws):
        return None
    drawn = draws[0] - draws[1]
    interval, chance = wider(ends(drawn), (over_seeds.low, over_seeds.high)), max(over_seeds.p, two_sided(drawn))
    return Difference(apart, *interval, chance)
