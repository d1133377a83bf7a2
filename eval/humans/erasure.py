"""Erases participants who withdrew, ran out of time or were exported: no row is left, nor a freed page that holds one."""

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from eval.humans.database import Database
from eval.humans.store import Refused
from eval.humans.tables import Invite, Login, Participant, Response, Slot, StudyRow

FINISHED = ("submitted", "exported")  # all answers are given: these are exported, never thrown away
TOLD_DAYS = 30  # for which a browser is told that its invitation has run out


def withdraw(database: Database, handle: str) -> None:
    """Erase a participant who no longer wants to take part. Raises Refused once the answers are handed in."""
    with database.write() as session:
        invite = session.get(Invite, handle)
        if invite is None:
            return
        if invite.state in FINISHED:
            raise Refused("Your answers are handed in, so they can no longer be withdrawn; go on to get your code.")
        erase(database, session, handle, "withdrawn")
    database.wipe()


def expire_due(database: Database) -> int:
    """Erase everybody whose invitation has run out, and say how many. Their browsers are told that it has."""
    now = database.now()
    with database.read() as session:
        due = select(Invite.handle).where(Invite.expires <= now, Invite.state.not_in(FINISHED))
        lapsed = Login.expires <= now, Login.handle.is_(None)  # browsers that were told long enough
        if session.scalar(due.limit(1)) is None and session.scalar(select(Login.cookie_hash).where(*lapsed).limit(1)) is None:
            return 0
    with database.write() as session:
        session.execute(delete(Login).where(*lapsed))
        handles = list(session.scalars(due))
        for handle in handles:
            ended = {"handle": None, "status": "expired", "expires": now + TOLD_DAYS * 86400}
            session.execute(update(Login).where(Login.handle == handle).values(**ended))
            erase(database, session, handle, "expired")
        session.get_one(StudyRow, database.study.id).clock = now
    database.wipe()
    return len(handles)


def erase(database: Database, session: Session, handle: str, outcome: str) -> None:
    """Delete all rows of an invitation and count its outcome: accepted | rejected | withdrawn | expired.

    The list of an accepted participant stays taken; all others are free to be given out again.
    """
    person = session.scalar(select(Participant).where(Participant.handle == handle))
    if person is not None:
        if outcome == "accepted":
            session.execute(update(Slot).where(Slot.list == person.list).values(state="accepted"))
        else:
            session.execute(delete(Slot).where(Slot.list == person.list))
        session.execute(delete(Response).where(Response.participant == person.id))
        session.execute(delete(Participant).where(Participant.id == person.id))
    session.execute(delete(Login).where(Login.handle == handle))
    session.execute(delete(Invite).where(Invite.handle == handle))
    row = session.get_one(StudyRow, database.study.id)
    setattr(row, outcome, getattr(row, outcome) + 1)
