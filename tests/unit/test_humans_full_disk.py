"""A disk that is full tells a participant of a human trial so, and loses nothing of theirs."""

import resource
import sqlite3

from trial_app import app, built, database  # noqa: F401  fixtures
from trial_browser import person

from eval.humans import export
from eval.humans.tables import Response

JSON = {"Accept": "application/json"}


def test_a_failed_export_is_told(app, database, monkeypatch):
    """507 and a button to try again; all answers are kept, and the second try gives the code."""
    browser = person(app, "Hand in")

    def no_space(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(export.os, "fsync", no_space)
        reply = browser.post("/hand-in", {})
    assert reply.status_code == 507 and "Try again" in reply.text and "answers are saved" in reply.text
    with database.read() as session:
        assert session.query(Response).count() == 14
    assert browser.post("/withdraw", {}).status_code == 409 and "<title>Hand in" in browser.get("/step").text
    assert browser.post("/hand-in", {}).location == "/done" and "Thank you" in browser.get("/done").text


def test_whoever_is_handed_in_by_the_researchers_finds_the_code(app, database, monkeypatch):
    """Their own handing in had failed; the password is used up, and the first page leads on."""
    browser = person(app, "Hand in")

    def no_space(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(export.os, "fsync", no_space)
        assert browser.post("/hand-in", {}).status_code == 507
    left = database.path.parent / export.FOLDER
    export.hand_in_left_over(database, app.extensions["trials"].settings.secret)
    assert browser.get("/").location == "/done" and "Thank you" in browser.get("/done").text
    assert [path.suffix for path in left.iterdir()] == [".json"]


def test_a_log_that_cannot_be_emptied_stops_nobody(app, database, monkeypatch):
    """The disk is full when the erased are swept: the sweep waits, the answer does not."""
    person(app, "Video 1 ")
    monkeypatch.setattr(database, "engine", Broken(database.engine))
    assert database.wipe() is False


class Broken:
    """An engine whose connections cannot write."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def raw_connection(self):
        return self

    def cursor(self):
        return self

    def execute(self, text):
        if "checkpoint" in text:
            raise sqlite3.OperationalError("database or disk is full")

    def close(self): ...


def test_a_full_disk_is_told_and_the_answer_is_kept(app, database):
    """The system refuses the write: a sentence and the same form once more, for the script as JSON; the next try is stored."""
    browser = person(app)
    fields = {"position": "1", "rating": "44", "rt_ms": "2000", "plays": "1", "csrf_token": browser.token()}
    log = database.path.with_name(f"{database.path.name}-wal")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
    try:
        page, reply = browser.post("/answer", fields), browser.post("/answer", fields, **JSON)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert page.status_code == 507 and 'name="rating" value="44"' in page.text and "Try again" in page.text
    assert reply.status_code == 507 and "nothing is lost" in reply.json["error"] and reply.json["again"]
    assert "<title>Video 1 " in browser.get("/step").text
    assert browser.post("/answer", fields).status_code == 303 and "<title>Video 2 " in browser.get("/step").text
