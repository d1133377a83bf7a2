"""Decides by two rules, fixed beforehand, whether the answers of a participant are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from pydantic.dataclasses import dataclass

from eval.humans.study import STRICT, Entry, Study

SURPRISING_FROM = 50  # ratings of this and more say "surprising"


@dataclass(frozen=True, config=STRICT)
class Decision:
    """accepted: whether at least 70 % of the repeats were consistent and 80 % of the checks right.

    consistent: repeats whose two ratings lie on one side of 50.  consistency: their share, from 0 to 1.  checks_right: checks
    rated on the side of their version.
    """

    accepted: bool
    consistency: float
    consistent: int
    repeats: int
    checks_right: int
    checks: int

    @property
    def missed(self) -> tuple[str, ...]:
        """The criteria that were not met: consistency, checks, both or none."""
        consistent, right = _consistent_enough(self.consistent, self.repeats), _checks_enough(self.checks_right, self.checks)
        return ("consistency",) * (not consistent) + ("checks",) * (not right)

    def to_dict(self) -> dict:
        """As an export holds it."""
        return asdict(self)


def _consistent_enough(consistent: int, repeats: int) -> bool:
    return 10 * consistent >= 7 * repeats  # whole numbers: .7 is no exact float


def _checks_enough(right: int, checks: int) -> bool:
    return 5 * right >= 4 * checks


def says_surprising(rating: int) -> bool:
    """Of a rating from 0 to 100; 50 does."""
    return rating >= SURPRISING_FROM


def decide(entries: Sequence[Entry], ratings: Mapping[int, int], study: Study) -> Decision:
    """Over a whole list.  ratings: position -> rating, of every entry."""
    repeats = [entry for entry in entries if entry.kind == "repeat"]
    checks = [entry for entry in entries if entry.kind == "check"]
    side = {position: says_surprising(rating) for position, rating in ratings.items()}
    consistent = sum(side[entry.position] == side[entry.repeat_of] for entry in repeats)
    right = sum(side[entry.position] == (study.clips[entry.clip].version == "surprising") for entry in checks)
    accepted = _consistent_enough(consistent, len(repeats)) and _checks_enough(right, len(checks))
    return Decision(accepted, round(consistent / len(repeats), 4), consistent, len(repeats), right, len(checks))
