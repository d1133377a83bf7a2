"""What benchmarks share: parts by name, figures beside the floors asked of them, as JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

Parts = Mapping[str, Callable[[], dict]]


def helped(words: list[str], text: str) -> bool:
    """Whether --help was asked for, after printing it."""
    asked = any(word in ("-h", "--help") for word in words)
    if asked:
        print(text.strip())
    return asked


def report(parts: Parts, floors: Mapping[str, tuple[str, float]], names: list[str], about: dict) -> None:
    """Measure the parts named (all where none is) and print. floors: figure -> (">=" or "<=", what is asked)."""
    unknown = sorted(set(names) - set(parts))
    if unknown:
        sys.exit(f"error: no part {', '.join(unknown)}; known: {', '.join(parts)}")
    found = {}
    for name in names or parts:
        found |= parts[name]()
    beside = {
        key: {"asked": f"{sign} {floor}", "met": bool(found[key] >= floor if sign == ">=" else found[key] <= floor)}
        for key, (sign, floor) in floors.items()
        if key in found
    }
    print(json.dumps({**about, "load": os.getloadavg()[0], **_tidy(found), "floors": beside}, indent=2))


def revision(root: Path) -> str:
    """The commit of a checkout."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def _tidy(value):
    """Four digits."""
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value
