"""A real browser walks every page of a human trial by keyboard alone, on a desktop and on a phone.

HUMANS_SCREENSHOTS=docs keeps a picture of each page there; HUMANS_STUDY=runs/demo walks a copy of that study, not squares.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from sqlalchemy import update
from tiny_study import tiny_study

pytest.importorskip("axe_playwright_python", reason="the browser tests need the packages of '.[dev]'")

from keyboard_walker import SCREENS, Walker

from eval.humans import store
from eval.humans.database import Database
from eval.humans.erasure import withdraw
from eval.humans.export import FOLDER
from eval.humans.invitations import invite
from eval.humans.logins import log_in
from eval.humans.passwords import Passwords
from eval.humans.serve import check_port
from eval.humans.study import Study
from eval.humans.tables import Invite

ADMIN = "correct horse battery"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A small study."""
    folder = tmp_path_factory.mktemp("humans") / "study"
    if given := os.environ.get("HUMANS_STUDY"):
        shutil.copytree(given, folder, ignore=shutil.ignore_patterns("trials.db*", FOLDER))
        return Study.read(folder)
    return tiny_study(folder)


@pytest.fixture(scope="module")
def url(study, root):
    """Where the study is served, by the command."""
    port = next(port for port in range(8150, 8250) if free(port))
    words = [sys.executable, "-m", "eval.humans", "serve", str(study.folder), "--dev", "--port", str(port)]
    with subprocess.Popen(words, cwd=root, env={**os.environ, "HUMANS_ADMIN_PASSWORD": ADMIN}) as server:
        for _ in range(120):
            time.sleep(0.5)
            try:
                urlopen(f"http://127.0.0.1:{port}/").close()
                break
            except OSError:
                continue
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def free(port):
    """Whether nobody listens at this port."""
    try:
        check_port("127.0.0.1", port)
    except Exception:
        return False
    return True


def walk(walker, url, password):
    """From the password to the code, with Tab, Enter, Space, arrows, Home and End."""
    page = walker.page
    page.goto(url)
    walker.look("login")
    walker.tab_to("#password")
    page.keyboard.type(password.lower())
    with page.expect_navigation():
        page.keyboard.press("Enter")
    walker.look("consent")
    walker.press("#agree", "Space")
    walker.press_on("button.main")
    walker.look("about_you")
    walker.tab_to("#age")
    page.keyboard.type("27")
    walker.tab_to("[name=gender]")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    walker.press_on("button.main")
    walker.look("instructions")
    walker.press_on("button.main")
    while walker.title().startswith("Scenario"):
        for number in (0, 1):
            selector = f".player:nth-of-type({number + 1}) .play"
            walker.press(selector, "Space")
            walker.until(f"document.querySelectorAll('video')[{number}].ended")
        walker.look("scenario")
        walker.press_on("#next")
    walker.look("start")
    walker.press_on("button.main")
    while walker.title() != "Hand in":
        if walker.title() == "Pause":
            walker.look("pause")
            walker.press_on("button.main")
            continue
        rate_by_keyboard(walker)
    walker.look("hand_in")
    walker.press_on("button.main")
    walker.look("done")


def rate_by_keyboard(walker):
    """One video: nothing can be sent before the clip has ended and a rating is there."""
    page, number = walker.page, int(walker.title().split()[1])
    walker.until("document.querySelector('video').ended")
    walker.look("video")
    assert page.locator("#next").is_disabled() and page.locator("#state").inner_text() == "[Not answered]"
    assert page.locator("[name=rating]").input_value() == ""
    if number % 3 == 0:
        walker.press("[data-rating='100']", "Space")
        assert page.locator("#state").inner_text() == "[Answered: 100]"
    else:
        walker.tab_to("#slider")
        for key in {1: ["ArrowRight"] * 3, 2: ["Home", "ArrowRight"]}[number % 3]:
            page.keyboard.press(key)
        assert page.locator("#state").inner_text() == {1: "[Answered: 53]", 2: "[Answered: 1]"}[number % 3]
        walker.look("video_answered")
    with page.expect_navigation():
        walker.press("#next")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_whole_way_by_keyboard(screen, study, url, chromium, tmp_path):
    """To the code: no fault on the console, no other host asked, no serious finding of axe, nothing wider than the screen."""
    (password,) = invite(Database(study), Passwords(), 1)
    folder = Path(os.environ.get("HUMANS_SCREENSHOTS") or tmp_path)
    walker = Walker(chromium, screen, folder, color_scheme="dark" if screen == "phone" else "light")
    walk(walker, url, password)
    assert len(walker.page.locator("#code").inner_text()) == 20
    assert not walker.faults and walker.asked and all(address.startswith(url) for address in walker.asked)
    walker.page.goto(f"{url}/admin/")
    walker.look("admin_login")
    walker.tab_to("#password")
    walker.page.keyboard.type(ADMIN)
    with walker.page.expect_navigation():
        walker.page.keyboard.press("Enter")
    invite(Database(study), Passwords(), 1)
    walker.page.reload()
    walker.look("admin")
    walker.press_on("form[action='/admin/invite'] button")
    walker.look("passwords")


