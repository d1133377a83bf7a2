"""The steps of a participant in the database: their order, that each may be asked twice, what is refused."""

import dataclasses
import json
import sqlite3

import pytest
from sqlalchemy import text
from trial_steps import QUICK, SECRET, answer_all, enter, up_to_the_test

from envs.problem import Problem
from eval.humans import database as files
from eval.humans import export, invitations, logins, overview, store
from eval.humans.database import Clock, Database, NotSaved
from eval.humans.passwords import digest, payment_code
from eval.humans.tables import GENDERS, Response


def test_the_way_of_a_participant(trials):
    """Every state in its order, from the invitation to a file and no row; a second asking of each step changes nothing."""
    handle, cookie = enter(trials)
    seen = [logins.visitor(trials, cookie).state]
    for twice in range(2):
        store.consent(trials, handle)
    seen.append(logins.visitor(trials, cookie).state)
    for age in (30, 44):
        store.tell_about_yourself(trials, handle, age, "female")
    seen.append(logins.visitor(trials, cookie).state)
    for twice in range(2):
        store.proceed(trials, handle)
    for scenario in (1, 1, 2, 2, 1):
        assert logins.visitor(trials, cookie).state == "familiarisation" or scenario < 3
        store.familiarise(trials, handle, scenario)
    start = logins.visitor(trials, cookie)
    assert (start.state, start.step, start.interlude) == ("testing", 1, True)
    store.proceed(trials, handle)
    answer_all(trials, handle, cookie)
    for twice in range(2):
        export.hand_in(trials, SECRET, handle)
    assert seen == ["authenticated", "consented", "demographics"] and logins.visitor(trials, cookie) is None
    (file,) = (trials.path.parent / export.FOLDER).iterdir()
    kept = json.loads(file.read_text())
    assert kept["demographics"] == {"age": 30, "gender": "female"} and kept["decision"]["accepted"]
    assert [row["position"] for row in kept["responses"]] == list(range(1, 15))
    assert overview.is_code(trials, payment_code(SECRET, digest(cookie))) and overview.overview(trials).ended["accepted"] == 1


def test_steps_come_in_their_order(trials):
    """Nothing ahead of its turn: demographics before consent, a scenario or a video too early, handing in too early."""
    handle, _ = enter(trials)
    early = [
        lambda: store.tell_about_yourself(trials, handle, 30, "female"), lambda: store.proceed(trials, handle),
        lambda: store.familiarise(trials, handle, 1), lambda: store.answer(trials, handle, 1, 50, 1, 1),
        lambda: export.hand_in(trials, SECRET, handle),
    ]  # fmt: skip
    for step in early:
        with pytest.raises(store.Refused):
            step()
    up_to_the_test(trials, handle)
    with pytest.raises(store.Refused, match="Video 2 is not due"):
        store.answer(trials, handle, 2, 50, 1, 1)


def test_an_answer_is_stored_once(trials):
    """A request that is sent again stores nothing new; another answer to the same video is refused; the first one stays."""
    handle, _ = enter(trials)
    up_to_the_test(trials, handle)
    for twice in range(2):
        store.answer(trials, handle, 1, 0, 2000, 1)
    with pytest.raises(store.Refused, match="answers are final"):
        store.answer(trials, handle, 1, 100, 2000, 1)
    with trials.read() as session:
        assert [(row.position, row.rating) for row in session.query(Response)] == [(1, 0)]


@pytest.mark.parametrize("wrong", [
    {"rating": -1}, {"rating": 101}, {"rt_ms": -1}, {"rt_ms": 10**9}, {"plays": 0}, {"plays": 10**6}, {"position": 0},
])  # fmt: skip
def test_values_out_of_range(trials, wrong):
    """Refused before anything is stored."""
    handle, _ = enter(trials)
    up_to_the_test(trials, handle)
    with pytest.raises(Problem):
        store.answer(trials, handle, **{"position": 1, "rating": 50, "rt_ms": 1, "plays": 1} | wrong)
    with trials.read() as session:
        assert session.query(Response).count() == 0


@pytest.mark.parametrize("age, gender", [(17, "female"), (100, "male"), (-1, "male"), (30, "other"), (30, "")])
def test_demographics_out_of_range(trials, age, gender):
    """Ages 18 to 99 and the four genders."""
    handle, _ = enter(trials)
    store.consent(trials, handle)
    with pytest.raises(Problem, match="18 to 99" if gender in GENDERS else "Gender is one of"):
        store.tell_about_yourself(trials, handle, age, gender)


