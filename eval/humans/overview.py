"""What the admin sees of a study: who has come how far, and how many have ended how. No answers, no ids."""

from dataclasses import dataclass

from sqlalchemy import func, select

from eval.humans.database import Database
from eval.humans.passwords import ALPHANUMERIC, CODE, digest
from eval.humans.tables import Invite, PaymentCode, Slot, StudyRow

ENDS = ("accepted", "rejected", "withdrawn", "expired")


@dataclass(frozen=True)
class Overview:
    """running: (handle, state, step, expires) of every invitation; ended: outcome -> people; open_lists of all lists; codes
    given out."""

    running: list[tuple[str, str, int, float]]
    ended: dict[str, int]
    open_lists: int
    lists: int
    codes: int


def overview(database: Database) -> Overview:
    """The study as it stands."""
    with database.read() as session:
        rows = session.execute(select(Invite.handle, Invite.state, Invite.step, Invite.expires).order_by(Invite.handle))
        study = session.get_one(StudyRow, database.study.id)
        held = session.scalar(select(func.count()).select_from(Slot).where(Slot.state == "open"))
        codes = session.scalar(select(func.count()).select_from(PaymentCode))
        return Overview([tuple(row) for row in rows], {end: getattr(study, end) for end in ENDS}, held,
                        len(database.study.lists), codes)  # fmt: skip


def claim(database: Database, code: str) -> str:
    """"paid now", "paid before" or "unknown", of a payment code that somebody brings."""
    typed = "".join(c for c in code.upper() if c in ALPHANUMERIC)[: CODE + 1]
    with database.write() as session:
        row = session.get(PaymentCode, digest(typed))
        if row is None:
            return "unknown"
        before, row.claimed = row.claimed, True
        return "paid before" if before else "paid now"


def is_code(database: Database, code: str) -> bool:
    """Whether this code was given out."""
    with database.read() as session:
        return session.get(PaymentCode, digest(code)) is not None
