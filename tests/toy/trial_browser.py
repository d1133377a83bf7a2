"""A browser of Flask's test client for the pages of a human trial: reads forms, and sends them with what is asked."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from flask import Flask
from trial_steps import QUICK, SECRET

from eval.humans import database
from eval.humans.export import FOLDER
from eval.humans.invitations import invite
from eval.humans.simulate import Page
from eval.humans.study import Study
from eval.humans.web.app import create_app
from eval.humans.web.security import limiter
from eval.humans.web.settings import Settings

ADMIN = "correct horse battery"
HTTPS = {"X-Forwarded-Proto": "https"}


def settings(**changed) -> Settings:
    """Production behind one proxy, with hashes that cost nothing."""
    return Settings(**{"secret": SECRET, "admin_password": ADMIN, "proxies": 1, "passwords": QUICK} | changed)


@contextmanager
def fresh_app(study: Study, **changed) -> Iterator[Flask]:
    """The app of a study in which nobody has taken part yet; what it wrote is removed at the end."""
    with mock.patch.object(database, "SYNCHRONOUS", "OFF"):  # no test pulls the plug
        app = create_app(study, settings(**changed))
        limiter.reset()
        yield app
    app.extensions["trials"].database.close()
    for path in study.folder.glob(f"{database.NAME}*"):
        path.unlink()
    shutil.rmtree(study.folder / FOLDER, ignore_errors=True)


class TrialBrowser:
    """One browser: a cookie jar and the last page."""

    def __init__(self, app, headers: dict | None = None) -> None:
        self.client, self.headers = app.test_client(), HTTPS if headers is None else headers

    def get(self, path: str, **named):
        """A page, without redirects."""
        return self.client.get(path, base_url="https://localhost", headers=self.headers | named)

    def post(self, path: str, fields: dict, **named):
        """A form, with the token of the page on which it stands unless one is given."""
        token = {} if "csrf_token" in fields else {"csrf_token": self.token()}
        headers = {"Referer": "https://localhost/"} | self.headers | named
        return self.client.post(path, base_url="https://localhost", data=token | fields, headers=headers)

    def token(self) -> str:
        """One for this cookie."""
        return re.search(r'name="csrf_token" value="([^"]+)"', self.get("/admin/login").text)[1]

    def cookie(self) -> str:
        """The value of the only cookie."""
        (held,) = self.client._cookies.values()
        return held.value

    def enter(self, password: str) -> "TrialBrowser":
        """Log in."""
        assert self.post("/", {"password": password}).location == "/step"
        return self

    def up_to(self, title: str) -> "TrialBrowser":
        """Fill in what is due until a page with this title is due."""
        for _ in range(40):
            text = self.get("/step").text
            if f"<title>{title}" in text:
                return self
            (address, fields), = Page(text).forms.items()
            asked = {"/consent": {"agree": "yes"}, "/demographics": {"age": "30", "gender": "female"},
                     "/answer": {"rating": "20", "rt_ms": "2000", "plays": "1"}}  # fmt: skip
            assert self.post(address, fields | asked.get(address, {})).status_code == 303
        raise AssertionError(f"no page '{title}'")

    def answer(self, **changed):
        """An answer to the first video, with some fields changed."""
        return self.post("/answer", {"position": "1", "rating": "20", "rt_ms": "2000", "plays": "1"} | changed)


def person(app: Flask, title: str = "Video 1 ") -> TrialBrowser:
    """A browser whose new participant has come to a page."""
    (password,) = invite(app.extensions["trials"].database, QUICK, 1)
    return TrialBrowser(app).enter(password).up_to(title)
