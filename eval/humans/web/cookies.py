"""Sessions whose cookie is a random number and nothing else; what belongs to it stands in the database."""

import re
import secrets

from flask import Flask, Request, Response
from flask.sessions import SessionInterface, SessionMixin

from eval.humans.passwords import keyed

FORM = re.compile(r"[A-Za-z0-9_-]{43}")  # secrets.token_urlsafe(32)


class CookieSession(dict, SessionMixin):
    """cookie: the random number; fresh: the browser has to be told. The one item, Flask-WTF's, is computed from the cookie."""

    def __init__(self, secret: bytes, cookie: str, fresh: bool) -> None:
        super().__init__()
        self.secret = secret
        self._hold(cookie, fresh)

    def renew(self, cookie: str | None = None) -> None:
        """Go on under another number, after a login or a logout: what was known of the old one is worth nothing."""
        self._hold(cookie or secrets.token_urlsafe(32), True)

    def _hold(self, cookie: str, fresh: bool) -> None:
        self.cookie, self.fresh = cookie, fresh
        self["csrf_token"] = keyed(self.secret, "csrf", cookie).hex()


class CookieSessions(SessionInterface):
    """Reads and sets the cookie: HttpOnly, SameSite, and outside of --dev Secure, under a name that no other host can set."""

    def __init__(self, secret: bytes, dev: bool) -> None:
        self.secret, self.secure, self.name = secret, not dev, "trial" if dev else "__Host-trial"

    def open_session(self, app: Flask, request: Request) -> CookieSession:
        cookie = request.cookies.get(self.name, "")
        known = FORM.fullmatch(cookie) is not None
        return CookieSession(self.secret, cookie if known else secrets.token_urlsafe(32), not known)

    def save_session(self, app: Flask, session: CookieSession, response: Response) -> None:
        if session.fresh and response.mimetype in ("text/html", "application/json"):
            response.set_cookie(self.name, session.cookie, secure=self.secure, httponly=True, samesite="Lax", path="/")
