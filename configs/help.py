"""The page of --help: the purpose of a command, the entries of its groups, its keys with defaults and ranges."""

import re
import textwrap
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from configs.ranges import LIMITS

LINE = re.compile(r"(?P<indent> *)(?P<key>\w+):(?: +(?P<value>[^#\s].*?))?(?: +# (?P<comment>.*))?$")
WIDTH = 120  # of the lists of entries
PLUMBING = ("defaults", "hydra")  # keys of every command that users need not set


def keys_of(path: Path) -> Iterator[tuple[str, str, str]]:
    """(key with dots, default as written, comment) of every line of a command's yaml; an empty default opens a section."""
    above: list[tuple[int, str]] = []
    for line in path.read_text().splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        indent = len(found["indent"])
        above = [(wide, key) for wide, key in above if wide < indent] + [(indent, found["key"])]
        if above[0][1] not in PLUMBING and found["key"] != "_target_":
            yield ".".join(key for _, key in above), found["value"] or "", found["comment"] or ""


def _range(key: str) -> str:
    """The range of a key, from `configs/ranges.py`."""
    return next((expected for pattern, (expected, _) in LIMITS.items() if fnmatchcase(key, pattern)), "")


def help_page(path: Path, text: str, groups: dict[str, list[str]]) -> str:
    """path: of the command's yaml; text: the docstring of the command; groups: its config groups with their entries."""
    lines = [text.strip(), ""]
    for group, entries in groups.items():
        lines.append(textwrap.fill(f"{group}=  {' '.join(entries)}", WIDTH, subsequent_indent="    "))
    lines += [""] * bool(groups)
    lines.append("Keys and their defaults:")
    for key, value, comment in keys_of(path):
        comment = "; ".join(part for part in (comment, _range(key) if value else "") if part)
        if value or comment:
            lines.append(f"  {f'{key}={value}' if value else f'{key}.':<30}  {comment}".rstrip())
    lines += ["", f"Written in {path}; with the keys of groups, composed: --cfg job. Sweep with -m and commas: seed=0,1,2"]
    return "\n".join(lines)
