"""Participants of a human trial who go through its steps without pages."""

from eval.humans import invitations, logins, store
from eval.humans.passwords import Passwords

QUICK = Passwords(time_cost=1, memory_kib=8)
SECRET = b"s" * 32


def enter(trials, days=14):
    """The handle and the cookie of a new participant who is logged in."""
    (password,) = invitations.invite(trials, QUICK, 1, days)
    return password[:4], logins.log_in(trials, QUICK, password)


def up_to_the_test(trials, handle):
    """Everything before the first video."""
    store.consent(trials, handle)
    store.tell_about_yourself(trials, handle, 30, "female")
    store.proceed(trials, handle)
    for scenario in range(1, len(trials.study.familiarisation) + 1):
        store.familiarise(trials, handle, scenario)
    store.proceed(trials, handle)


def answer_all(trials, handle, cookie, right=True):
    """Every video: on the side of its version, or always "expected"."""
    entries = trials.study.lists[logins.visitor(trials, cookie).list]
    for entry in entries:
        surprising = right and trials.study.clips[entry.clip].version == "surprising"
        store.answer(trials, handle, entry.position, 90 if surprising else 10, 2500, 1)
