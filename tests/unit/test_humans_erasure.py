"""How a participant of a human trial ends: handed in, rejected, withdrawn, out of time; and that nothing of them is left."""

import pytest
from trial_steps import QUICK, SECRET, answer_all, enter, up_to_the_test

from eval.humans import database as files
from eval.humans import erasure, export, invitations, logins, overview, store
from eval.humans.database import Database
from eval.humans.passwords import digest, payment_code
from eval.humans.tables import Invite, Login, Participant, Response


def test_lists_that_are_freed_are_given_out_again(trials):
    """All lists held: the next waits, with a valid password. One withdraws: exactly that list is given out."""
    held = [enter(trials) for _ in range(4)]
    assert sorted(logins.visitor(trials, cookie).list for _, cookie in held) == [0, 1, 2, 3]
    (password,) = invitations.invite(trials, QUICK, 1)
    with pytest.raises(store.Refused, match="places of this study are taken"):
        logins.log_in(trials, QUICK, password)
    free = logins.visitor(trials, held[2][1]).list
    erasure.withdraw(trials, held[2][0])
    assert logins.visitor(trials, logins.log_in(trials, QUICK, password)).list == free


def test_a_rejected_list_is_free_an_accepted_one_is_not(trials):
    """Somebody who rates everything alike fails the checks, and the list goes to the next; a good one keeps it."""
    handle, cookie = enter(trials)
    first = logins.visitor(trials, cookie).list
    up_to_the_test(trials, handle)
    answer_all(trials, handle, cookie, right=False)
    export.hand_in(trials, SECRET, handle)
    assert overview.overview(trials).ended["rejected"] == 1
    handle, cookie = enter(trials)
    assert logins.visitor(trials, cookie).list == first
    up_to_the_test(trials, handle)
    answer_all(trials, handle, cookie)
    export.hand_in(trials, SECRET, handle)
    assert logins.visitor(trials, enter(trials)[1]).list != first


def _full(*_):
    raise export.NotExported("the disk is full")


def test_an_invitation_runs_out(trials, monkeypatch):
    """Late answers are refused, the person is erased, the list is free; people who have finished are exported, never erased."""
    handle, cookie = enter(trials, days=1)
    up_to_the_test(trials, handle)
    done, done_cookie = enter(trials, days=1)
    up_to_the_test(trials, done)
    answer_all(trials, done, done_cookie)
    monkeypatch.setattr(export, "_write_durably", _full)
    with pytest.raises(export.NotExported):
        export.hand_in(trials, SECRET, done)
    now = trials.now()
    trials.now = lambda: now + 86401
    with pytest.raises(store.Gone):
        store.answer(trials, handle, 1, 50, 1, 1)
    assert erasure.expire_due(trials) == 1 and erasure.expire_due(trials) == 0
    assert logins.visitor(trials, done_cookie).state == "submitted" and overview.overview(trials).ended["expired"] == 1
    assert logins.log_in(trials, QUICK, handle) is None
    with trials.read() as session:
        assert session.query(Login).filter(Login.status == "expired").count() == 1
    trials.now = lambda: now + 86401 * 32
    assert erasure.expire_due(trials) == 0  # nobody's invitation runs out, and the browser was told long enough
    with trials.read() as session:
        assert session.query(Login).filter(Login.status == "expired").count() == 0


def test_a_failed_file_keeps_everything(trials, monkeypatch):
    """No space for the export: all rows stay, no half file lies about, and the next try hands in and erases."""
    handle, cookie = enter(trials)
    up_to_the_test(trials, handle)
    answer_all(trials, handle, cookie)

    def no_space(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(export.os, "fsync", no_space)
        with pytest.raises(export.NotExported, match="No space left"):
            export.hand_in(trials, SECRET, handle)
    assert logins.visitor(trials, cookie).state == "submitted" and not list((trials.path.parent / export.FOLDER).iterdir())
    with trials.read() as session:
        assert session.query(Response).count() == 14
    assert export.hand_in_left_over(trials, SECRET) == (1, 0) and logins.visitor(trials, cookie) is None
    (file,) = (trials.path.parent / export.FOLDER).iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700), (
        "nobody else on the machine reads it"
    )


