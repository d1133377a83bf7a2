"""Opens the SQLite file of a study, and reads and writes it in transactions that survive a kill."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, create_engine, event, exc, select, text
from sqlalchemy.orm import Session

from envs.problem import Problem
from eval.humans.study import Study
from eval.humans.tables import Base, StudyRow

NAME = "trials.db"  # in the folder of the study
SCHEMA = 1  # PRAGMA user_version of the files that this code reads and writes
APPLICATION = 0x43574D48  # PRAGMA application_id: "CWMH"
SYNCHRONOUS = "FULL"  # what was answered "saved" is on the disk
BUSY_MS = 10_000  # a writer waits so long for another
WIPE_MS = 250  # emptying the log waits so long for readers
FULL = "The server's disk is full, so this was not saved; nothing is lost: keep this page open and press again in a minute."
LOCKED = "The server is busy, so this was not saved; nothing is lost: keep this page open and press again in a minute."


class NotSaved(Problem):
    """A transaction that the disk or another writer kept from being saved. Nothing of it is kept; it may be asked again."""


class Clock:
    """Seconds since 1970 that never go back, whatever happens to the machine's clock. seen: the latest time in the database."""

    def __init__(self, seen: float = 0.0) -> None:
        self.start, self.since = max(time.time(), seen), time.monotonic()

    def __call__(self) -> float:
        return self.start + time.monotonic() - self.since


class Database:
    """The database of a study. `read` and `write` open a session; a write is one transaction, saved whole or not at all."""

    def __init__(self, study: Study, path: Path | None = None) -> None:
        self.study, self.path = study, path or Path(study.folder) / NAME
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))  # nobody else on the machine reads it
        self.engine, self._turn = _engine(self.path), threading.Lock()  # threads queue here; SQLite lets those who wait poll
        try:
            with self.write() as session:
                self._prepare(session)
                self.now = Clock(session.get_one(StudyRow, study.id).clock)
        except exc.OperationalError as error:  # a folder that cannot be written, a disk that is full
            raise Problem(f"{self.path} cannot be opened or written ({error.orig}); the answers in it are untouched: "
                          f"see to the disk and the rights of its folder, and start again") from None  # fmt: skip
        except exc.DatabaseError as error:
            raise Problem(f"{self.path} is no database of human trials ({error.orig}); move it away to start anew") from None

    def _prepare(self, session: Session) -> None:
        """Lay the tables of an empty file, and raise Problem on a file of another schema or study."""
        schema, application = (session.scalar(text(f"PRAGMA {key}")) for key in ("user_version", "application_id"))
        if not schema and not session.scalar(text("SELECT count(*) FROM sqlite_master")):
            Base.metadata.create_all(session.connection())
            session.execute(text(f"PRAGMA user_version = {SCHEMA}"))
            session.execute(text(f"PRAGMA application_id = {APPLICATION}"))
            session.add(StudyRow(id=self.study.id, manifest=self.study.manifest, clock=time.time()))
            session.flush()
        elif application != APPLICATION:
            raise Problem(f"{self.path} is the database of another program; move it away to start anew")
        elif schema != SCHEMA:
            age = "an older" if schema < SCHEMA else "a newer"
            raise Problem(f"{self.path} has schema {schema} of {age} version, not {SCHEMA}; finish the study with that, "
                          "or move the file away to start anew")  # fmt: skip
        row, own = session.scalar(select(StudyRow)), self.study.id
        if row is None or (row.id, row.manifest) != (own, self.study.manifest):
            raise Problem(f"{self.path} belongs to study {row.id if row else 'none'}, not to {own} of {self.study.folder}; "
                          "put it beside the study.json that it was started with")  # fmt: skip

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session whose changes are saved and fsynced at the end. Raises NotSaved if the disk is full or another writes."""
        with self._turn, Session(self.engine.execution_options(immediate=True), expire_on_commit=False) as session:
            try:
                with session.begin():
                    yield session
            except exc.OperationalError as error:
                if "disk" in str(error.orig):  # "database or disk is full", "disk I/O error"
                    raise NotSaved(FULL) from None
                if "locked" in str(error.orig):
                    raise NotSaved(LOCKED) from None
                raise

    def wipe(self) -> bool:
        """Copy the log into the file and empty it, so that erased rows stand in neither; False: a reader was in the way.

        It keeps all writers out while it waits for readers, hence not for long; whoever sweeps asks again.
        """
        connection = self.engine.raw_connection()  # outside of a transaction, which SQLAlchemy would begin
        cursor = connection.cursor()
        try:
            cursor.execute(f"PRAGMA busy_timeout = {WIPE_MS}")
            return not cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.OperationalError:  # a full disk; the log keeps all, and nobody's answer waits for it
            return False
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            connection.close()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(path: Path) -> Engine:
    """An engine whose writers take the lock at BEGIN, whose commits are fsynced and whose freed pages are overwritten."""
    engine = create_engine(f"sqlite:///{path}", hide_parameters=True)  # parameters would put answers into a log of errors

    @event.listens_for(engine, "connect")
    def _settings(connection, _) -> None:
        connection.isolation_level = None  # BEGIN is ours: that of the driver comes only before the first change
        for setting in (f"busy_timeout = {BUSY_MS}", "journal_mode = WAL", f"synchronous = {SYNCHRONOUS}",
                        "foreign_keys = ON", "secure_delete = ON", "temp_store = MEMORY"):  # fmt: skip
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _begin(connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("immediate") else "BEGIN")

    return engine
