"""The pages of the admin: invitations, how far people have come, exports, payment codes. Answers are never shown."""

import io
import time
import zipfile
from hmac import compare_digest

from flask import Blueprint, current_app, redirect, render_template, request, send_file, session

from envs.problem import Problem
from eval.humans.erasure import expire_due
from eval.humans.export import FOLDER, hand_in_left_over
from eval.humans.invitations import DAYS, MOST_DAYS, MOST_INVITES, invite
from eval.humans.logins import log_in_admin, log_out
from eval.humans.overview import claim, overview
from eval.humans.web.security import limit_of_logins
from eval.humans.web.visitors import admin

SAID = {"paid now": "The code is valid; it now counts as paid.", "paid before": "This code was paid before.",
        "unknown": "There is no such code."}  # fmt: skip

pages = Blueprint("admin", __name__, url_prefix="/admin")


def _trials():
    return current_app.extensions["trials"]


def _number(name: str) -> int:
    text = request.form.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise Problem(f"'{text[:20]}' is no whole number of {name}; go back and correct it.")
    return int(text)


@pages.get("/login")
def welcome():
    """The login of the admin."""
    return render_template("admin_login.html")


@pages.post("/login")
@limit_of_logins
def enter():
    """Password -> a new cookie."""
    if not compare_digest(request.form.get("password", "").encode(), _trials().settings.admin_password.encode()):
        return render_template("admin_login.html", sentence="This password is not valid."), 401
    session.renew(log_in_admin(_trials().database))
    return redirect("/admin/", 303)


@pages.post("/logout")
@admin
def leave():
    """Forget this browser."""
    log_out(_trials().database, session.cookie)
    session.renew()
    return redirect("/admin/login", 303)


def _page(**told):
    expire_due(_trials().database)
    seen = overview(_trials().database)
    running = [(*row, time.strftime("%Y-%m-%d", time.gmtime(ends))) for *row, ends in seen.running]
    return render_template("admin.html", seen=seen, running=running, study=_trials().database.study, days=DAYS,
                           most_days=MOST_DAYS, most_invites=MOST_INVITES, **told)  # fmt: skip


@pages.get("/")
@admin
def states():
    """Who has come how far."""
    return _page()


@pages.post("/invite")
@admin
def make_invitations():
    """Makes invitations and shows their passwords this once."""
    made = invite(_trials().database, _trials().settings.passwords, _number("count"), _number("days"))
    return render_template("passwords.html", passwords=made)


@pages.post("/claim")
@admin
def claim_code():
    """A payment code that somebody brings."""
    return _page(sentence=SAID[claim(_trials().database, request.form.get("code", ""))])


@pages.post("/export")
@admin
def export():
    """All exported participants as one archive; whoever's file failed before is handed in first."""
    hand_in_left_over(_trials().database, _trials().settings.secret)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((_trials().database.study.folder / FOLDER).glob("*.json")):
            archive.write(path, f"{FOLDER}/{path.name}")
    packed.seek(0)
    return send_file(packed, "application/zip", as_attachment=True, download_name=f"exports_{_trials().database.study.id}.zip")
