"""Reads and checks the answers of a study: one JSON export for each participant who finished."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from envs.problem import Problem
from eval.humans.decision import Decision, decide
from eval.humans.study import STRICT, Kind, Study, VersionName, checked

FOLDER = "exports"


@dataclass(frozen=True, config=STRICT)
class Demographics:
    """All that is known of a participant."""

    age: Annotated[int, Field(ge=0)]
    gender: str


@dataclass(frozen=True, config=STRICT)
class Response:
    """One answer.  rating: from 0, expected, to 100, surprising.  rt_ms: milliseconds from the first play to Next.  plays: how
    often the clip was played."""

    position: int
    clip: str
    category: str
    version: VersionName
    kind: Kind
    repeat_of: int | None
    rating: Annotated[int, Field(ge=0, le=100)]
    rt_ms: Annotated[int, Field(ge=0)]
    plays: Annotated[int, Field(ge=0)]


@dataclass(frozen=True, config=STRICT)
class Export:
    """One participant.  list: number of the list that was shown, from 0."""

    schema: Literal[1]
    study: str
    participant: str
    list: int
    demographics: Demographics
    responses: tuple[Response, ...]
    decision: Decision

    def tests(self) -> Sequence[Response]:
        """The answers that count: first showings of test clips."""
        return [one for one in self.responses if one.kind == "test"]


def read_exports(study: Study) -> list[Export]:
    """Every export of a study, by name.

    Raises Problem where there is none, and on one that is damaged, belongs to another study, does not follow its list, tells
    another decision than its answers, or was accepted on a list that is taken.
    """
    folder = study.folder / FOLDER
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise Problem(
            f"{folder} holds no export (*.json), nobody has finished yet; run: python -m eval.humans serve {study.folder}"
        )
    accepted: dict[int, Path] = {}
    exports = []
    for path in paths:
        export = _read(path, study)
        if export.decision.accepted and (other := accepted.setdefault(export.list, path)) != path:
            raise Problem(f"{other} and {path} were both accepted on list {export.list}; move one of them out of the folder")
        exports.append(export)
    return exports


def _read(path: Path, study: Study) -> Export:
    remedy = "move it out of the folder, and take it again from the server"
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Problem(f"{path} cannot be read: {error.strerror}; make it readable") from error
    export = checked(text, TypeAdapter(Export), path, "an export", remedy)
    if export.study != study.id:
        raise Problem(f"{path} belongs to study {export.study}, {study.folder} is study {study.id}; {remedy}")
    if not 0 <= export.list < len(study.lists):
        raise Problem(f"{path} was shown list {export.list}, the study has {len(study.lists)} lists; {remedy}")
    entries = study.lists[export.list]
    shown = [(one.position, one.clip, one.kind, one.repeat_of) for one in export.responses]
    asked = [(one.position, one.clip, one.kind, one.repeat_of) for one in entries]
    if len(shown) != len(asked):
        raise Problem(f"{path} has {len(shown)} answers, its list has {len(asked)} clips; {remedy}")
    for one, other, response in zip(shown, asked, export.responses):
        clip = study.clips[other[1]]
        if one != other or (response.category, response.version) != (clip.category, clip.version):
            raise Problem(f"{path} does not follow list {export.list} at position {other[0]}; {remedy}")
    decision = decide(entries, {one.position: one.rating for one in export.responses}, study)
    if decision != export.decision:
        raise Problem(f"{path} tells another decision than its answers have: expected {decision.to_dict()}, the file has "
                      f"{export.decision.to_dict()}; {remedy}")  # fmt: skip
    return export

