"""Serves the clips that are due, under names that tell neither the clip nor its version and differ for every participant."""

from collections.abc import Iterator
from hmac import compare_digest

from flask import Blueprint, abort, current_app, send_file

from eval.humans.logins import Visitor
from eval.humans.passwords import keyed
from eval.humans.study import Study
from eval.humans.web.visitors import participant

AHEAD = 3  # clips that a page loads before they are due
KINDS = {"mp4": "video/mp4", "webm": "video/webm"}

clips = Blueprint("clips", __name__)


def name_of(visitor: Visitor, *place: object) -> str:
    """32 hex digits for a place: ("video", position) or ("scenario", number, version). A repeat is named anew."""
    return keyed(current_app.extensions["trials"].settings.secret, "clip", visitor.participant, *place).hex()[:32]


def _due(study: Study, visitor: Visitor) -> Iterator[tuple[tuple, str]]:
    """Places and clip ids that this participant may load now: the current ones, the next, and the one just left."""
    if visitor.state in ("demographics", "familiarisation"):
        first = visitor.step if visitor.state == "familiarisation" else 1
        for number in (first, first + 1):
            for scenario in study.familiarisation[number - 1 : number]:
                yield ("scenario", number, "expected"), scenario.expected
                yield ("scenario", number, "surprising"), scenario.surprising
    elif visitor.state == "testing":
        entries = study.lists[visitor.list]
        for entry in entries[max(visitor.step - 2, 0) : visitor.step + AHEAD]:
            yield ("video", entry.position), entry.clip


@clips.get("/clip/<name>.<any(mp4, webm):kind>")
@participant
def clip(visitor: Visitor, name: str, kind: str):
    """A clip, or a part of it. No header tells which file it is."""
    study = current_app.extensions["trials"].database.study
    for place, id in _due(study, visitor):
        if compare_digest(name_of(visitor, *place).encode(), name.encode()):
            break
    else:
        abort(404)
    path = study.folder / getattr(study.clips[id], kind)
    if not path.exists():
        abort(404)
    response = send_file(path.absolute(), KINDS[kind], download_name=f"clip.{kind}", conditional=True, etag=False, max_age=3600)
    response.headers.pop("Last-Modified", None)
    response.cache_control.public, response.cache_control.private = False, True
    return response
