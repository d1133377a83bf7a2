"""The pages of a participant. /step shows what is due; forms say what was done; the server decides what comes next."""

import math
import re

from flask import Blueprint, current_app, redirect, render_template, request, session

from envs.problem import Problem
from eval.humans import store
from eval.humans.database import Database
from eval.humans.erasure import withdraw as erase_withdrawn
from eval.humans.export import hand_in
from eval.humans.logins import Visitor, log_in
from eval.humans.overview import is_code
from eval.humans.passwords import digest, payment_code
from eval.humans.tables import GENDERS
from eval.humans.web.assumptions import assumptions_of, assumptions_of_all
from eval.humans.web.clips import AHEAD, name_of
from eval.humans.web.security import limit_of_logins, onward, told
from eval.humans.web.visitors import known, participant

WRONG = "This password is not valid. Check it letter by letter, or ask the researchers whether it has run out."
KINDS = 5  # of scenes
SECONDS_A_VIDEO = (9.5, 12.8)  # a quick and a slow participant, pauses and examples included: 45 to 60 minutes for 280

pages = Blueprint("pages", __name__)


def _database() -> Database:
    return current_app.extensions["trials"].database


def _number(name: str) -> int:
    """A whole number of a form, in plain digits. Raises Problem on anything else."""
    text = request.form.get(name, "").strip()
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Problem(f"'{text[:20]}' is no whole number for {name.replace('_', ' ')}; go back and correct it.")
    return int(text)


@pages.get("/")
def welcome():
    """The login, or on to the step that is due."""
    one = known()
    if one is not None and one.role == "participant" and one.status == "current":
        return redirect("/step", 303)
    if _own_code() is not None:  # handed in by the researchers, after its own handing in had failed
        return redirect("/done", 303)
    return render_template("login.html")


@pages.post("/")
@limit_of_logins
def enter():
    """Password -> a new cookie. The answer is the same whether a password never existed, has run out or is mistyped."""
    cookie = log_in(_database(), current_app.extensions["trials"].settings.passwords, request.form.get("password", ""))
    if cookie is None:
        return render_template("login.html", sentence=WRONG), 401
    session.renew(cookie)
    return redirect("/step", 303)


@pages.get("/step")
@participant
def step(visitor: Visitor):
    """Whatever is due now."""
    study = _database().study
    if visitor.state == "authenticated":
        videos = len(study.lists[visitor.list])
        minutes = [math.ceil(seconds * videos / 60) for seconds in SECONDS_A_VIDEO]
        return render_template("consent.html", study=study, videos=videos, minutes=minutes)
    if visitor.state == "consented":
        return render_template("demographics.html", genders=GENDERS, ages=store.AGES)
    if visitor.state == "demographics":
        return _instructions(visitor, due=True)
    if visitor.state == "familiarisation":
        return _scenario(visitor)
    return _test(visitor)


@pages.get("/instructions")
@participant
def instructions(visitor: Visitor):
    """Back to the instructions, at any time."""
    return _instructions(visitor, due=False)


def _instructions(visitor: Visitor, due: bool):
    study = _database().study
    return render_template("instructions.html", due=due, scenarios=len(study.familiarisation), assumptions=assumptions_of_all(),
                           videos=len(study.lists[visitor.list]), pause=store.PAUSE_EVERY)  # fmt: skip


def _scenario(visitor: Visitor):
    scenarios = _database().study.familiarisation
    scenario = scenarios[visitor.step - 1]
    names = {version: name_of(visitor, "scenario", visitor.step, version) for version in ("expected", "surprising")}
    return render_template("scenario.html", number=visitor.step, scenarios=len(scenarios), scenario=scenario, kinds=KINDS,
                           names=names, assumptions=assumptions_of(scenario.category))  # fmt: skip


def _test(visitor: Visitor):
    entries, position = _database().study.lists[visitor.list], visitor.step
    shown = {"position": position, "videos": len(entries)}
    if position > len(entries):
        return render_template("hand_in.html", **shown)
    if visitor.interlude:
        page = "start.html" if position == 1 else "pause.html"
        return render_template(page, **shown, pause=store.PAUSE_EVERY)
    ahead = [name_of(visitor, "video", later) for later in range(position + 1, min(position + AHEAD, len(entries)) + 1)]
    return render_template("video.html", **shown, name=name_of(visitor, "video", position), ahead=ahead,
                           assumptions=assumptions_of_all())  # fmt: skip


@pages.post("/consent")
@participant
def consent(visitor: Visitor):
    """Agreed to take part."""
    if not request.form.get("agree"):
        raise Problem("Tick the box to take part, or close this page if you would rather not.")
    store.consent(_database(), visitor.handle)
    return onward("/step")


@pages.post("/demographics")
@participant
def demographics(visitor: Visitor):
    """Age and gender."""
    store.tell_about_yourself(_database(), visitor.handle, _number("age"), request.form.get("gender", ""))
    return onward("/step")


@pages.post("/proceed")
@participant
def proceed(visitor: Visitor):
    """Read: the instructions, the start of the test, or a pause."""
    store.proceed(_database(), visitor.handle)
    return onward("/step")


@pages.post("/scenario")
@participant
def scenario(visitor: Visitor):
    """Seen: both versions of a scenario."""
    store.familiarise(_database(), visitor.handle, _number("number"))
    return onward("/step")


@pages.post("/answer")
@participant
def answer(visitor: Visitor):
    """A rating of the video that is due."""
    numbers = [_number(name) for name in ("position", "rating", "rt_ms", "plays")]
    store.answer(_database(), visitor.handle, *numbers)
    return onward("/step")


@pages.post("/hand-in")
def hand_in_answers():
    """All is answered: export, erase, code. A second click finds nothing left and shows the same code."""
    one = known()
    if one is not None and one.role == "participant" and one.status == "current":
        hand_in(_database(), current_app.extensions["trials"].settings.secret, one.handle)
    return onward("/done")


@pages.get("/done")
def done():
    """The payment code of this browser, as long as it keeps its cookie."""
    code = _own_code()
    return redirect("/", 303) if code is None else render_template("done.html", code=code)


def _own_code() -> str | None:
    """The payment code of this browser, once its answers are handed in."""
    code = payment_code(current_app.extensions["trials"].settings.secret, digest(session.cookie))
    return code if is_code(_database(), code) else None


@pages.get("/withdraw")
@participant
def ask_to_withdraw(visitor: Visitor):
    """Asks once more."""
    return render_template("withdraw.html")


@pages.post("/withdraw")
@participant
def withdraw(visitor: Visitor):
    """Erase everything about this participant."""
    erase_withdrawn(_database(), visitor.handle)
    session.renew()
    return told("You have withdrawn, and everything about you has been erased. You may close this page.", 200)
