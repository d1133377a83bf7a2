"""Problem: an error that the user can correct, as one sentence (the thing, expected, got, remedy)."""

import difflib
import errno
from collections.abc import Iterable

_REMEDIES = {
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOTDIR: "a file stands where a folder is needed; choose another folder",
    errno.EEXIST: "a file stands where a folder is needed; choose another folder",
    errno.ENOENT: "choose a folder that exists, or one that can be made",
    errno.EACCES: "choose a folder that you may write, or change its permissions",
}


class Problem(Exception):
    """Commands print the sentence alone and leave with exit code 1."""


class Diverged(Problem, ValueError):
    """A model whose predictions are no numbers: its training is to blame, not what it was asked."""


def nearest(name: object, known: Iterable[str]) -> str:
    """'did you mean X?' where something is near, and the list of what exists, quoted where a name holds a comma."""
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)  # a number may have been given in place of a name
    hint = f"did you mean '{close[0]}'? " if close else ""
    listed = map(repr, known) if any("," in one for one in known) else known
    return f"{hint}known: {', '.join(listed)}"


def storage_sentence(error: OSError) -> str:
    """What a user is told where a file or a folder could not be read or written."""
    where = f" {error.filename}" if error.filename else ""
    remedy = _REMEDIES.get(error.errno, "free some space or choose another folder")
    return f"cannot read or write{where}: {error.strerror or error}; {remedy}"


def lacking(package: str, world: str = "the TriFinger", extra: str = "trifinger") -> Problem:
    """The error for a missing package of the extra that a world comes with."""
    return Problem(f"{world} needs the package '{package}'; install it with: pip install '.[{extra}]'")
