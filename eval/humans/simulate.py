"""Simulated participants who go through the real pages: they post forms, load clips and know a clip by its bytes alone.

    python -m eval.humans simulate runs/study --url http://127.0.0.1:8000 --perfect 40 --noisy 10 --random 3 --lazy 3
"""

import argparse
import hashlib
import http.client
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

from envs.problem import Problem
from eval.humans.database import Database
from eval.humans.invitations import invite
from eval.humans.passwords import Passwords
from eval.humans.raters import RATERS
from eval.humans.study import Study

TRIES, WAIT_S = 600, 0.5  # of a request while the server is away
HELD_S = 600  # waiting for a list while all are held, and for a server that is too busy to save
AGAIN = (503, 507)  # not saved; the page has a button "Try again"


class Page(HTMLParser):
    """The forms of a page (address -> fields with a value), the clips in it, and the payment code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms, self.clips, self.code, self._fields, self._in_code = {}, [], "", None, False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        own = dict(attributes)
        if tag == "form":
            self._fields = self.forms[own["action"]] = {}
        elif tag == "input" and own.get("type") == "hidden" and self._fields is not None:
            self._fields[own["name"]] = own.get("value", "")
        elif tag == "source" and own["src"].endswith(".mp4"):
            self.clips.append(own["src"])
        self._in_code = own.get("id") == "code"

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.code, self._in_code = data.strip(), False


class Browser:
    """One connection with one cookie. Requests that got no reply are sent again, as the pages' script does."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.address, self.headers, self.cookies, self.connection = urlsplit(url), headers or {}, {}, None
        self.seconds: list[tuple[str, float]] = []  # what was asked, and how long the reply took

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body, after redirects."""
        return self._ask("GET", path, None)

    def post(self, path: str, fields: dict) -> tuple[int, bytes]:
        """Status and body, after redirects."""
        return self._ask("POST", path, urlencode(fields))

    def _ask(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        for _ in range(TRIES):
            try:
                status, reply, location = self._once(method, path, body)
            except (OSError, http.client.HTTPException):
                self.connection = None
                time.sleep(WAIT_S)
                continue
            if status in (302, 303):
                return self._ask("GET", urlsplit(location).path, None)
            return status, reply
        raise Problem(f"{self.address.geturl()} gave no reply to {TRIES} requests; start: python -m eval.humans serve <study>")

    def _once(self, method: str, path: str, body: str | None) -> tuple[int, bytes, str]:
        if self.connection is None:
            kind = http.client.HTTPSConnection if self.address.scheme == "https" else http.client.HTTPConnection
            self.connection = kind(self.address.hostname, self.address.port, timeout=30)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
                   "Referer": self.address.geturl(), **self.headers}  # fmt: skip
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        start = time.perf_counter()
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        self.seconds.append((f"{method} {'/clip' if path.startswith('/clip/') else path}", time.perf_counter() - start))
        for cookie in reply.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.split(";")[0].partition("=")
            self.cookies[name] = value
        return reply.status, content, reply.headers.get("Location", "")


@dataclass
class Walk:
    """What a simulated participant did: sent: position -> (clip id, rating); requests and seconds; the payment code.

    told_again: how often the server was too busy to save, and the same was sent once more.
    """

    kind: str
    sent: dict[int, tuple[str, int]] = field(default_factory=dict)
    seconds: list[tuple[str, float]] = field(default_factory=list)
    told_again: int = 0
    code: str = ""


class Simulated:
    """A participant with a password. think: seconds between a page and its answer, on average."""

    def __init__(self, known: dict[str, str], study: Study, url: str, password: str, kind: str, seed: int, think: float,
                 headers: dict[str, str] | None = None) -> None:  # fmt: skip
        self.known, self.study, self.password, self.think = known, study, password, think
        self.rng, self.browser, self.walk = random.Random(seed), Browser(url, headers), Walk(kind)
        self.rate = RATERS[kind](self.rng)

    def __call__(self) -> Walk:
        """Go from the login to the code."""
        for page in self._pages():
            self._pause()
            address = next(path for path in page.forms)
            fields, start = page.forms[address] | self._filled(address, page), time.monotonic()
            status, reply = self.browser.post(address, fields)
            while (address == "/" and status == 409 or status in AGAIN) and time.monotonic() - start < HELD_S:
                self.walk.told_again += status in AGAIN
                time.sleep(WAIT_S)
                status, reply = self.browser.post(address, fields)
            if status != 200:
                raise Problem(f"{address} answered {status} to a {self.walk.kind} participant: {reply.decode()[-400:]}")
        self.walk.seconds = self.browser.seconds
        return self.walk

    def _pages(self) -> Iterator[Page]:
        yield Page(self.browser.get("/")[1].decode())
        while True:
            page = Page(self.browser.get("/step")[1].decode())
            if not page.forms or "/" in page.forms:  # nothing is due any more, and so the login is shown
                self.walk.code = Page(self.browser.get("/done")[1].decode()).code
                return
            yield page

    def _filled(self, address: str, page: Page) -> dict:
        """What a person adds to the fields of a form."""
        if address == "/answer":
            clip = self._clip(page)
            rating = self.rate(clip, self.study.clips[clip].version == "surprising")
            self.walk.sent[int(page.forms[address]["position"])] = clip, rating
            return {"rating": rating, "rt_ms": self.rng.randint(2000, 9000), "plays": 1}
        age, gender = self.rng.randint(19, 32), self.rng.choice(["female", "male", "non-binary", "undisclosed"])
        return {"/": {"password": self.password}, "/consent": {"agree": "yes"},
                "/demographics": {"age": age, "gender": gender}}.get(address, {})  # fmt: skip

    def _clip(self, page: Page) -> str:
        """The id of the clip on a page, by what its file holds."""
        _, content = self.browser.get(page.clips[0])
        return self.known[hashlib.sha256(content).hexdigest()]

    def _pause(self) -> None:
        time.sleep(self.rng.uniform(0.5, 1.5) * self.think)


def known_clips(study: Study) -> dict[str, str]:
    """Digest of a file -> clip id; one of the two where both versions of a trial have the same pixels."""
    return {digest: id for id, digest in digests(study).items()}


def digests(study: Study) -> dict[str, str]:
    """Clip id -> digest of its file."""
    return {id: hashlib.sha256((study.folder / clip.mp4).read_bytes()).hexdigest() for id, clip in study.clips.items()}


def walk_all(
    study: Study, url: str, passwords: list[str], kinds: list[str], think: float, at_once: int = 60, seed: int = 0,
    headers: dict[str, str] | None = None,
) -> list[Walk]:  # fmt: skip
    """Let one participant of each kind go through the pages, so many at once."""
    known = known_clips(study)
    people = [Simulated(known, study, url, password, kind, seed + number, think, headers)
              for number, (password, kind) in enumerate(zip(passwords, kinds, strict=True))]  # fmt: skip
    with ThreadPoolExecutor(at_once) as threads:
        return [walk.result() for walk in [threads.submit(person) for person in people]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("study", help="folder of the study")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where it is served (%(default)s)")
    for kind in RATERS:
        parser.add_argument(f"--{kind}", type=int, default=0, help=f"{kind} participants (%(default)s)")
    parser.add_argument("--at-once", type=int, default=20, help="participants at the same time (%(default)s)")
    parser.add_argument("--think", type=float, default=0.0, help="seconds between a page and its answer (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")


def _check(args: argparse.Namespace) -> None:
    for name, least in {**dict.fromkeys(RATERS, 0), "at_once": 1, "think": 0}.items():
        if getattr(args, name) < least:
            option = f"--{name.replace('_', '-')}"
            raise Problem(f"{option} is a number of {least} or more, got {getattr(args, name)}; give another {option}")
    if not args.url.startswith(("http://", "https://")):
        raise Problem(f"--url begins with http:// or https://, got {args.url}; give the whole address")


def run(args: argparse.Namespace) -> None:
    """Invite, walk, and say how many were done. Raises Problem before anybody is invited."""
    _check(args)
    kinds = [kind for kind in RATERS for _ in range(getattr(args, kind))]
    if not kinds:
        raise Problem(f"nobody is to be simulated; give at least one of {', '.join(f'--{kind} N' for kind in RATERS)}")
    random.Random(args.seed).shuffle(kinds)
    study = Study.open(args.study)
    passwords = invite(Database(study), Passwords(), len(kinds))
    walks = walk_all(study, args.url, passwords, kinds, args.think, args.at_once, args.seed)
    answers, codes = sum(len(walk.sent) for walk in walks), sum(bool(walk.code) for walk in walks)
    print(f"{len(walks)} participants, {answers} answers, {codes} codes")
