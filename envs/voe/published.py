"""PublishedVoe: the published videos, or others in their folders, as episodes that `envs/collect.py` records.

<root>/A_support/test/surprising/trial_4501/: rgb.avi, depth_raw.npz, inst_raw.npz, physical_data.json, scene_data.json
"""

import hashlib
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from envs.problem import Problem, nearest
from envs.protocols import Source
from envs.spec import Action, EnvSpec, Observation
from envs.voe import published_files as files
from envs.voe.clip import CATEGORIES, FRAMES, SUBTYPES, Version
from envs.voe.features import FEATURES
from envs.voe.published_table import of_one_origin, poses_of, table
from envs.voe.recording import DEPTH_STEP, rows_of
from envs.voe.table import ENTITIES, WIDTH

LABELS = ("released", "ours")
_VERSIONS = (Version.EXPECTED, Version.SURPRISING)  # of the published set
_LETTERS = {name: letter for letter, name in CATEGORIES.items()}
_SAME = 1e-4  # scene units and radians
_READER = 2  # 1, in whose files it is not said: other sizes, and surprising objects of A as of another origin


class PublishedVoe(Source):
    """Clips of one category from a folder tree, squeezed to squares by taking the nearest pixel, as the paper does.

    category, observation, size, record_depth, record_mask: as of VoeSource.  root: the folder that holds A_support and its
    like.  labels: released, what the files say, or ours, with their known faults mended.  skip_broken: a trial that cannot be
    read is named on stderr and left out; else it is a Problem.
    A split is {segment: train | valid | test, version: expected | surprising | control}; its episodes are the trials by their
    numbers. Controls are there in folders that `envs/publish.py` wrote, whose labels have no faults.
    """

    subtypes = SUBTYPES

    def __init__(
        self, category: str, root: str | None, observation: str = "pixels", size: int = 112, record_depth: bool = True,
        record_mask: bool = True, labels: str = "released", skip_broken: bool = False,
    ) -> None:  # fmt: skip
        for value, known, key in ((category, _LETTERS, "category"), (observation, ("pixels", "objects"), "observation"),
                                  (labels, LABELS, "labels")):  # fmt: skip
            if value not in known:
                raise Problem(f"published VoE has no {key} '{value}': {nearest(str(value), known)}; set env.world.{key}=")
        if not isinstance(size, int) or size < 8:
            raise Problem(f"size of published VoE is a whole number >= 8, got {size!r}; set env.world.size=")
        self._letter, self.observation, self._size, self._kind, self._skips = (
            _LETTERS[category],
            observation,
            size,
            labels,
            skip_broken,
        )
        self._depth, self._mask = record_depth, record_mask
        self._root = root
        objects = len(ENTITIES[self._letter])
        self.spec = EnvSpec({
            "pixels": Observation("pixels", (size, size, 3)),
            "objects": Observation("objects", (objects, WIDTH), values="real", resolution=1e-2),
        }, Action(0), objects)  # fmt: skip

    @property
    def _home(self) -> Path:
        """The folder of the category. Asked for when trials are read, so that a config without one composes."""
        home = Path(self._root or "") / files.FOLDERS[self._letter]
        if not self._root or not home.is_dir():
            raise Problem(f"there is no folder {home} of published trials; set env.world.root= to the folder that holds it")
        return home

    @cached_property
    def _manifest(self) -> dict:
        """What our own writer says of its folders; {} of the published ones."""
        path = self._home / files.MANIFEST
        return files.read_json(path) if path.is_file() else {}

    @property
    def row_bytes(self) -> int:
        """Videos are noisier than what is drawn."""
        return 400 + self._size**2 * (3 + 2 * self._depth + self._mask) // 3

    def header(self) -> dict:
        """All that decides a byte; of the files their names and sizes."""
        named = sorted(
            f"{path.relative_to(self._home)} {path.stat().st_size}" for path in self._home.rglob("*") if path.is_file()
        )
        return {"world": type(self).__name__, "category": self._letter, "labels": self._kind, "size": self._size,
                "depth": self._depth, "mask": self._mask, "skip_broken": self._skips, "reader": _READER,
                "files": hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]}  # fmt: skip

    def save_beside(self, path) -> None:
        """The files stay where they are."""

    def versions(self, split: str) -> dict[str, str]:
        """Version -> the split that holds the trials of an expected split in it; {} of a split that holds another version."""
        if split.rpartition("-")[2] in set(Version) - {Version.EXPECTED}:
            return {}
        there = self._manifest.get("versions", _VERSIONS) if self._root else _VERSIONS
        return {
            version.value: split if version is Version.EXPECTED else f"{split}-{version}" for version in map(Version, there)
        }

    def record(self, plan: Mapping, rng, episodes: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Columns (rows, ...) of `episodes` trials from number `start` of the folder on, as those of VoeSource.

        depth: of whole scene units in published files.  label_violation: what the files say; those of the published set say
        nothing, and it is the first row whose poses differ from the expected version's, -1 where that one is not there.
        objects: of a surprising A as `of_one_origin` gives them; as the files say where the expected version is not there.
        """
        rows = rows_of(plan, files.SEGMENTS, Version)
        folder = self._home / files.SEGMENTS[plan["segment"]] / plan["version"]
        trials = self._trials(folder)
        start = plan.get("start", 0)
        asked = max(plan.get("episodes", 0), start + episodes)  # told before the first is read
        if asked > len(trials):
            raise Problem(f"{folder} holds {len(trials)} trials, got {asked} episodes; set episodes={len(trials)} of the split")
        clips = [
            clip
            for trial in trials[start : start + episodes]
            if (clip := self._read(folder / f"trial_{trial}", rows)) is not None
        ]
        if not clips:  # the columns, and none of their rows, from a trial that can be read
            others = (self._read(folder / f"trial_{trial}", rows) for trial in trials)
            one = next((clip for clip in others if clip is not None), None)
            if one is None:
                raise Problem(f"none of {len(trials)} trials of {folder} can be read; restore them")
            return {name: part[:0] for name, part in one.items()}, np.full(0, rows)
        return {name: np.concatenate([clip[name] for clip in clips]) for name in clips[0]}, np.full(len(clips), rows)

    @staticmethod
    def _trials(folder: Path) -> list[int]:
        if not folder.is_dir():
            raise Problem(
                f"there is no folder {folder}; the published set has no controls, and no surprising trials for training"
            )
        numbers = (path.name.removeprefix("trial_") for path in folder.iterdir() if path.name.startswith("trial_"))
        return sorted(int(number) for number in numbers if number.isdigit())

    def _read(self, folder: Path, rows: int) -> dict[str, np.ndarray] | None:
        try:
            return self._trial(folder, rows)
        except Problem as problem:
            if not self._skips:
                raise Problem(f"{problem}; restore it, or leave such trials out with env.world.skip_broken=true") from problem
            print(f"left out {folder}: {problem}", file=sys.stderr)
            return None

    def _trial(self, folder: Path, rows: int) -> dict[str, np.ndarray]:
        trial = _number(folder)
        data = files.scene(folder / "scene_data.json")
        features, prior, posterior = self._labels(folder)
        stored = files.volume(folder / "inst_raw.npz")
        if stored.dtype != np.uint8:
            raise Problem(f"{folder / 'inst_raw.npz'} holds {stored.dtype}, instances are numbers of one byte (uint8)")
        masks = self._squeezed(files.instances(stored, data, self._letter), rows)
        version = Version(folder.parent.name)
        poses, expected = self._poses(folder, version, data)
        video = files.video(folder / "rgb.avi")
        columns = {
            "pixels": self._squeezed(video, rows),
            "objects": table(self._letter, poses, features, masks, bool(self._manifest)),
        }
        if stored.shape[1:] != video.shape[1:3]:
            raise Problem(f"{folder / 'inst_raw.npz'} has {stored.shape[1]} x {stored.shape[2]} pixels, its video "
                          f"{video.shape[1]} x {video.shape[2]}")  # fmt: skip
        if self._depth:
            units = self._squeezed(files.volume(folder / "depth_raw.npz"), rows)
            whole = 1 if units.dtype == np.uint16 else 1 / DEPTH_STEP  # two bytes: in the steps of this column
            columns["depth"] = np.minimum(units * whole, 65535).astype(np.uint16)
        if self._mask:
            columns["mask"] = masks
        alike = {
            "trial": np.int32(trial), "version": np.uint8(list(Version).index(version)), "features": features,
            "subtype": np.uint8(SUBTYPES.index(self._subtype(folder, version, features, posterior))), "prior": prior,
            "posterior": posterior,
            "violation": np.int16(_violation(data, poses, expected, rows)),
        }  # fmt: skip
        return columns | {f"label_{name}": np.repeat(value[None], rows, 0) for name, value in alike.items()}

    def _labels(self, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, prior and posterior rules. Folders with a manifest have no faults to be mended."""
        kind = "released" if self._manifest else self._kind
        return files.labels(folder / "physical_data.json", self._letter, _number(folder), kind)

    def _squeezed(self, frames: np.ndarray, rows: int) -> np.ndarray:
        """(FRAMES, H, W, ...)  ->  (rows, size, size, ...)"""
        down, across = (((np.arange(self._size) + 0.5) / self._size * full).astype(int) for full in frames.shape[1:3])
        return np.ascontiguousarray(frames[:rows, down[:, None], across])

    def _poses(self, folder: Path, version: Version, data: Mapping) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Of a trial, and of its expected version; none of that where the file says itself what differs, or it is not there."""
        found, other = poses_of(data, self._letter), folder.parent.parent / Version.EXPECTED / folder.name / "scene_data.json"
        if version == Version.EXPECTED or "first_frame_that_differs" in data or not other.is_file():
            return found, {}
        expected = poses_of(files.scene(other), self._letter)
        if self._letter == "A" and found.keys() & expected.keys() & {"object"}:
            found["object"] = of_one_origin(found["object"], expected["object"])
        return found, expected

    def _subtype(self, folder: Path, version: Version, features: np.ndarray, posterior: np.ndarray) -> str:
        """By the outcome of the expected version in A, B and C; where that one is not there, by the opposite of the other's."""
        said = dict(zip(FEATURES, features.tolist()))
        if self._letter == "D":
            same = said["left_size"] == said["right_size"], said["left_prior_speed"] == said["right_prior_speed"]
            return "D1" if not same[0] else "D2" if same[1] else "D3"
        if self._letter == "E":
            return "E3" if said["wall_opening"] == 1 else "E1" if said["wall_soft"] == 1 else "E2"
        other, flipped = folder.parent.parent / Version.EXPECTED / folder.name / "physical_data.json", False
        if version == Version.SURPRISING:
            flipped = not other.is_file()
            if not flipped:
                posterior = self._labels(other.parent)[2]
        rules = dict(zip(files.POSTERIOR, posterior.tolist()))
        second = {  # of A released files say the opposite
            "A": (rules["does_support_hold_object"] == 1) != (self._kind == "released" and not self._manifest),
            "B": rules["see_object_in_middle"] == 1,
            "C": rules["did_the_object_fit"] != 1 or rules["did_the_object_protrude"] == 1,
        }[self._letter]
        return self._letter + ("2" if second != flipped else "1")


def _violation(data: Mapping, poses: Mapping, expected: Mapping, rows: int) -> int:
    """The first row that differs from the expected version, -1: none.  expected: its poses; empty where they are not there."""
    if "first_frame_that_differs" in data:
        return data["first_frame_that_differs"] if data["first_frame_that_differs"] < rows else -1
    differ = np.zeros(FRAMES, bool)
    for name in poses.keys() & expected.keys():
        differ |= (np.abs(poses[name] - expected[name]) > _SAME).any(1)
    return int(np.argmax(differ)) if differ[:rows].any() else -1


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("trial_"))
