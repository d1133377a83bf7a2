"""Makes invitations, and the command for it: python -m eval.humans invite runs/study --count 60."""

import argparse

from sqlalchemy import select

from envs.problem import Problem
from eval.humans.database import Database
from eval.humans.passwords import Passwords
from eval.humans.study import Study
from eval.humans.tables import Invite

DAYS = 14  # an invitation lasts
MOST_DAYS, MOST_INVITES = 365, 1000


def invite(database: Database, passwords: Passwords, count: int, days: int = DAYS) -> list[str]:
    """Make invitations that last so many days; their passwords are told here and never again."""
    for name, value, most in (("number of invitations", count, MOST_INVITES), ("number of days", days, MOST_DAYS)):
        if not 1 <= value <= most:
            raise Problem(f"the {name} is {value}; give one from 1 to {most}")
    with database.read() as session:
        taken = set(session.scalars(select(Invite.handle)))
    made, ends = {}, database.now() + days * 86400
    while len(made) < count:
        handle, password, stored = passwords.new()
        if handle not in taken:
            made[handle] = password, stored
    with database.write() as session:
        session.add_all(Invite(handle=handle, password_hash=stored, expires=ends) for handle, (_, stored) in made.items())
    return [password for password, _ in made.values()]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("study", help="folder of the study")
    parser.add_argument("--count", type=int, default=1, help="how many (%(default)s)")
    parser.add_argument("--days", type=int, default=DAYS, help="days until they run out and are erased (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """Print one password a line; only their hashes are stored."""
    for password in invite(Database(Study.open(args.study)), Passwords(), args.count, args.days):
        print(password)
