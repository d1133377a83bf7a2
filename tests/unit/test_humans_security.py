"""What the pages of a human trial refuse: forgery, guessing, skipping, other people's data, plain http, other hosts."""

import re
from types import SimpleNamespace

import av
import pytest
from trial_app import app, built, database  # noqa: F401  fixtures
from trial_browser import ADMIN, HTTPS, QUICK, TrialBrowser, person, settings

from eval.humans.invitations import invite
from eval.humans.tables import Participant, Response
from eval.humans.web.app import create_app

TEMPLATES = "eval/humans/web/templates"


def responses(database):
    """(position, rating) of everything stored."""
    with database.read() as session:
        return [(row.position, row.rating) for row in session.query(Response)]


@pytest.mark.parametrize("rating", ["-1", "101", "50.5", "1e1", "", "NaN", "٥", "0x10", "1_0", "９", "50; DROP TABLE response"])
def test_ratings_that_are_no_whole_number_from_0_to_100(app, database, rating):
    """400 with a sentence, and nothing is stored."""
    reply = person(app).answer(rating=rating)
    assert reply.status_code == 400 and 'role="alert"' in reply.text and responses(database) == []


@pytest.mark.parametrize("field, value", [("position", "2"), ("position", "15"), ("position", "-1"), ("position", "999999999")])
def test_no_position_can_be_skipped(app, database, field, value):
    """Neither by a form nor by an address: the server shows the step that is due, and only that."""
    browser = person(app)
    assert browser.answer(**{field: value}).status_code in (400, 409) and responses(database) == []
    for path in ("/step?position=9", "/step?step=9&state=submitted", "/done", "/hand-in"):
        browser.get(path)
    assert "<title>Video 1 " in browser.get("/step").text
    assert browser.post("/hand-in", {}).status_code == 409


@pytest.mark.parametrize("token", ["", "forged", None])
def test_forged_posts(app, database, token):
    """Without the token of the very browser no post is taken: none, a made-up one, another participant's."""
    browser, other = person(app), person(app)
    assert browser.answer(csrf_token=other.token() if token is None else token).status_code == 400
    assert responses(database) == [] and browser.post("/withdraw", {"csrf_token": "forged"}).status_code == 400
    assert "<title>Video 1 " in browser.get("/step").text


def test_every_form_carries_a_token(root):
    """No template has a form without one; no view changes anything on GET."""
    for path in (root / TEMPLATES).glob("*.html"):
        text = path.read_text()
        assert text.count("<form method=\"post\"") == text.count("<form") == text.count("{{ csrf() }}"), path.name


def test_passwords_cannot_be_guessed(app, database):
    """The same answer to an unknown handle and to a known one with a wrong ending; then 429, whatever follows the handle."""
    (password,) = invite(database, QUICK, 1)
    near, unknown = password[:-1] + ("A" if password[-1] != "A" else "B"), "ZZZZ" + password[4:]
    browser = TrialBrowser(app)
    pages = [browser.post("/", {"password": typed}) for typed in (near, unknown)]
    assert {page.status_code for page in pages} == {401}
    assert len({re.sub(r'name="csrf_token" value="[^"]+"', "", page.text) for page in pages}) == 1
    codes = [browser.post("/", {"password": near}).status_code for _ in range(6)]
    assert codes == [401] * 4 + [429] * 2
    assert browser.post("/", {"password": password}).status_code == 429
    elsewhere = TrialBrowser(app)
    codes = [elsewhere.post("/", {"password": f"QQQ{letter}-AAAA-AAAA-AAAA"}).status_code for letter in "ABCDEFGH"]
    assert codes[-1] == 429  # ten wrong ones from one address, whatever the handles


def test_right_passwords_are_not_limited(app, database):
    """A room full of people behind one address can all log in."""
    for password in invite(database, QUICK, 4):
        TrialBrowser(app).enter(password)
        assert TrialBrowser(app).enter(password)


def test_an_unknown_handle_takes_as_long(app, monkeypatch):
    """The hash of nobody is checked in its place, with the same settings."""
    checked = []
    monkeypatch.setattr(QUICK, "hasher", SimpleNamespace(verify=lambda stored, typed: checked.append(stored)))
    assert TrialBrowser(app).post("/", {"password": "ZZZZ-AAAA-AAAA-AAAA"}).status_code == 401
    assert checked == [QUICK.nobody]


