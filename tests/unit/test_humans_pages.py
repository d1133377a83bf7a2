"""The pages of a human trial: what is due, pauses, handing in, withdrawing, running out of time, the admin, and what fails."""

import io
import json
import logging
import re
import zipfile

import pytest
from tiny_study import tiny_study
from trial_app import app, built, database  # noqa: F401  fixtures
from trial_browser import ADMIN, QUICK, TrialBrowser, person

from envs.problem import Problem
from eval.humans import export, store
from eval.humans.__main__ import main
from eval.humans.database import Database
from eval.humans.invitations import invite
from eval.humans.serve import development_settings
from eval.humans.study import Study
from eval.humans.tables import Response

JSON = {"Accept": "application/json"}


def test_scenarios_show_both_versions_and_their_assumptions(app, built):
    """"Scenario 1/2", the type, both clips labelled, and those assumptions alone that are for its kind."""
    browser = person(app, "Scenario 1 of 2")
    text = browser.get("/step").text
    scenario = built.familiarisation[0]
    assert "Scenario 1/2" in text and f"Type ({scenario.k}/5): {scenario.category.capitalize()}" in text
    names = re.findall(r"/clip/(\w+)\.mp4", text)
    folder = built.folder
    shown = [browser.get(f"/clip/{name}.mp4").data for name in names]
    assert shown == [(folder / built.clips[id].mp4).read_bytes() for id in (scenario.expected, scenario.surprising)]
    assert text.index("</span> Expected") < text.index(names[0]) < text.index("</span> Surprising") < text.index(names[1])
    assert ("dropped from a height" in text) == (scenario.category in ("support", "containment"))


def test_parts_of_a_clip(app):
    """Browsers ask for ranges."""
    browser = person(app)
    name = re.search(r"/clip/\w+\.webm", browser.get("/step").text)[0]
    whole, part = browser.get(name), browser.get(name, Range="bytes=10-19")
    assert part.status_code == 206 and part.data == whole.data[10:20] and whole.mimetype == "video/webm"
    assert "Last-Modified" not in whole.headers and "ETag" not in whole.headers


def test_clips_ahead_may_be_loaded_and_no_others(app):
    """The next three are named in the page and served; further ones have names that no page tells."""
    browser = person(app)
    ahead = re.search(r'data-ahead="([^"]*)"', browser.get("/step").text)[1].split()
    assert [browser.get(f"/clip/{name}.mp4").status_code for name in ahead] == [200] * 3


def test_a_pause_is_shown(app, monkeypatch):
    """After every so many videos a page of text, once."""
    monkeypatch.setattr(store, "PAUSE_EVERY", 5)
    browser = person(app, "Pause")
    assert "You have rated 5 of 14 videos" in browser.get("/step").text
    browser.post("/proceed", {})
    assert "<title>Video 6 " in browser.get("/step").text


def test_handing_in(app, database):
    """The code; a second click and a reload show the same one; the password is no more; the file is whole."""
    (password,) = invite(database, QUICK, 1)
    browser = TrialBrowser(app).enter(password).up_to("Hand in")
    assert browser.get("/done").location == "/"  # no code before
    assert browser.post("/hand-in", {}).location == "/done"
    codes = [re.search(r'id="code">(\w+)<', browser.get("/done").text)[1]]
    browser.post("/hand-in", {})
    codes.append(re.search(r'id="code">(\w+)<', browser.get("/done").text)[1])
    assert codes[0] == codes[1] and len(codes[0]) == 20
    assert browser.get("/step").location == "/" and TrialBrowser(app).post("/", {"password": password}).status_code == 401
    (file,) = (database.path.parent / export.FOLDER).iterdir()
    assert len(json.loads(file.read_text())["responses"]) == 14


def test_withdrawing(app, database):
    """Asked once more, then everything is gone: the answers, the password, the login."""
    (password,) = invite(database, QUICK, 1)
    browser = TrialBrowser(app).enter(password).up_to("Video 3 ")
    assert "Withdraw from the study?" in browser.get("/withdraw").text
    assert "has been erased" in browser.post("/withdraw", {}).text
    with database.read() as session:
        assert session.query(Response).count() == 0
    assert browser.get("/step").location == "/" and TrialBrowser(app).post("/", {"password": password}).status_code == 401


