"""A whole study in one command: fresh trials of all five categories are simulated, encoded, and served on this machine."""

import argparse
import functools
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from envs.voe.clip import SUBTYPES
from envs.voe.source import VoeSource
from eval.humans.build import Sizes, build
from eval.humans.database import Database
from eval.humans.invitations import invite
from eval.humans.order import Rules
from eval.humans.pairs import Pairs
from eval.humans.passwords import Passwords
from eval.humans.serve import check_port, development_settings, serve

SIZES = Sizes(trials_each=2, checks=2, familiarisation=3, lists=4, rules=Rules(repeats=2, distance=3))  # 14 clips for everybody
TRIALS = {"test": SIZES.trials_each, "valid": 3}  # of each category
LENGTH = 49  # transitions of a clip
PEOPLE = 3


def fresh_pairs(seed: int):
    """(category, segment) -> a few trials that no file holds. seed: of their settings."""

    @functools.cache  # the builder asks twice for some
    def pairs(category: str, segment: str) -> Pairs:
        print(f"simulating {category}, {segment} ...", file=sys.stderr, flush=True)
        world, count = VoeSource(category, record_depth=False, record_mask=False, seed=seed), TRIALS[segment]
        clips = {}
        for version in ("expected", "surprising"):
            plan = {"segment": segment, "version": version, "length": LENGTH, "episodes": count}
            columns, _ = world.record(plan, None, count)
            clips[version] = columns["pixels"].reshape(count, LENGTH + 1, *columns["pixels"].shape[1:])
        subtypes = [SUBTYPES[number] for number in columns["label_subtype"][:: LENGTH + 1].ravel()]
        return Pairs(columns["label_trial"][:: LENGTH + 1].ravel(), subtypes, clips["expected"], clips["surprising"])

    return pairs


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("--port", type=int, default=8000, help="(%(default)s)")
    parser.add_argument("--seed", type=int, help="of the trials (by default drawn anew)")
    parser.add_argument("--folder", type=Path, help="where the study is kept (by default it goes with the server)")


def run(args: argparse.Namespace) -> None:
    """Build, invite, print where to go, and serve until Ctrl-C."""
    check_port("127.0.0.1", args.port)
    seed = secrets.randbelow(2**16) if args.seed is None else args.seed
    folder, parent = tempfile.mkdtemp(), os.getpid()
    try:
        study = build(fresh_pairs(seed), args.folder or Path(folder) / "demo", SIZES, seed, quiet=True)
        passwords, settings = invite(Database(study), Passwords(), PEOPLE), development_settings()
        print(f"open http://127.0.0.1:{args.port}/ and enter one of: {', '.join(passwords)}")
        print(f"admin: http://127.0.0.1:{args.port}/admin/  password: {settings.admin_password}", flush=True)
        serve(study, settings, "127.0.0.1", args.port)
    finally:
        if os.getpid() == parent:  # a worker that ends comes by here, too
            shutil.rmtree(folder, ignore_errors=True)
