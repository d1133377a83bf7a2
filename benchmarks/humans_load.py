"""Sixty participants at once against the server of a study, and the same with the server killed in the middle: prints JSON.

    python benchmarks/humans_load.py runs/study > results/humans_load.json
    python benchmarks/humans_load.py runs/study --people 6 --think 0       a quick look

The server is the one of `python -m eval.humans serve`, with two workers, spoken to as by a proxy in front. A participant loads
each page and its clip, waits about as long as the clip lasts, and answers; all go through the whole list. Every answer that was
sent is looked for in the exports. A request that got no reply, because the server was down, is timed by its last try.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace

import numpy as np

from eval.humans.database import Database
from eval.humans.export import FOLDER
from eval.humans.invitations import invite
from eval.humans.order import Rules, complementary_lists
from eval.humans.overview import overview
from eval.humans.passwords import Passwords
from eval.humans.simulate import Walk, digests, walk_all
from eval.humans.study import Study

ROOT = Path(__file__).resolve().parents[1]
WORKERS = 2
SHARES = {"perfect": 0.6, "noisy": 0.3, "random": 0.05, "lazy": 0.05}
SHOWN = ("POST /", "GET /step", "GET /clip", "POST /answer", "POST /hand-in")  # in the report; the 95 % are over all pages
DOWN_S = 3  # between the kill and the new start


def with_lists(study: Study, folder: Path, lists: int) -> Study:
    """The same clips with so many lists, in a folder of its own."""
    folder.mkdir()
    (folder / "clips").symlink_to((study.folder / "clips").resolve())
    trials, checks = {}, [id for id, clip in study.clips.items() if clip.role == "check"]
    for id, clip in study.clips.items():
        if clip.role == "test":
            trials.setdefault(clip.category, {}).setdefault(clip.trial, {})[clip.version] = id
    pairs = {kind: [(both["expected"], both["surprising"]) for both in of.values()] for kind, of in trials.items()}
    rules = Rules(sum(entry.kind == "repeat" for entry in study.lists[0]))
    made = replace(study, folder=folder, lists=complementary_lists(pairs, checks, rules, study.seed, lists))
    made = replace(made, id=made.digest())
    made.write()
    return made


class Server:
    """The command, in processes of its own that can be killed together."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        own = {name: secrets.token_hex() for name in ("HUMANS_SECRET", "HUMANS_ADMIN_PASSWORD")}
        self.folder, self.environment = folder, {**os.environ, **own, "OMP_NUM_THREADS": "1"}
        self.start()

    def start(self) -> None:
        words = [sys.executable, "-m", "eval.humans", "serve", str(self.folder), "--proxies", "1", "--port", str(self.port),
                 "--workers", str(WORKERS)]  # fmt: skip
        self.process = subprocess.Popen(words, cwd=ROOT, env=self.environment, start_new_session=True)

    def kill(self) -> None:
        """SIGKILL to the master and its workers."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def measure(study: Study, people: int, think: float, kill: bool) -> dict:
    """One run: what was lost, what was doubled, and how long pages took."""
    with tempfile.TemporaryDirectory() as folder:
        wide = with_lists(study, Path(folder) / "study", people + people % 2)
        database, server = Database(wide), Server(wide.folder)
        passwords = invite(database, Passwords(), people)
        kinds = [kind for kind, share in SHARES.items() for _ in range(round(share * people))]
        kinds = (kinds + ["perfect"] * people)[:people]
        length = len(wide.lists[0])
        killed = threading.Event()

        def interrupt() -> None:
            server.kill()
            killed.set()
            time.sleep(DOWN_S)
            server.start()

        timer = threading.Timer(max(think, 0.1) * length / 2, interrupt)
        start = time.perf_counter()
        if kill:
            timer.start()
        try:
            host = f"127.0.0.1:{server.port}"
            proxied = {"X-Forwarded-Proto": "https", "Referer": f"https://{host}/"}
            walks = walk_all(wide, f"http://{host}", passwords, kinds, think, people, headers=proxied)
        finally:
            timer.cancel()
            server.kill()
        found = {"killed": killed.is_set(), "seconds": round(time.perf_counter() - start, 1)}
        return found | _compared(walks, wide, length) | _times(walks) | {"ended": overview(database).ended}


def _compared(walks: list[Walk], study: Study, length: int) -> dict:
    """Answers sent and answers exported, as multisets of (position, bytes of the clip, rating): what a participant can see."""
    file = digests(study)
    exports = [json.loads(path.read_text()) for path in (study.folder / FOLDER).glob("*.json")]
    stored = [tuple((row["position"], file[row["clip"]], row["rating"]) for row in export["responses"]) for export in exports]
    sent = [tuple((position, file[clip], rating) for position, (clip, rating) in sorted(walk.sent.items())) for walk in walks]
    lost = Counter(answer for walk in sent for answer in walk) - Counter(answer for walk in stored for answer in walk)
    more = Counter(answer for walk in stored for answer in walk) - Counter(answer for walk in sent for answer in walk)
    whole = sum([position for position, _, _ in answers] == list(range(1, length + 1)) for answers in stored)
    return {
        "participants": len(walks), "answers_sent": sum(map(len, sent)), "answers_exported": sum(map(len, stored)),
        "lost": lost.total(), "doubled_or_changed": more.total(), "whole_exports": whole,
        "exports_equal_to_what_one_participant_sent": sum((Counter(stored) & Counter(sent)).values()),
        "told_to_try_again": sum(walk.told_again for walk in walks), "codes": len({walk.code for walk in walks if walk.code}),
    }  # fmt: skip


def _times(walks: list[Walk]) -> dict:
    """Milliseconds of requests: of pages (shown and answered), and by kind."""
    by_kind = {}
    for walk in walks:
        for asked, seconds in walk.seconds:
            by_kind.setdefault(asked, []).append(1000 * seconds)
    pages = np.concatenate([times for asked, times in by_kind.items() if asked != "GET /clip"])
    return {
        "requests": sum(map(len, by_kind.values())), "page_p95_ms": round(float(np.percentile(pages, 95)), 1),
        "ms": {asked: {f"p{p}": round(float(np.percentile(times, p)), 1) for p in (50, 95, 99)} | {"count": len(times)}
               for asked, times in by_kind.items() if asked in SHOWN},
    }  # fmt: skip


def main() -> None:
    """Both runs, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", help="folder of a study; nothing in it is changed")
    parser.add_argument("--people", type=int, default=60, help="at once (%(default)s)")
    parser.add_argument("--think", type=float, default=2.1, help="seconds from a page to its answer, on average (%(default)s)")
    args = parser.parse_args()
    study, load = Study.read(args.study), os.getloadavg()
    about = {"cores": os.cpu_count(), "workers": WORKERS, "think_s": args.think, "videos": len(study.lists[0])}
    runs = {name: measure(study, args.people, args.think, kill) for name, kill in (("steady", False), ("killed", True))}
    print(json.dumps({**about, "load_before": load, "load_after": os.getloadavg(), **runs}, indent=1))


if __name__ == "__main__":
    main()