def test_session_fixation(app, database):
    """A cookie that somebody planted is worth nothing after the login: another is given, the planted one stays a stranger's."""
    (password,) = invite(database, QUICK, 1)
    victim, attacker = TrialBrowser(app), TrialBrowser(app)
    attacker.get("/")
    planted = attacker.cookie()
    victim.client.set_cookie("__Host-trial", planted, domain="localhost", secure=True)
    victim.enter(password)
    assert victim.cookie() != planted and attacker.get("/step").location == "/"
    admin = TrialBrowser(app)
    before = (admin.get("/admin/login"), admin.cookie())[1]
    assert admin.post("/admin/login", {"password": ADMIN}).location == "/admin/" and admin.cookie() != before


def test_cookies(app, database):
    """Secure, HttpOnly, SameSite, of this host alone, and a random number and nothing else; none with files."""
    set_cookie = TrialBrowser(app).get("/").headers["Set-Cookie"]
    assert re.fullmatch(r"__Host-trial=[\w-]{43}; Secure; HttpOnly; Path=/; SameSite=Lax", set_cookie)
    assert "Set-Cookie" not in TrialBrowser(app).get("/static/style.css").headers


def test_two_tabs(app, database):
    """The slower tab's other answer is refused with the way on; the same answer once more is taken as the same."""
    browser = person(app)
    assert browser.answer(rating="30").status_code == 303
    assert browser.answer(rating="80").status_code == 409 and browser.answer(rating="30").status_code == 303
    assert responses(database) == [(1, 30)]


def test_two_devices(app, database):
    """The second takes over where the first stood; the first is told, and its answers are refused."""
    (password,) = invite(database, QUICK, 1)
    first = TrialBrowser(app).enter(password).up_to("Video 1 ")
    second = TrialBrowser(app).enter(password)
    assert "<title>Video 1 " in second.get("/step").text
    page = first.get("/step")
    assert page.status_code == 409 and "another browser" in page.text
    assert first.answer().status_code == 409 and responses(database) == [] and second.answer().status_code == 303


def test_clips_of_others(app):
    """A participant's clip names are worth nothing to another, and nothing without a login."""
    mine, others = person(app), person(app)
    names = [re.search(r"/clip/\w+\.mp4", browser.get("/step").text)[0] for browser in (mine, others)]
    assert names[0] != names[1] and mine.get(names[0]).status_code == 200
    assert mine.get(names[1]).status_code == 404
    assert TrialBrowser(app).get(names[0]).status_code == 303
    assert mine.get("/clip/../study.json").status_code == 404 and mine.get("/clip/" + "0" * 32 + ".mp4").status_code == 404
    assert mine.get("/clip/é.mp4").status_code == 404


def test_no_page_of_another_kind_of_visitor(app):
    """A participant is no admin, the admin no participant, a stranger neither."""
    browser, admin = person(app), TrialBrowser(app)
    admin.post("/admin/login", {"password": ADMIN})
    assert browser.get("/admin/").location == "/admin/login" and TrialBrowser(app).get("/admin/").location == "/admin/login"
    for path in ("/admin/invite", "/admin/export", "/admin/claim"):
        assert browser.post(path, {"count": "1", "days": "1"}).location == "/admin/login"
    for path in ("/step", "/withdraw", "/instructions"):
        assert admin.get(path).location == "/" and TrialBrowser(app).get(path).location == "/"


