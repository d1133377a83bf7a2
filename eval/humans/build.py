"""Builds a study: collects what is missing, chooses checks and scenarios, encodes the clips and draws the lists.

    python -m eval.humans study runs/study
    python -m eval.humans study runs/study --data data --seed 1 --lists 60
    python -m eval.humans study runs/pilot --trials-each 4 --repeats 4 --lists 4
    python -m eval.humans study runs/study --published <the folder that holds A_support>

The folder is complete when it appears, and never changes afterwards.
"""

import argparse
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.progress import track

from envs.problem import Problem
from envs.voe.clip import CATEGORIES
from eval.humans.choice import choose_checks, choose_scenarios
from eval.humans.encode import RATE, SIZE, SUFFIXES, level, write_clip
from eval.humans.order import Rules, Trial, complementary_lists
from eval.humans.pairs import Collected, Pairs
from eval.humans.study import Clip, Scenario, Study

VERSIONS = ("expected", "surprising")
LETTERS = {category: letter for letter, category in CATEGORIES.items()}


@dataclass(frozen=True)
class Sizes:
    """How much a study holds; the defaults are the paper's: 250 test clips, 25 repeats and 5 checks for everybody.

    trials_each: test trials of each of the five categories.  lists: participants that it has lists for.  familiarisation:
    scenarios before the trials.
    """

    trials_each: int = 50
    checks: int = 5
    familiarisation: int = 12
    lists: int = 50
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        for name in ("trials_each", "lists"):
            value = getattr(self, name)
            if value < 2 or value % 2:
                option = f"--{name.replace('_', '-')}"
                raise Problem(f"{option} is an even number from 2 on, since halves of it complement each other, got {value}")
        shown = self.trials_each * len(CATEGORIES)
        asked = {"checks": (self.checks, 1000), "familiarisation": (self.familiarisation, 1000),
                 "repeats": (self.rules.repeats, shown), "distance": (self.rules.distance, shown)}  # fmt: skip
        for name, (value, most) in asked.items():
            if not 1 <= value <= most:
                raise Problem(f"--{name} is a whole number from 1 to {most}, got {value}")


