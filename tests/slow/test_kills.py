"""Commands killed outright at drawn moments and given again end with the data, weights and results of the uninterrupted ones.

KILLS=40 in the environment sets how many, KILLS_SEED=0 the moments, KILLS_ELSEWHERE=/dev/shm a folder on another file
system than the temporary one, where one of the trainings writes its runs. Half of the kills wait for a file at work (*.part).
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  reads the compressed columns
import pytest
import torch

pytestmark = pytest.mark.slow

KILLS, SEED = int(os.environ.get("KILLS", "40")), int(os.environ.get("KILLS_SEED", "0"))
ELSEWHERE = Path(os.environ.get("KILLS_ELSEWHERE", "/dev/shm"))
PACKAGES = ("configs", "envs", "eval", "losses", "models", "train")
IN_A_ROW = 4  # kills before a command may end
HANGS = 900  # seconds
TINY = [
    "env.splits.train.episodes=20", "env.splits.valid.episodes=10", "env.splits.test.episodes=200",
    "score.counterfactuals=20", "trainer=smoke",
]  # fmt: skip
FIT = ["train/fit.py", *TINY, "env=physics3", "model=edge", "loss.epochs.smoke=12", "logger=csv", "data_dir=d", "name=run"]
ROW = "ours (edge + InfoNCE)"


@dataclass(frozen=True)
class Case:
    """share: of all kills. make: a command that was through before. elsewhere: runs lie on another file system."""

    share: float
    command: list[str]
    make: list[str] = field(default_factory=list)
    elsewhere: bool = False
    writes: bool = False  # files that are long at work


CASES = {
    "collect": Case(0.1, ["envs/collect.py", "env=physics3", "split=train", "env.splits.train.episodes=3000", "data_dir=d"],
                    writes=True),
    "fit": Case(0.3, [*FIT, "runs_dir=r"], writes=True),
    "fit on another file system": Case(0.25, [*FIT, "runs_dir=elsewhere/r"], elsewhere=True, writes=True),
    "score": Case(0.1, ["eval/score.py", "run=r/run", "split=valid", "episodes=10"], [*FIT, "runs_dir=r"]),
    "tables": Case(0.15, ["eval/tables.py", "table=3", f"rows=['{ROW}']", "data_dir=d", "runs_dir=r", "out=o", "jobs=1"]),
    "protocols": Case(
        0.1, ["eval/protocols.py", "task=pushing", "protocols=[P0,P4]", "episodes=10", "max_steps=60", "jobs=1", "out=o"]
    ),
}  # fmt: skip


def how_many(name):
    """Of KILLS, those of a case: the first take what rounding leaves over."""
    counts = {key: int(KILLS * case.share) for key, case in CASES.items()}
    for key in list(CASES)[: KILLS - sum(counts.values())]:
        counts[key] += 1
    return counts[name]


@pytest.fixture(scope="module")
def code(root, tmp_path_factory):
    """The packages, with a budget for the tables that is a matter of seconds."""
    folder = tmp_path_factory.mktemp("code")
    for package in PACKAGES:
        shutil.copytree(root / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    book = folder / "eval" / "paper" / "paper_tables.yaml"
    tiny = ", ".join([*TINY, "loss.epochs.smoke=6"])
    text, found = re.subn(rf"(  2min:.*?{re.escape(ROW)}: )\[[^\]]*\]", rf"\1[{tiny}]", book.read_text(), count=1, flags=re.S)
    assert found == 1
    book.write_text(text)
    return folder


def start(code, command, here):
    env = {**os.environ, "PYTHONPATH": str(code), "COLUMNS": "120"}
    with (here / "said.txt").open("a") as said:
        return subprocess.Popen(
            [sys.executable, str(code / command[0]), *command[1:]], cwd=here, env=env, stdout=said, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip


def finish(code, command, here):
    """Run a command to its end.  -> seconds"""
    begin, process = time.monotonic(), start(code, command, here)
    try:
        assert process.wait(HANGS) == 0, (here / "said.txt").read_text()[-3000:]
    finally:
        end(process)
    return time.monotonic() - begin


def end(process):
    """SIGKILL the command and whatever it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def parts(here):
    return [part for place in ("d", "r", "o", "elsewhere") for part in (here / place).resolve().rglob("*.part")]