def test_nothing_tells_the_version(app, database):
    """Pages, addresses and headers of a clip that goes on and of one that surprises differ in the opaque name alone."""
    study, browser = database.study, person(app)
    with database.read() as session:
        entries = study.lists[session.query(Participant).one().list]
    seen = {}
    for entry in entries:
        page = browser.get("/step").text
        name = re.search(r"/clip/(\w+)\.mp4", page)[1]
        headers = {kind: browser.get(f"/clip/{name}.{kind}").headers for kind in ("mp4", "webm")}
        told = {kind: sorted((key, value) for key, value in found.items() if key not in ("Date", "Expires"))
                for kind, found in headers.items()}  # fmt: skip
        shell = re.sub(r'name="csrf_token" value="[^"]+"|[0-9a-f]{32}|\d+', "", page)
        if entry.position < len(entries) - 3:  # the last pages preload less
            seen.setdefault(study.clips[entry.clip].version, set()).add((str(told), shell))
        clip, shown = study.clips[entry.clip], re.sub(r'name="csrf_token" value="[^"]+"|[0-9a-f]{32}', "", page)
        for word in (entry.clip, clip.subtype, str(clip.trial)):
            assert word not in shown, word
        browser.answer(position=str(entry.position))
    assert seen["expected"] == seen["surprising"] and len(seen["expected"]) == 1


def test_a_repeat_has_another_name(app, database):
    """The same clip twice in a list has two addresses, so that the browser does not show that it comes again."""
    browser, names = person(app), []
    with database.read() as session:
        entries = database.study.lists[session.query(Participant).one().list]
    for entry in entries:
        names.append(re.search(r"/clip/(\w+)\.mp4", browser.get("/step").text)[1])
        browser.answer(position=str(entry.position))
    assert len(set(names)) == len(entries) > len({entry.clip for entry in entries})


def test_bytes_and_metadata_do_not_tell_the_version(built):
    """Byte size, duration, frames, tags and times are the same for all clips of a format."""
    for kind in ("mp4", "webm"):
        told = {}
        for clip in built.clips.values():
            path = built.folder / getattr(clip, kind)
            with av.open(str(path)) as file:
                stream = file.streams.video[0]
                tags = str(sorted(file.metadata.items())), str(sorted(stream.metadata.items()))
                own = (path.stat().st_size, path.stat().st_mtime, file.duration, stream.frames, str(stream.average_rate), *tags)
            told.setdefault(clip.version, set()).add(own)
        assert told["expected"] == told["surprising"] and len(told["expected"]) == 1
    assert len({(len(clip.mp4), len(clip.webm)) for clip in built.clips.values()}) == 1


def test_plain_http_is_refused(app, built):
    """Also the login, without a redirect that would hide that the password went in clear. --dev serves it."""
    plain = TrialBrowser(app, headers={})
    for path in ("/", "/admin/login", "/static/style.css"):
        reply = plain.client.get(path)
        assert reply.status_code == 403 and "https" in reply.text
    assert plain.client.post("/", data={"password": "x"}).status_code == 403
    assert create_app(built, settings(proxies=0)).test_client().get("/", headers=HTTPS).status_code == 403
    assert create_app(built, settings(dev=True)).test_client().get("/").status_code == 200


def test_policy_and_headers(app):
    """A strict policy on every page, no storing of pages, no frames, and TLS is remembered."""
    browser = person(app)
    for path in ("/step", "/withdraw", "/instructions", "/nothing", "/admin/login"):
        headers = browser.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'" and set(policy.values()) == {"'none'", "'self'"}
        assert headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff" and "max-age" in headers["Strict-Transport-Security"]


def test_no_page_asks_anything_of_others(root):
    """No template, script or style names another host, holds inline script or style, or an event handler."""
    for path in [*(root / TEMPLATES).iterdir(), *(root / TEMPLATES).parent.joinpath("static").iterdir()]:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"(https?:)?//[a-z0-9]", text.replace("// ", "")), path.name
        if path.suffix == ".html":
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text), path.name


def test_too_large_and_unknown(app):
    """A request of a megabyte, an unknown page, a wrong method: a page with a sentence, and no trace of the code."""
    browser = TrialBrowser(app)
    assert browser.post("/", {"password": "x" * 10**6, "csrf_token": ""}).status_code == 413
    assert browser.get("/nothing").status_code == 404 and browser.get("/answer").status_code == 405


def test_what_is_typed_is_shown_as_text(app):
    """Markup in a field comes back escaped."""
    reply = person(app, "About you").post("/demographics", {"age": "<b>9</b>", "gender": "female"})
    assert reply.status_code == 400 and "<b>9" not in reply.text and "&lt;b&gt;9" in reply.text