def build(
    pairs: Callable[[str, str], Pairs], folder: str | Path, sizes: Sizes, seed: int = 0, size: tuple[int, int] = SIZE,
    quiet: bool = False,
) -> Study:  # fmt: skip
    """A study in a new folder, which appears when it is complete. The same pairs, sizes and seed give the same study.

    pairs: (category, segment) -> its trials; checks and scenarios come from `valid`.  size: width and height of the videos.
    Raises Problem where the folder is there already, and where there are fewer trials than asked for.
    """
    folder = Path(folder)
    if folder.exists():
        raise Problem(f"{folder} is there already, and a study never changes; name another folder, or remove it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        (part / "clips").mkdir()
        study = _Builder(part, pairs, sizes, seed, size, quiet).study()
        study.write()
        part.chmod(0o755)  # that of a temporary folder is closed to others
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return replace(study, folder=folder)


class _Builder:
    """What is gathered on the way: clips, and digests of their pixels."""

    def __init__(self, folder: Path, pairs, sizes: Sizes, seed: int, size: tuple[int, int], quiet: bool) -> None:
        self._folder, self._pairs, self._sizes, self._seed, self._size, self._quiet = folder, pairs, sizes, seed, size, quiet
        self._clips: dict[str, Clip] = {}
        self._pixels: dict[str, str] = {}

    def study(self) -> Study:
        """All of it, once."""
        checks, scenarios = self._from_valid()
        trials = {category: self._tests(category) for category in LETTERS}
        level([self._folder / "clips" / name for name in self._clips])
        clips, rules = dict(sorted(self._clips.items())), self._sizes.rules
        manifest = hashlib.sha256("".join(name + self._pixels[name] for name in clips).encode()).hexdigest()
        lists = complementary_lists(trials, checks, rules, self._seed, self._sizes.lists)
        built = Study(self._folder, "", self._seed, self._sizes.trials_each, manifest, clips, tuple(scenarios), lists)
        return replace(built, id=built.digest())

    def _from_valid(self) -> tuple[list[str], list[Scenario]]:
        """Checks and scenarios; the pixels of one category are in memory at a time."""
        distances, subtypes = {}, {}
        for category in LETTERS:
            valid = self._pairs(category, "valid")
            distances[category], subtypes[category] = valid.distances(), valid.subtype
        checks = choose_checks(distances, subtypes, self._sizes.checks, np.random.default_rng([1, self._seed]))
        chosen = choose_scenarios(distances, subtypes, self._sizes.familiarisation, checks)
        shown, scenarios = [], []
        for k, category in enumerate(LETTERS, 1):
            valid = self._pairs(category, "valid")
            for check in (check for check in checks if check.category == category):
                shown.append(self._add(category, valid, check.row, check.version, "check"))
            for row in (row for of, row in chosen if of == category):
                both = (self._add(category, valid, row, version, "familiarisation") for version in VERSIONS)
                scenarios.append(Scenario(category, k, *both))
        return shown, scenarios

    def _tests(self, category: str) -> list[Trial]:
        """Both clips of the first test trials of a category."""
        test, count = self._pairs(category, "test"), self._sizes.trials_each
        if len(test.trial) < count:
            raise Problem(f"{category} has {len(test.trial)} test trials, --trials-each is {count}; ask for at most as many")
        if alike := int((test.distances()[:count] == 0).sum()):
            print(f"{category}: in {alike} of {count} test trials both versions have the same pixels")
        rows = track(range(count), f"encoding {category}", disable=self._quiet)
        return [tuple(self._add(category, test, row, version, "test") for version in VERSIONS) for row in rows]

    def _add(self, category: str, pairs: Pairs, row: int, version: str, role: str) -> str:
        """Encodes a clip and notes it.  -> its id, the name of its files, which tells nothing to somebody without the seed."""
        pixels, trial = getattr(pairs, version)[row], int(pairs.trial[row])
        told = f"{category}/{trial}/{version}".encode()
        name = hashlib.blake2b(told, key=str(self._seed).encode(), digest_size=8).hexdigest()
        write_clip(pixels, self._folder / "clips" / name, self._size)
        files = [f"clips/{name}.{suffix}" for suffix in SUFFIXES]
        seconds = round(len(pixels) / RATE, 3)
        self._clips[name] = Clip(category, LETTERS[category], trial, version, pairs.subtype[row], role, *files, seconds)
        self._pixels[name] = hashlib.sha256(np.ascontiguousarray(pixels).data).hexdigest()
        return name


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    sizes = Sizes()
    parser.add_argument("study", help="the new folder")
    parser.add_argument("--data", default="data", help="where collected episode files lie, and are collected to (%(default)s)")
    parser.add_argument("--published", help="a folder in the published layout, in place of collected files")
    parser.add_argument(
        "--pixels", type=int, default=112, help="side of the encoded pictures (%(default)s, as models see them)"
    )
    for name, default, told in (
        ("seed", 0, "of versions, orders and names"),
        ("trials-each", sizes.trials_each, "test trials of each category"),
        ("repeats", sizes.rules.repeats, "clips that are shown twice"),
        ("distance", sizes.rules.distance, "places to a repeat, at least"),
        ("checks", sizes.checks, "obvious clips, the same for all"),
        ("familiarisation", sizes.familiarisation, "scenarios before the trials"),
        ("lists", sizes.lists, "participants, an even number"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{told} (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """The command."""
    if args.seed < 0:
        raise Problem(f"--seed is a whole number of 0 or more, got {args.seed}; give another --seed")
    rules = Rules(args.repeats, args.distance)
    sizes = Sizes(args.trials_each, args.checks, args.familiarisation, args.lists, rules)
    source = Collected(Path(args.data), args.pixels, args.published and Path(args.published))
    print(summary(build(source, args.study, sizes, args.seed)))


def summary(study: Study) -> str:
    """What a study holds, in words."""
    clips = list(study.clips.values())
    roles = {role: sum(clip.role == role for clip in clips) for role in ("test", "check", "familiarisation")}
    checks = [f"{clip.subtype} {clip.version} (trial {clip.trial})" for clip in clips if clip.role == "check"]
    weight = sum(path.stat().st_size for path in study.folder.glob("clips/*")) / 1e6
    return (f"{study.folder}: study {study.id}, {len(study.lists)} lists of {len(study.lists[0])} clips; "
            f"{roles['test']} test clips, {roles['check']} checks, {len(study.familiarisation)} scenarios, {weight:.1f} MB\n"
            f"checks: {', '.join(sorted(checks))}\n"
            f"next: python -m eval.humans invite {study.folder}")  # fmt: skip
