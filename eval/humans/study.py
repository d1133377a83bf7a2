"""Study: the clips, the familiarisation scenarios and the lists of a human trial, as study.json of its folder holds them.

study = Study.read("runs/study")
first = study.lists[0][0]                      # Entry(position=1, clip="5f0c...", kind="test", repeat_of=None)
study.folder / study.clips[first.clip].mp4     # what a participant sees first
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass as plain
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.humans.encode import SUFFIXES, check_playable

SCHEMA, FILE = 1, "study.json"
STRICT = ConfigDict(strict=True, extra="forbid")
VersionName = Literal["expected", "surprising"]
Kind = Literal["test", "repeat", "check"]


@dataclass(frozen=True, config=STRICT)
class Clip:
    """One video.  trial: its number in the world.  mp4, webm: files below the study's folder.  seconds: how long it plays."""

    category: str
    letter: str
    trial: int
    version: VersionName
    subtype: str
    role: Literal["test", "check", "familiarisation"]
    mp4: Annotated[str, Field(pattern=r"^clips/[0-9a-f]+\.mp4$")]
    webm: Annotated[str, Field(pattern=r"^clips/[0-9a-f]+\.webm$")]
    seconds: float


@dataclass(frozen=True, config=STRICT)
class Entry:
    """One place of a list.  clip: id.  repeat_of: position of the same clip's first showing, of a repeat alone."""

    position: int
    clip: str
    kind: Kind
    repeat_of: int | None


@dataclass(frozen=True, config=STRICT)
class Scenario:
    """Both versions of one trial, shown side by side before the trials.  k: number of the category, from 1."""

    category: str
    k: int
    expected: str
    surprising: str


class _File(TypedDict):
    __pydantic_config__ = STRICT

    schema: int
    id: str
    seed: int
    trials_each: int
    manifest: str
    clips: dict[str, Clip]
    familiarisation: tuple[Scenario, ...]
    lists: tuple[tuple[Entry, ...], ...]


@plain(frozen=True)
class Study:
    """A study. It never changes once it is built; `id` is a digest of all the rest.

    folder: where it lies.  trials_each: test trials of each category.  manifest: digest of the clips' ids and of the pixels
    they were made from.  clips: id -> clip; ids are random.  lists: one for each accepted participant; lists 2j and 2j + 1
    complement each other: every test trial is in both, in different versions.
    """

    folder: Path
    id: str
    seed: int
    trials_each: int
    manifest: str
    clips: Mapping[str, Clip]
    familiarisation: tuple[Scenario, ...]
    lists: tuple[tuple[Entry, ...], ...]

    @classmethod
    def read(cls, folder: str | Path) -> "Study":
        """A study that can be shown. Raises Problem as `open` does, and on a clip that is missing or cannot be played."""
        study = cls.open(folder)
        for suffix in SUFFIXES:
            check_playable([study.folder / getattr(clip, suffix) for clip in study.clips.values()])
        return study

    @classmethod
    def open(cls, folder: str | Path) -> "Study":
        """A study without a look at its clips, which an analysis does not need. Raises Problem where study.json is missing, not
        a study of this version, or not as it was written."""
        path = Path(folder) / FILE
        try:
            text = path.read_bytes()
        except FileNotFoundError as error:
            raise Problem(f"{path} does not exist; build a study with: python -m eval.humans study {folder}") from error
        except OSError as error:
            raise Problem(f"{path} cannot be read: {error.strerror}; name the folder of a study") from error
        found = checked(text, TypeAdapter(_File), path, "a study", "build the study again in another folder")
        del found["schema"]
        study = cls(Path(folder), **found)
        if study.id != study.digest():
            raise Problem(f"{path} was changed after it was built: its id is {study.id}, its contents have {study.digest()}; "
                          f"build the study again in another folder")  # fmt: skip
        return study

    def contents(self) -> dict:
        """What study.json holds beside schema and id."""
        skipped = ("folder", "id")
        return {
            field.name: to_jsonable_python(getattr(self, field.name)) for field in fields(self) if field.name not in skipped
        }

    def digest(self) -> str:
        """12 hex digits of the contents."""
        return hashlib.sha256(json.dumps(self.contents(), sort_keys=True).encode()).hexdigest()[:12]

    def write(self) -> None:
        """study.json, whole or not at all."""
        write_whole(self.folder / FILE, json.dumps({"schema": SCHEMA, "id": self.id} | self.contents(), indent=1) + "\n")


def checked(text: bytes, adapter: TypeAdapter, path: Path, what: str, remedy: str):
    """The contents of a JSON file of this version. Raises Problem with the first thing that is not as `adapter` has it."""
    try:
        version = json.loads(text).get("schema")
    except (ValueError, RecursionError, AttributeError) as error:
        raise Problem(f"{path} is not {what}: it is no JSON mapping ({type(error).__name__}); {remedy}") from error
    if version != SCHEMA:
        raise Problem(f"{path} has schema {version!r}, this code reads {SCHEMA}; {remedy}")
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Problem(f"{path} is damaged at {where or 'its top'}: {first['msg'].lower()}; {remedy}") from error