def test_a_pause_every_forty(trials, monkeypatch):
    """A page of text after every PAUSE_EVERY-th video, none after the last; no video is taken while it is due."""
    monkeypatch.setattr(store, "PAUSE_EVERY", 7)
    handle, cookie = enter(trials)
    up_to_the_test(trials, handle)
    for position in range(1, 15):
        if position == 8:
            with pytest.raises(store.Refused):
                store.answer(trials, handle, 8, 50, 1, 1)
            store.proceed(trials, handle)
        store.answer(trials, handle, position, 50, 1, 1)
        assert logins.visitor(trials, cookie).interlude == (position == 7)


def test_passwords(trials):
    """Lower case, spaces and missing dashes are forgiven; a wrong letter, an unknown handle and nothing at all are not."""
    (password,) = invitations.invite(trials, QUICK, 1)
    wrong = password[:-1] + ("A" if password[-1] != "A" else "B")
    assert all(logins.log_in(trials, QUICK, typed) is None for typed in (wrong, "ZZZZ" + password[4:], "", password + "A"))
    assert logins.log_in(trials, QUICK, f" {password.lower().replace('-', ' ')} ")


def test_a_second_device_takes_over(trials):
    """It stands where the first stood; the first is known as replaced and nothing else about it changes."""
    (password,) = invitations.invite(trials, QUICK, 1)
    first = logins.log_in(trials, QUICK, password)
    store.consent(trials, password[:4])
    second = logins.log_in(trials, QUICK, password)
    assert first != second and logins.visitor(trials, first).status == "replaced"
    assert logins.visitor(trials, second).status == "current" and logins.visitor(trials, second).state == "consented"


def test_the_clock_of_the_machine_is_set(trials, monkeypatch):
    """Set back or ahead while the server runs, it moves nothing; set back before a start, time goes on from what was seen."""
    monkeypatch.setattr(files.time, "time", lambda: 1000.0)
    assert Clock(seen=5000.0)() >= 5000.0
    before = trials.now()
    monkeypatch.setattr(files.time, "time", lambda: before + 10**9)
    assert trials.now() < before + 60


def test_a_full_disk_while_saving(trials):
    """The answer is refused with a sentence and stored at the next try; what was stored before stays."""
    handle, _ = enter(trials)
    up_to_the_test(trials, handle)
    store.answer(trials, handle, 1, 10, 2000, 1)
    trials.engine.dispose()  # the limit below is one of a connection

    def no_room(session):
        pages = session.scalar(text("PRAGMA page_count"))
        session.execute(text(f"PRAGMA max_page_count = {pages}"))
        session.execute(text("CREATE TABLE filler (bytes)"))

    with pytest.raises(NotSaved, match="disk is full"):
        with trials.write() as session:
            no_room(session)
    trials.engine.dispose()
    store.answer(trials, handle, 2, 20, 2000, 1)
    with trials.read() as session:
        assert [row.position for row in session.query(Response)] == [1, 2]


def test_what_is_saved_is_on_the_disk(human_study, tmp_path):
    """Commits are fsynced, and freed pages overwritten."""
    database = Database(human_study, tmp_path / files.NAME)
    with database.read() as session:
        kept = {key: session.scalar(text(f"PRAGMA {key}")) for key in ("synchronous", "journal_mode", "secure_delete")}
    database.close()
    assert kept == {"synchronous": 2, "journal_mode": "wal", "secure_delete": 1}


def test_files_of_other_versions_and_studies(human_study, tmp_path, trials):
    """An older or newer schema, another study, another program and no database at all: one sentence each."""
    for version, word in ((0, "an older version"), (2, "a newer version")):
        path = tmp_path / f"{version}.db"
        trials.wipe()
        path.write_bytes(trials.path.read_bytes())
        with sqlite3.connect(path) as file:
            file.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(Problem, match=word):
            Database(human_study, path)
    with pytest.raises(Problem, match="belongs to study"):
        Database(dataclasses.replace(human_study, id="0" * 12), trials.path)
    (tmp_path / "text.db").write_text("no database at all" * 99)
    with pytest.raises(Problem, match="no database of human trials"):
        Database(human_study, tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as file:
        file.execute("CREATE TABLE t (x)")
    with pytest.raises(Problem, match="another program"):
        Database(human_study, tmp_path / "other.db")
