"""The steps of a participant, each one transaction that may be asked twice: consent, demographics, scenarios, answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from envs.problem import Problem
from eval.humans.database import Database
from eval.humans.tables import GENDERS, STATES, Invite, Participant, Response

AGES = range(18, 100)  # years, of adults
PAUSE_EVERY = 40  # videos
LONGEST_MS = 24 * 3600 * 1000  # a reading time beyond is that of a page left open
MOST_PLAYS = 1000


class Refused(Problem):
    """What was asked is not the step that is due. The current step is unchanged."""


class Gone(Problem):
    """The invitation has ended: finished, withdrawn or expired."""


@contextmanager
def _step_of(database: Database, handle: str) -> Iterator[tuple[Session, Invite]]:
    """A transaction on an invitation that still runs."""
    with database.write() as session:
        invite = session.get(Invite, handle)
        if invite is None or invite.expires <= database.now():
            raise Gone("This invitation has ended; nothing was saved.")
        yield session, invite


def _before(invite: Invite, state: str) -> bool:
    return STATES.index(invite.state) < STATES.index(state)


def consent(database: Database, handle: str) -> None:
    """authenticated -> consented."""
    with _step_of(database, handle) as (_, invite):
        if _before(invite, "consented"):
            invite.state = "consented"


def tell_about_yourself(database: Database, handle: str, age: int, gender: str) -> None:
    """consented -> demographics. What was told first stays. Raises Problem on an age or a gender out of range."""
    if age not in AGES:
        raise Problem(f"Age is {age}; participants are {AGES.start} to {AGES.stop - 1} years old: correct the age or withdraw.")
    if gender not in GENDERS:
        raise Problem(f"Gender is one of {', '.join(GENDERS)}; choose one of them.")
    with _step_of(database, handle) as (session, invite):
        if _before(invite, "consented"):
            raise Refused("The information for participants comes first.")
        if _before(invite, "demographics"):
            person = _participant(session, handle)
            person.age, person.gender, invite.state = age, gender, "demographics"


def proceed(database: Database, handle: str) -> None:
    """On from a page of text: the instructions (demographics -> familiarisation), the start of the test, a pause."""
    with _step_of(database, handle) as (_, invite):
        if _before(invite, "demographics"):
            raise Refused("The questions about you come first.")
        if invite.state == "demographics":
            invite.state, invite.step = "familiarisation", 1
            _test_if_familiar(database, invite)
        invite.interlude = False


def familiarise(database: Database, handle: str, scenario: int) -> None:
    """Scenario 1.. was seen: on to the next, after the last to the test."""
    with _step_of(database, handle) as (_, invite):
        due = invite.step if invite.state == "familiarisation" else 0
        if _before(invite, "familiarisation") or due and scenario > due:
            raise Refused(f"Scenario {scenario} is not due yet; the scenarios come one after the other.")
        if scenario == due:
            invite.step += 1
            _test_if_familiar(database, invite)


def _test_if_familiar(database: Database, invite: Invite) -> None:
    if invite.step > len(database.study.familiarisation):
        invite.state, invite.step, invite.interlude = "testing", 1, True


def answer(database: Database, handle: str, position: int, rating: int, rt_ms: int, plays: int) -> None:
    """Store the answer to the video that is due. Raises Problem on a value out of range, Refused on another position.

    The same answer once more is a repeated request and changes nothing; another answer to that position is refused.
    """
    _check_range("rating", rating, 0, 100)
    _check_range("rt_ms", rt_ms, 0, LONGEST_MS)
    _check_range("plays", plays, 1, MOST_PLAYS)
    with _step_of(database, handle) as (session, invite):
        person = _participant(session, handle)
        stored = session.get(Response, (person.id, position))
        if stored is not None:
            if stored.rating != rating:
                raise Refused(f"Video {position} has an answer already, and answers are final; go on with the one that is due.")
            return
        last = len(database.study.lists[person.list])
        if invite.state != "testing" or invite.interlude or position != invite.step or position > last:
            raise Refused(f"Video {position} is not due; the videos come one after the other.")
        session.add(Response(participant=person.id, position=position, rating=rating, rt_ms=rt_ms, plays=plays))
        invite.step += 1
        invite.interlude = position % PAUSE_EVERY == 0 and position < last


def _participant(session: Session, handle: str) -> Participant:
    return session.query(Participant).filter_by(handle=handle).one()


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Problem(f"The {name} is {value}, not a whole number from {low} to {high}; reload the page and answer again.")
