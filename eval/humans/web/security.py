"""What holds for every request: https, headers, forgery protection, limits of login, and errors told in one sentence."""

from flask import Flask, Response, abort, current_app, redirect, render_template, request
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_talisman import DENY, Talisman
from flask_wtf.csrf import CSRFError, CSRFProtect
from werkzeug.exceptions import HTTPException
from werkzeug.middleware.proxy_fix import ProxyFix

from envs.problem import Problem
from eval.humans.database import FULL, NotSaved
from eval.humans.export import NotExported
from eval.humans.passwords import HANDLE, letters_of
from eval.humans.store import Gone, Refused
from eval.humans.web.cookies import CookieSessions
from eval.humans.web.settings import Settings

POLICY = {  # no origin but our own, no inline script or style, no frames
    "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "media-src": "'self'",
    "connect-src": "'self'", "form-action": "'self'", "frame-ancestors": "'none'", "base-uri": "'none'",
}  # fmt: skip
LARGEST = 16 * 1024  # bytes of a request
STATUS = {NotExported: 507, Gone: 410, Refused: 409}  # of a Problem; 400 for all others

limiter = Limiter(get_remote_address, storage_uri="memory://")  # addresses stay in memory, for an hour at most


def _failed(response: Response) -> bool:
    return response.status_code == 401


def _handle_typed() -> str:
    if request.blueprint == "admin":  # it has no handle: whatever is typed is the same password guessed
        return "admin"
    return f"handle {letters_of(request.form.get('password', ''))[:HANDLE]}"


def limit_of_logins(view):
    """Ten wrong passwords a minute from one address, five for one handle, whatever the address; right ones do not count.

    Each worker counts for itself, so that two let twice as many pass: nothing beside 59 bits of a password.
    """
    view = limiter.limit("10 per minute; 100 per hour", methods=["POST"], deduct_when=_failed)(view)
    return limiter.limit("5 per minute", key_func=_handle_typed, methods=["POST"], deduct_when=_failed)(view)


def secure(app: Flask, settings: Settings) -> None:
    """Put everything of this file around an app."""
    app.config.update(SECRET_KEY=settings.secret, WTF_CSRF_TIME_LIMIT=None, MAX_CONTENT_LENGTH=LARGEST, TESTING=False)
    app.session_interface = CookieSessions(settings.secret, settings.dev)
    if settings.proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=settings.proxies, x_proto=settings.proxies, x_host=settings.proxies)
    app.before_request(_refuse_plain_http)
    Talisman(app, force_https=False, session_cookie_secure=not settings.dev, content_security_policy=POLICY, frame_options=DENY,
             referrer_policy="same-origin", strict_transport_security=not settings.dev, x_xss_protection=False)  # fmt: skip
    CSRFProtect(app)
    limiter.init_app(app)
    app.after_request(_keep_no_page)
    app.register_error_handler(Problem, _problem)
    app.register_error_handler(HTTPException, _http_error)


def _refuse_plain_http() -> None:
    """Refused, not redirected: a password that was sent in clear is known already."""
    if not (request.is_secure or current_app.extensions["trials"].settings.dev):
        abort(403, "This study is served over https alone; change http to https in the address.")


def _keep_no_page(response: Response) -> Response:
    if response.mimetype in ("text/html", "application/json", "application/zip"):
        response.headers["Cache-Control"] = "no-store"
    return response


def wants_json() -> bool:
    """Whether a script of ours asks, and not the browser itself."""
    return request.accept_mimetypes.best == "application/json"


def onward(path: str):
    """Send the browser on to a page."""
    return {"next": path} if wants_json() else redirect(path, 303)


def told(sentence: str, status: int, again: bool = False):
    """A page with one sentence. again: a button sends the same form once more."""
    if wants_json():
        return {"error": sentence, "again": again}, status
    fields = [(key, value) for key, value in request.form.items(multi=True) if key != "csrf_token"] if again else []
    return render_template("message.html", sentence=sentence, again=again, fields=fields), status


def _problem(error: Problem):
    if isinstance(error, NotSaved):
        return told(str(error), 507 if str(error) == FULL else 503, again=True)
    return told(str(error), STATUS.get(type(error), 400), again=isinstance(error, NotExported))


def _http_error(error: HTTPException):
    sentence = {
        404: "There is no such page.", 405: "There is no such page.", 413: "The request is too large.",
        429: "Too many wrong passwords; wait a minute and try again.",
        500: "Something went wrong on the server; what you have answered before is saved. Go on, or tell the researchers.",
    }.get(error.code, error.description)  # fmt: skip
    if isinstance(error, CSRFError):
        sentence = "This page was no longer valid, so nothing was saved; go on with the current step."
    return told(sentence, error.code)