def test_one_file_that_fails_keeps_nobody_waiting(trials, monkeypatch):
    """Of three who have given all answers one file fails,
    and one that was written was moved away before its answers were erased."""
    cookies = []
    for _ in range(3):
        handle, cookie = enter(trials)
        up_to_the_test(trials, handle)
        answer_all(trials, handle, cookie)
        cookies.append((handle, cookie))
    write, failing = export._write_durably, {cookies[0][0]}

    def written(path, content):
        with trials.read() as session:
            handle = session.query(Participant).filter_by(id=path.stem).one().handle
        if handle in failing:
            raise export.NotExported("no space")
        write(path, content)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(export, "erase", killed)
        with pytest.raises(KeyboardInterrupt):
            export.hand_in(trials, SECRET, cookies[1][0])  # the file is there, its answers are not erased yet
    (moved,) = (trials.path.parent / export.FOLDER).iterdir()
    moved.unlink()
    with trials.write() as session:
        for invite in session.query(Invite):
            invite.state = "exported" if invite.handle == cookies[1][0] else "submitted"
    monkeypatch.setattr(export, "_write_durably", written)
    assert export.hand_in_left_over(trials, SECRET) == (2, 1)
    assert moved.exists() and [logins.visitor(trials, cookie) is None for _, cookie in cookies] == [False, True, True]
    failing.clear()
    assert export.hand_in_left_over(trials, SECRET) == (1, 0)


def test_the_file_is_on_the_disk_before_anything_is_erased(trials, monkeypatch):
    """Two fsyncs, of the file and of its folder, while every answer is still in the database."""
    handle, cookie = enter(trials)
    up_to_the_test(trials, handle)
    answer_all(trials, handle, cookie)
    rows, synced = [], export.os.fsync

    def watched(file):
        with trials.read() as session:
            rows.append(session.query(Response).count())
        synced(file)

    monkeypatch.setattr(export.os, "fsync", watched)
    export.hand_in(trials, SECRET, handle)
    assert rows == [14, 14]


def test_nothing_of_a_participant_is_left(trials):
    """After the export no file of the database holds the id, the handle, the cookie or an answer, also not in freed pages."""
    others = enter(trials)
    handle, cookie = enter(trials)
    with trials.read() as session:
        person = session.query(Participant).filter_by(handle=handle).one().id
        stored = session.get(Invite, handle).password_hash
    up_to_the_test(trials, handle)
    answer_all(trials, handle, cookie)
    export.hand_in(trials, SECRET, handle)
    left = b"".join(path.read_bytes() for path in trials.path.parent.glob(f"{files.NAME}*"))
    for trace in (person, handle, stored, digest(cookie), payment_code(SECRET, digest(cookie))):
        assert trace.encode() not in left, trace
    assert others[0].encode() in left  # the search can find something
    assert [path.stem for path in trials.path.parent.rglob("*") if person in path.name] == [person]


def test_payment_codes(trials):
    """20 letters and digits; valid once, known as paid the second time, whatever case they are typed in."""
    handle, cookie = enter(trials)
    up_to_the_test(trials, handle)
    answer_all(trials, handle, cookie)
    export.hand_in(trials, SECRET, handle)
    code = payment_code(SECRET, digest(cookie))
    assert len(code) == 20 and code.isalnum()
    assert [overview.claim(trials, typed) for typed in (code.lower(), code, "A" * 20)] == ["paid now", "paid before", "unknown"]


def test_a_reader_in_the_way_of_erasing(human_study, tmp_path, monkeypatch):
    """The log cannot be emptied while somebody reads; it is once they have finished, at the next sweep."""
    monkeypatch.setattr(files, "WIPE_MS", 20)
    trials = Database(human_study, tmp_path / files.NAME)
    handle, cookie = enter(trials)
    with trials.read() as reader:
        reader.query(Invite).all()
        erasure.withdraw(trials, handle)
        assert not trials.wipe()
    assert trials.wipe() and all(handle.encode() not in path.read_bytes() for path in tmp_path.glob(f"{files.NAME}*"))
    trials.close()
