"""Who is logged in: a random cookie whose hash is stored, one device at a time for each invitation."""

import secrets
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from eval.humans.allocation import next_list
from eval.humans.database import Database
from eval.humans.passwords import HANDLE, Passwords, digest, letters_of
from eval.humans.store import Refused
from eval.humans.tables import Invite, Login, Participant, Slot

ADMIN_HOURS = 8
TAKEN = "All places of this study are taken at the moment; your password stays valid, so please try again in a few days."


@dataclass(frozen=True)
class Visitor:
    """Whoever sent a cookie: role and status of the login, and for a participant where they stand (see tables.py)."""

    cookie_hash: str
    role: str
    status: str
    handle: str = ""
    state: str = ""
    step: int = 0
    interlude: bool = False
    late: bool = False
    participant: str = ""
    list: int = 0


def log_in(database: Database, passwords: Passwords, password: str) -> str | None:
    """A fresh cookie for the participant of this password, or None. An earlier device is logged out.

    The first login gives out a list. Raises Refused where every list is held.
    """
    typed = letters_of(password)
    with database.read() as session:
        stored = session.scalar(select(Invite.password_hash).where(Invite.handle == typed[:HANDLE]))
    if not passwords.right(typed, stored):
        return None
    cookie = secrets.token_urlsafe(32)
    with database.write() as session:
        invite = session.get(Invite, typed[:HANDLE])
        if invite is None or invite.expires <= database.now():
            return None
        if invite.state == "invited":
            _give_list(database, session, invite)
        session.execute(update(Login).where(Login.handle == invite.handle).values(status="replaced"))
        session.add(Login(cookie_hash=digest(cookie), role="participant", handle=invite.handle, expires=invite.expires))
    return cookie


def _give_list(database: Database, session: Session, invite: Invite) -> None:
    """invited -> authenticated, with a random id and the list that is due."""
    held = {slot.list: slot.state for slot in session.scalars(select(Slot))}
    number = next_list(held, len(database.study.lists))
    if number is None:
        raise Refused(TAKEN)
    session.add(Slot(list=number, state="open"))
    session.add(Participant(id=secrets.token_hex(8), handle=invite.handle, list=number))
    invite.state = "authenticated"


def log_in_admin(database: Database) -> str:
    """A fresh cookie for the admin, whose password was checked."""
    cookie = secrets.token_urlsafe(32)
    with database.write() as session:
        expires = database.now() + ADMIN_HOURS * 3600
        session.add(Login(cookie_hash=digest(cookie), role="admin", expires=expires))
    return cookie


def log_out(database: Database, cookie: str) -> None:
    """Forget a cookie."""
    with database.write() as session:
        if login := session.get(Login, digest(cookie)):
            session.delete(login)


def visitor(database: Database, cookie: str) -> Visitor | None:
    """Whoever sent this cookie; None: nobody who is logged in."""
    with database.read() as session:
        row = session.execute(
            select(Login, Invite, Participant).where(Login.cookie_hash == digest(cookie))
            .outerjoin(Invite, Invite.handle == Login.handle).outerjoin(Participant, Participant.handle == Login.handle)
        ).one_or_none()  # fmt: skip
    if row is None:
        return None
    login, invite, person = row
    late = login.expires <= database.now()
    if invite is None:
        return None if late else Visitor(login.cookie_hash, login.role, login.status)
    standing = (invite.handle, invite.state, invite.step, invite.interlude, late, person.id, person.list)
    return Visitor(login.cookie_hash, login.role, login.status, *standing)