def kill_within(process, here, seconds, at_work):
    """Kill after so many seconds, at_work: as soon after as a file is being written.  -> whether it was still running"""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
    limit = time.monotonic() + 10
    while at_work and process.poll() is None and time.monotonic() < limit and not parts(here):
        time.sleep(0.001)
    running = process.poll() is None
    end(process)
    return running


def digest_of(path):
    """What a file of data or weights holds, or a file of results without times and versions."""
    sha = hashlib.sha256()
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            sha.update(str(file.attrs["header"]).encode())
            for name in sorted(file):
                sha.update(name.encode() + file[name][()].tobytes())
    elif path.suffix == ".ckpt":
        for name, weights in torch.load(path, weights_only=True)["state_dict"].items():
            sha.update(name.encode() + weights.numpy().tobytes())
    elif path.suffix == ".json":
        held = json.loads(path.read_text())
        lasting = {k: v for k, v in held.items() if k not in ("timing", "versions", "scored_at")}
        sha.update(json.dumps(lasting, sort_keys=True).encode())
    elif path.name == "metrics.csv":  # an epoch that was trained twice counts once
        rows = dict(line.rsplit(",", 1) for line in path.read_text().splitlines() if ",seconds," not in line)
        sha.update(repr(sorted(rows.items())).encode())
    else:
        sha.update(path.read_bytes())
    return sha.hexdigest()


def outcome(here):
    """Name of everything that must be equal -> its digest. Reports and charts are made from it."""
    found = {}
    for place in ("d", "r", "o", "elsewhere"):
        top = (here / place).resolve()
        for path in sorted(p for p in top.rglob("*") if p.is_file() and p.suffix in (".h5", ".ckpt", ".json", ".csv", ".md")):
            inner = path.relative_to(top)
            if not {"wandb", "logs"} & set(inner.parts) and path.name not in ("last.ckpt", "best.ckpt", "claims.md"):
                found[f"{place}/{inner}"] = digest_of(path)
    return found


@pytest.fixture
def folder(tmp_path):
    """folder(name, case) -> a new working folder; where a case asks for it, `elsewhere` in it leads to another file system."""
    made = []

    def new(name, case):
        here = tmp_path / name
        here.mkdir()
        if case.elsewhere:
            if not ELSEWHERE.is_dir() or ELSEWHERE.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev:
                pytest.skip(f"{ELSEWHERE} is on no other file system than the temporary folder; set KILLS_ELSEWHERE=")
            made.append(Path(tempfile.mkdtemp(prefix="kills-", dir=ELSEWHERE)))
            (here / "elsewhere").symlink_to(made[-1])
        return here

    yield new
    for path in made:
        shutil.rmtree(path)


@pytest.mark.parametrize("name", CASES)
def test_killed_and_given_again_it_ends_the_same(name, code, folder, tmp_path):
    """Of a training on a second file system one kill used to lose the whole stage."""
    case, kills = CASES[name], how_many(name)
    draw = random.Random(f"{SEED}-{name}")
    whole = folder("whole", case)
    if case.make:
        finish(code, case.make, whole)
    seconds = finish(code, case.command, whole)
    wanted, moments, series = outcome(whole), [], 0
    assert wanted
    while len(moments) < kills:
        here = folder(f"killed{series}", case)
        if case.make:
            for place in ("d", "r"):
                shutil.copytree(whole / place, here / place)
            (here / "r" / "run" / "results-valid-n10.json").unlink()
        for _ in range(IN_A_ROW):
            moment, at_work = draw.uniform(0.15, 0.95) * seconds, case.writes and draw.random() < 0.5
            if len(moments) == kills or not kill_within(start(code, case.command, here), here, moment, at_work):
                break
            moments.append(round(moment, 1))
            print(f"{name}: killed after {moment:.1f} of {seconds:.1f} s{', at a file at work' if at_work else ''}", flush=True)
        finish(code, case.command, here)
        assert outcome(here) == wanted, f"{name}, killed at {moments}"
        left = [part for part in parts(here) if not part.name.startswith(("results", "report"))]  # these stay for an hour
        assert not case.writes or not left
        series += 1
    print(f"{name}: {kills} kills, the same {len(wanted)} files each time", flush=True)
