"""What a results file must hold, checked once, so that every page and command may rely on it."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

NAMES = ("run", "model", "loss", "env", "setting_hash")
GRAPHS = ("direct", "edges", "reach")  # kinds of graphs in "structure"


def surprise_file(variant: Mapping, split: str = "") -> str:
    """Name, without its ending, of what eval/surprise.py writes of a run asked otherwise: surprise-valid-trees-direct.

    variant: by their names, what differs from training.  split: where it is not the run's own.
    """
    return "-".join(["surprise", *filter(None, [split]), *(f"{key}-{str(value).lower()}" for key, value in variant.items())])


def read_object(path: Path) -> dict | None:
    """The JSON object that a file holds; None where the file is missing, unreadable or holds anything else."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):  # no file, no text, no JSON, or brackets without end
        return None
    return found if isinstance(found, dict) else None


def numbers(found) -> bool:
    """Whether it is a mapping of names to numbers."""
    return isinstance(found, dict) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in found.values())


def holds_plan(found: dict) -> bool:
    """Whether what eval/plan.py adds is there and whole."""
    plan = found.get("plan")
    whole = isinstance(plan, dict) and isinstance(plan.get("planners"), list) and numbers(plan.get("timing"))
    return whole and numbers(found.get("metrics"))


def fault(found) -> str | None:
    """Why this is not what eval/score.py writes, to follow the name of the file; None where it is."""
    if not isinstance(found, dict):
        return "holds no results"
    lacking = [key for key in (*NAMES, "seed", "metrics", "protocol", "timing") if key not in found]
    if lacking:
        return f"lacks {', '.join(lacking)}"
    named = [key for key in NAMES if not (isinstance(found[key], str) and found[key])]
    if named:
        return f"has no name as {', '.join(named)}"
    if not _whole(found["seed"]):
        return "has a seed that is no whole number"
    if not numbers(found["metrics"]) or not all(map(math.isfinite, found["metrics"].values())):
        return "has metrics that are no numbers"
    for key in ("timing", "parameters"):
        if not numbers(found.get(key, {})):
            return f"has {key} that are no numbers"
    if "plan" in found and not holds_plan(found):
        return "has a plan without planners or timing"
    return _fault_of_protocol(found["protocol"]) or _fault_of_structure(found.get("structure"))


def _whole(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _fault_of_protocol(protocol) -> str | None:
    if not isinstance(protocol, dict):
        return "has no protocol"
    for key in ("split", "budget"):
        if not (isinstance(protocol.get(key), str) and protocol[key]):
            return f"has no {key} in its protocol"
    if not _whole(protocol.get("pool")) or protocol["pool"] < 1:
        return "has no pool in its protocol"
    distinct = protocol.get("distinct")
    if not (numbers(distinct) and distinct and all(re.fullmatch("h[1-9][0-9]*", h) for h in distinct)):
        return "has no horizons in its protocol"
    epochs = protocol.get("epochs", [])
    if not isinstance(epochs, list) or not all(map(_whole, epochs)):
        return "has epochs that are no whole numbers in its protocol"
    return None


def _fault_of_structure(structure) -> str | None:
    """Graphs are drawn: their scores must be as many as those of the true one."""
    if not structure:
        return None
    if not isinstance(structure, dict) or not isinstance(structure.get("why"), str):
        return "has a structure that is none"
    try:
        held = [structure[name] for name in GRAPHS if name in structure]
        true = np.array(structure["true"], bool) if held else np.zeros((0, 0), bool)
        scores = [np.array(graph["score"], float) for graph in held]
        others = [np.array(structure[key], float) for key in ("strength", "faint") if key in structure]
        square = true.ndim == 2 and all(matrix.shape == true.shape == true.T.shape for matrix in (*scores, *others))
        whole = square and all(isinstance(graph["threshold"], int | float) for graph in held)
    except (KeyError, TypeError, ValueError):
        whole = False
    return None if whole and ("reach" not in structure or "faint" in structure) else "has a graph that cannot be drawn"
