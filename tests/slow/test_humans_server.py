"""The production server of a human trial, with its two workers: killed and started again, and what it logs."""

import os
import secrets
import socket
import subprocess
import sys
import time

import pytest
from tiny_study import tiny_study

from benchmarks.humans_load import measure
from eval.humans.database import Database
from eval.humans.invitations import invite
from eval.humans.passwords import Passwords
from eval.humans.simulate import Browser, walk_all

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of 14 clips a list."""
    return tiny_study(tmp_path_factory.mktemp("humans") / "study")


@pytest.mark.parametrize("kill", [False, True])
def test_no_answer_is_lost_or_doubled(study, kill):
    """Six at once, also where all processes of the server get SIGKILL in the middle: what was sent is what is exported."""
    found = measure(study, 6, 0.3, kill)
    assert found["killed"] == kill and found["answers_sent"] == found["answers_exported"] == 6 * 14
    assert found["lost"] == found["doubled_or_changed"] == 0 and found["codes"] == found["whole_exports"] == 6


def test_the_log_names_nobody(study, root, tmp_path):
    """No address, browser, handle or path stands in it: not of people, not of requests that are no requests."""
    (password,) = invite(Database(study), Passwords(), 1)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "eval.humans", "serve", str(study.folder), "--proxies", "1", "--port", str(port)]
    own = {name: secrets.token_hex() for name in ("HUMANS_SECRET", "HUMANS_ADMIN_PASSWORD")}
    log = tmp_path / "log"
    with (
        log.open("w") as file,
        subprocess.Popen(words, cwd=root, env={**os.environ, **own}, stdout=file, stderr=file) as server,
    ):
        headers = {"X-Forwarded-Proto": "https", "Referer": f"https://127.0.0.1:{port}/", "User-Agent": "Curious/7"}
        walk_all(study, f"http://127.0.0.1:{port}", [password], ["perfect"], 0, headers=headers)
        with socket.create_connection(("127.0.0.1", port)) as odd:
            odd.sendall(b"\x16\x03\x01 no request at all\r\n\r\n")
            odd.recv(100)
        Browser(f"http://127.0.0.1:{port}").get("/nothing")
        time.sleep(0.5)
        server.terminate()
    assert log.read_text() == ""
