"""Who asks: hands views the participant or the admin of the request's cookie, and tells all others why they are not."""

import functools

from flask import current_app, redirect, session

from eval.humans.erasure import FINISHED, expire_due
from eval.humans.logins import Visitor, visitor
from eval.humans.web.security import onward, told

REPLACED = "This study goes on in another browser, where your password was entered; enter it here to take over again."
EXPIRED = "Your invitation has run out. Your answers were not handed in, so everything about you has been erased."


def known() -> Visitor | None:
    """Whoever is logged in with the cookie of this request."""
    return visitor(current_app.extensions["trials"].database, session.cookie)


def participant(view):
    """A view of a participant whose invitation runs and whose browser is the current one."""

    @functools.wraps(view)
    def guarded(*arguments, **named):
        one = known()
        if one is None or one.role != "participant":
            return onward("/")
        if one.late and one.state not in FINISHED:
            expire_due(current_app.extensions["trials"].database)
            return told(EXPIRED, 410)
        if one.status == "expired":
            return told(EXPIRED, 410)
        if one.status == "replaced":
            return told(REPLACED, 409)
        return view(one, *arguments, **named)

    return guarded


def admin(view):
    """A view of the admin."""

    @functools.wraps(view)
    def guarded(*arguments, **named):
        one = known()
        if one is None or one.role != "admin" or one.late:
            return redirect("/admin/login", 303)
        return view(*arguments, **named)

    return guarded
