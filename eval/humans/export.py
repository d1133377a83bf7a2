"""Hands in a finished participant: the JSON file is written and fsynced, then everything else about them is erased.

The command, python -m eval.humans export runs/study, does so for whoever's file could not be written before.
"""

import argparse
import json
import os
import threading
from contextlib import suppress
from pathlib import Path

from sqlalchemy import select

from envs.problem import Problem
from eval.humans.database import Database, NotSaved
from eval.humans.decision import decide
from eval.humans.erasure import FINISHED, erase, expire_due
from eval.humans.overview import overview
from eval.humans.passwords import check_secret, digest, payment_code, secret_of_environment
from eval.humans.store import Refused
from eval.humans.study import Study
from eval.humans.tables import Invite, Login, Participant, PaymentCode, Response

SCHEMA = 1
FOLDER = "exports"  # in the folder of the study


class NotExported(Problem):
    """The file could not be written. All answers are kept, and handing in may be asked again."""


def hand_in(database: Database, secret: bytes, handle: str) -> None:
    """testing -> submitted -> exported -> erased. Raises Refused before the last answer, NotExported where the file failed.

    After a failure, or a kill at any moment, the same call goes on where it ended; a second one finds nothing to do.
    """
    with database.write() as session:
        invite = session.get(Invite, handle)
        if invite is None:
            return
        person = _participant(session, handle)
        if invite.state not in FINISHED:
            if person is None or invite.state != "testing" or invite.step <= len(database.study.lists[person.list]):
                raise Refused("There are videos without an answer; answer those first.")
            invite.state = "submitted"
    document, path = _document(database, person), database.path.parent / FOLDER / f"{person.id}.json"
    if document is None:  # a second click was faster, and everything is erased
        return
    if invite.state == "submitted" or not path.exists():
        _write_durably(path, json.dumps(document, indent=1) + "\n")
        with database.write() as session:
            if invite := session.get(Invite, handle):
                invite.state = "exported"
    for left in path.parent.glob(f"{path.name}.*.part"):  # of a write that was killed
        left.unlink(missing_ok=True)
    accepted = document["decision"]["accepted"]
    with database.write() as session:
        if session.get(Invite, handle) is None:  # a second click, or the admin, was faster
            return
        current = select(Login.cookie_hash).where(Login.handle == handle, Login.status == "current")
        for cookie_hash in session.scalars(current):
            session.add(PaymentCode(code_hash=digest(payment_code(secret, cookie_hash))))
        erase(database, session, handle, "accepted" if accepted else "rejected")
    database.wipe()


def hand_in_left_over(database: Database, secret: bytes) -> tuple[int, int]:
    """Hand in everybody whose file failed before.  -> how many were handed in now, and of how many the file fails again"""
    with database.read() as session:
        handles = list(session.scalars(select(Invite.handle).where(Invite.state.in_(FINISHED))))
    failed = 0
    for handle in handles:
        try:
            hand_in(database, secret, handle)
        except (NotExported, NotSaved):  # the others are not kept waiting for it
            failed += 1
    return len(handles) - failed, failed


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("study", help="folder of the study")


def run(args: argparse.Namespace) -> None:
    """Hand in what is left over, erase who has run out of time, and say how the study stands."""
    database = Database(Study.open(args.study))
    secret = secret_of_environment()
    expire_due(database)
    check_secret(database.path.parent, secret)
    late, failed = hand_in_left_over(database, secret)
    seen = overview(database)
    ended = ", ".join(f"{people} {outcome}" for outcome, people in seen.ended.items())
    print(f"{database.path.parent / FOLDER}: {late} handed in now; {ended}; {len(seen.running)} invitations run")
    if failed:
        raise Problem(f"the file of {failed} who have given all answers could not be written "
                      f"into {database.path.parent / FOLDER}; nothing is lost: "
                      f"free some space there and run this again")  # fmt: skip


def _participant(session, handle: str) -> Participant | None:
    return session.scalar(select(Participant).where(Participant.handle == handle))


def _document(database: Database, person: Participant) -> dict | None:
    """What the analysis reads: list, demographics, all answers in their order, and whether they are accepted;
    None once erased.
    """
    study, entries = database.study, database.study.lists[person.list]
    with database.read() as session:
        given = {row.position: row for row in session.scalars(select(Response).where(Response.participant == person.id))}
    if len(given) < len(entries):
        return None
    responses = []
    for entry in entries:
        clip, row = study.clips[entry.clip], given[entry.position]
        responses.append({
            "position": entry.position, "clip": entry.clip, "category": clip.category, "version": clip.version,
            "kind": entry.kind, "repeat_of": entry.repeat_of, "rating": row.rating, "rt_ms": row.rt_ms, "plays": row.plays,
        })  # fmt: skip
    decision = decide(entries, {position: row.rating for position, row in given.items()}, study)
    return {"schema": SCHEMA, "study": study.id, "participant": person.id, "list": person.list,
            "demographics": {"age": person.age, "gender": person.gender}, "responses": responses,
            "decision": decision.to_dict()}  # fmt: skip


def _write_durably(path: Path, content: str) -> None:
    """Write a file whole or not at all; at the end it and its name are on the disk."""
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")  # a second click writes its own
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        # nobody else on the machine reads it
        with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise NotExported(f"Your answers are saved, but the server could not write its file ({error.strerror}); "
                          "press again in a minute; keep this page open until it shows your code, "
                          "or tell the researchers.") from None  # fmt: skip