def test_an_invitation_that_has_run_out(app, database):
    """A late answer is told that everything is erased, as a page and to the script; nothing is stored."""
    browser = person(app)
    now = database.now()
    database.now = lambda: now + 15 * 86400
    token = browser.token()
    assert browser.answer(csrf_token=token).status_code == 410 and "run out" in browser.get("/step").text
    reply = browser.post("/answer", {"csrf_token": token, "position": "1"}, **JSON)
    assert reply.status_code == 410 and "erased" in reply.json["error"]
    with database.read() as session:
        assert session.query(Response).count() == 0


def test_what_the_script_is_told(app):
    """The way on after a saved answer; a sentence and no button after a refused one."""
    browser = person(app)
    fields = {"position": "1", "rating": "20", "rt_ms": "2000", "plays": "1"}
    assert browser.post("/answer", fields, **JSON).json == {"next": "/step"}
    refused = browser.post("/answer", fields | {"rating": "90"}, **JSON)
    assert refused.status_code == 409 and "final" in refused.json["error"] and not refused.json["again"]


@pytest.mark.parametrize("age", ["", "17", "100", "abc", "-5", "30.5", "999999999999"])
def test_ages_out_of_range(app, age):
    """Refused with a sentence; the question stays due."""
    browser = person(app, "About you")
    assert browser.post("/demographics", {"age": age, "gender": "female"}).status_code == 400
    assert "<title>About you" in browser.get("/step").text


def test_a_clip_that_is_gone_while_serving(app, built):
    """404 and never another clip; the page stays at the video, which the script offers to load again."""
    browser = person(app)
    name = re.search(r"/clip/\w+\.mp4", browser.get("/step").text)[0]
    files = {path: path.read_bytes() for path in (built.folder / "clips").glob("*.mp4")}
    for path in files:
        path.unlink()
    try:
        assert browser.get(name).status_code == 404 and "<title>Video 1 " in browser.get("/step").text
    finally:
        for path, content in files.items():
            path.write_bytes(content)
    assert browser.get(name).status_code == 200


def test_a_missing_clip_at_the_start(tmp_path, capsys):
    """The server does not start, and names the file."""
    study = tiny_study(tmp_path / "study")
    missing = study.folder / next(iter(study.clips.values())).webm
    missing.unlink()
    assert main(["serve", str(study.folder), "--dev"]) == 1
    assert missing.name in capsys.readouterr().err


@pytest.mark.parametrize("words, said", [
    (["serve", "nowhere"], "over https alone"),
    (["serve", "nowhere", "--dev", "--host", "0.0.0.0"], "this machine alone"),
    (["serve", "nowhere", "--dev"], "study.json does not exist"), (["invite", "nowhere"], "study.json does not exist"),
    (["simulate", "nowhere"], "nobody is to be simulated"),
    (["simulate", "nowhere", "--noisy", "2", "--at-once", "0"], "--at-once is a number of 1 or more, got 0"),
    (["simulate", "nowhere", "--noisy", "-3"], "--noisy is a number of 0 or more, got -3"),
    (["simulate", "nowhere", "--noisy", "2", "--url", "127.0.0.1:8000"], "--url begins with http:// or https://"),
    (["serve", "x", "--cert", "no.pem", "--key", "no.key"], "no.pem does not"),
    (["serve", "nowhere", "--dev", "--proxies", "1"], "no proxy stands in front; leave out"),
    (["serve", "nowhere", "--dev", "--host", "::1"], "study.json does not exist"),
    (["study", "there", "--seed", "-1"], "--seed is a whole number of 0 or more, got -1"),
    (["invite", "/proc/no/such"], "does not exist"), (["study", "/dev/null/x"], "cannot read or write /dev/null"),
])  # fmt: skip
def test_commands_that_cannot_work(words, said, capsys, monkeypatch, tmp_path):
    """One sentence, and 1."""
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1 and said in (err := capsys.readouterr().err) and err.count("\n") == 1


def test_a_rehearsal_has_the_pages_of_the_study():
    """--block-narrow was left out under --dev."""
    assert development_settings("x", block_narrow=True).block_narrow and not development_settings("x").block_narrow


def test_a_database_that_cannot_be_opened_is_not_called_foreign(built, tmp_path):
    """It was to be moved away, with all answers in it."""
    (tmp_path / "trials.db").mkdir()
    with pytest.raises(Problem, match="cannot be opened or written .*; the answers in it are untouched: see to the disk"):
        Database(built, tmp_path / "trials.db")


