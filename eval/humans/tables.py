"""What the database of a study holds, table by table."""

from sqlalchemy import CheckConstraint, ForeignKey, MetaData
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

STATES = ("invited", "authenticated", "consented", "demographics", "familiarisation", "testing", "submitted", "exported")
GENDERS = ("female", "male", "non-binary", "undisclosed")


class Base(DeclarativeBase):
    metadata = MetaData()


class StudyRow(Base):
    """The one study that this database belongs to, the latest time seen, and how many people ended in which way."""

    __tablename__ = "study"
    id: Mapped[str] = mapped_column(primary_key=True)
    manifest: Mapped[str]
    clock: Mapped[float]  # seconds since 1970
    accepted: Mapped[int] = mapped_column(default=0)
    rejected: Mapped[int] = mapped_column(default=0)
    withdrawn: Mapped[int] = mapped_column(default=0)
    expired: Mapped[int] = mapped_column(default=0)


class Slot(Base):
    """A list of the study that somebody holds ("open") or held to the end ("accepted"); free lists have no row."""

    __tablename__ = "slot"
    list: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[str]


class Invite(Base):
    """An invitation and how far its participant has come. Finished, withdrawn and expired ones have no row.

    handle: the public first part of the password; state: one of STATES; step: scenario or video that is due, from 1;
    interlude: a page of text is due before that step; expires: seconds since 1970.
    """

    __tablename__ = "invite"
    handle: Mapped[str] = mapped_column(primary_key=True)
    password_hash: Mapped[str]
    state: Mapped[str] = mapped_column(default="invited")
    step: Mapped[int] = mapped_column(default=1)
    interlude: Mapped[bool] = mapped_column(default=False)
    expires: Mapped[float]


class Participant(Base):
    """The person behind an invitation, under a random id: the list of clips, age in years, gender."""

    __tablename__ = "participant"
    id: Mapped[str] = mapped_column(primary_key=True)
    handle: Mapped[str] = mapped_column(ForeignKey("invite.handle"), unique=True)
    list: Mapped[int] = mapped_column(unique=True)
    age: Mapped[int | None]
    gender: Mapped[str | None]


class Response(Base):
    """One answer: 0 (expected) to 100 (surprising), milliseconds from the first play to Next, full plays."""

    __tablename__ = "response"
    __table_args__ = (CheckConstraint("rating BETWEEN 0 AND 100"), CheckConstraint("position >= 1"))
    participant: Mapped[str] = mapped_column(ForeignKey("participant.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    rating: Mapped[int]
    rt_ms: Mapped[int]
    plays: Mapped[int]


class Login(Base):
    """A browser that is logged in, by the hash of its random cookie.

    role: participant | admin; status: current | replaced (another device took over) | expired (the invitation ended, and its
    participant is erased: handle is empty).
    """

    __tablename__ = "login"
    cookie_hash: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str]
    handle: Mapped[str | None] = mapped_column(ForeignKey("invite.handle"), index=True)
    status: Mapped[str] = mapped_column(default="current")
    expires: Mapped[float]


class PaymentCode(Base):
    """The hash of a code that was given out. No key, date or order leads from it to a participant."""

    __tablename__ = "payment_code"
    __table_args__ = {"sqlite_with_rowid": False}  # rows lie in the order of their hashes, not in that of their making
    code_hash: Mapped[str] = mapped_column(primary_key=True)
    claimed: Mapped[bool] = mapped_column(default=False)