@pytest.fixture
def at_the_first_video(study, url, chromium, tmp_path):
    """A walker whose participant has come to the test; the list is given back at the end."""
    database = Database(study)
    (password,) = invite(database, Passwords(), 1)
    handle = password[:4]

    def start(screen="desktop", **context):
        walker = Walker(chromium, screen, Path(os.environ.get("HUMANS_SCREENSHOTS") or tmp_path), **context)
        walker.page.goto(url)
        walker.page.fill("#password", password)
        with walker.page.expect_navigation():
            walker.page.click("button.main")
        store.consent(database, handle)
        store.tell_about_yourself(database, handle, 27, "female")
        store.proceed(database, handle)
        for number in range(1, len(study.familiarisation) + 1):
            store.familiarise(database, handle, number)
        store.proceed(database, handle)
        walker.page.goto(f"{url}/step")
        return walker

    start.password = password
    yield start
    withdraw(database, handle)


@pytest.mark.parametrize("screen", SCREENS)
def test_pages_that_are_seldom_seen(screen, study, at_the_first_video):
    """A pause, the question before withdrawing, the first of two devices, a second look at the instructions."""
    walker = at_the_first_video(screen)
    page, database = walker.page, Database(study)
    with database.write() as session:
        session.execute(update(Invite).where(Invite.handle == at_the_first_video.password[:4]).values(interlude=True, step=9))
    page.reload()
    assert walker.title() == "Pause"
    for name, path in (("pause", "/step"), ("withdraw", "/withdraw"), ("instructions_again", "/instructions")):
        page.goto(page.url.rsplit("/", 1)[0] + path)
        walker.look(name)
    log_in(database, Passwords(), at_the_first_video.password)
    page.goto(page.url.rsplit("/", 1)[0] + "/step")
    assert "another browser" in page.locator("main").inner_text()
    walker.look("message")


def test_an_answer_survives_a_lost_network(at_the_first_video):
    """No connection while saving: the page says so and keeps the rating; the next press saves it, once."""
    walker = at_the_first_video()
    page = walker.page
    walker.until("document.querySelector('video').ended")
    page.click("[data-rating='0']")
    page.context.set_offline(True)
    page.click("#next")
    page.wait_for_selector("#problem:not([hidden])", timeout=30000)
    assert "Not saved yet" in page.locator("#problem").inner_text() and page.locator("#state").inner_text() == "[Answered: 0]"
    walker.look("video_offline")
    page.context.set_offline(False)
    with page.expect_navigation():
        page.click("#next")
    assert walker.title() == "Video 2 of 14"


def test_a_reload_in_the_middle_of_a_clip(at_the_first_video):
    """The same video, not answered, and playing from its start."""
    walker = at_the_first_video()
    page = walker.page
    page.click("[data-rating='100']")
    page.reload()
    assert walker.title() == "Video 1 of 14" and page.locator("#state").inner_text() == "[Not answered]"
    walker.until("document.querySelector('video').ended")


def test_a_press_on_the_middle_is_an_answer(at_the_first_video):
    """50 is where the slider stands before it is touched, and no value changes; still it was chosen."""
    walker = at_the_first_video()
    walker.page.click("#slider")
    assert walker.page.locator("#state").inner_text() == "[Answered: 50]"


def test_a_clip_that_cannot_be_loaded(at_the_first_video):
    """The page says so, offers to load it again, and lets nobody go on without it."""
    walker = at_the_first_video()
    page = walker.page
    page.route("**/clip/*", lambda route: route.abort())
    page.reload()
    page.wait_for_selector(".broken:not([hidden])", timeout=20000)
    page.click("[data-rating='100']")
    assert page.locator("#next").is_disabled()
    walker.look("video_broken")
    page.unroute("**/clip/*")
    page.click(".reload")
    page.click(".play")
    walker.until("document.querySelector('video').ended")
    assert page.locator("#next").is_enabled()


def test_twice_the_size(at_the_first_video):
    """At 200 % of a desktop, 640 px, nothing is cut off and one column is left. Where motion is not wanted, none starts."""
    walker = at_the_first_video(device_scale_factor=2, reduced_motion="reduce")
    walker.page.set_viewport_size({"width": 640, "height": 400})
    walker.page.reload()
    walker.look("video_twice")
    assert walker.page.evaluate("document.querySelector('video').paused && document.querySelector('video').currentTime === 0")
    columns = walker.page.evaluate("getComputedStyle(document.querySelector('.test')).gridTemplateColumns")
    assert len(columns.split()) == 1