def test_secrets_of_the_environment(built, capsys, monkeypatch):
    """Outside of --dev the server asks for a long secret and a long password of the admin."""
    for variable in ("HUMANS_SECRET", "HUMANS_ADMIN_PASSWORD"):
        monkeypatch.setenv(variable, "short")
        assert main(["serve", str(built.folder), "--proxies", "1"]) == 1
        assert variable in capsys.readouterr().err
        monkeypatch.setenv(variable, "l" * 64)


def test_another_secret_is_refused(built, capsys, monkeypatch):
    """Codes that it gave could be seen by no participant, and are known to nobody once they are erased."""
    monkeypatch.setenv("HUMANS_SECRET", "l" * 64)
    assert main(["export", str(built.folder)]) == 0
    monkeypatch.setenv("HUMANS_SECRET", "m" * 64)
    capsys.readouterr()
    assert main(["export", str(built.folder)]) == 1
    assert "HUMANS_SECRET is another than the one" in capsys.readouterr().err
    monkeypatch.setenv("HUMANS_SECRET", "l" * 64)
    assert main(["export", str(built.folder)]) == 0


def test_the_admin(app, database):
    """States without answers, invitations whose passwords work, codes, an archive of what is handed in."""
    admin, done = TrialBrowser(app), person(app, "Hand in")
    done.post("/hand-in", {})
    running = person(app, "Video 2 ")
    assert admin.post("/admin/login", {"password": "wrong password"}).status_code == 401
    admin.post("/admin/login", {"password": ADMIN})
    text = admin.get("/admin/").text
    assert "<td>testing</td>" in text and re.search(r"rejected</dt><dd>1<", text)
    assert "rating" not in text and len(re.findall(r"<th scope=\"row\">", text)) == 1
    told = admin.post("/admin/invite", {"count": "2", "days": "3"}).text
    made = re.findall(r"<li>([A-Z2-9]{4}(?:-[A-Z2-9]{4}){3})</li>", told)
    assert len(made) == 2 and TrialBrowser(app).enter(made[0])
    code = re.search(r'id="code">(\w+)<', done.get("/done").text)[1]
    said = [admin.post("/admin/claim", {"code": typed}).text for typed in (code, code, "X" * 20)]
    assert "counts as paid" in said[0] and "paid before" in said[1] and "no such code" in said[2]
    sent = admin.post("/admin/export", {})
    assert sent.headers["Cache-Control"] == "no-store", "a browser keeps no answers"
    archive = zipfile.ZipFile(io.BytesIO(sent.data))
    assert [len(json.loads(archive.read(name))["responses"]) for name in archive.namelist()] == [14]
    assert admin.post("/admin/invite", {"count": "0", "days": "3"}).status_code == 400
    admin.post("/admin/logout", {})
    assert admin.get("/admin/").location == "/admin/login" and running.get("/step").status_code == 200


def test_no_log_names_a_participant(app, database, caplog):
    """Also where the database fails in the middle of an answer: neither id, handle, rating, address nor browser is logged."""
    caplog.set_level(logging.DEBUG)
    (password,) = invite(database, QUICK, 1)
    browser = TrialBrowser(app).enter(password).up_to("Video 1 ")
    with database.write() as session:
        session.connection().exec_driver_sql("ALTER TABLE response RENAME TO moved")
    fields = {"position": "1", "rating": "73", "rt_ms": "2000", "plays": "1"}
    reply = browser.post("/answer", fields, **{"User-Agent": "Curious/7"})
    with database.write() as session:
        session.connection().exec_driver_sql("ALTER TABLE moved RENAME TO response")
    assert reply.status_code == 500 and "Something went wrong" in reply.text
    logged = caplog.text
    assert "no such table" in logged
    with database.read() as session:
        ids = [row[0] for row in session.connection().exec_driver_sql("SELECT id FROM participant")]
    for trace in (*ids, password[:4], "127.0.0.1", "Curious", "73,", browser.cookie()):
        assert trace not in logged, trace


def test_studies_are_read_before_anything_listens(built):
    """The study that the app serves is the one on the disk."""
    assert Study.read(built.folder).id == built.id
    with pytest.raises(Problem, match="does not exist"):
        Study.read(built.folder / "nothing")
