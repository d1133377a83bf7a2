"""What an entry of the ledger must hold, checked once, so that tables, figures and pages may rely on it."""

import math
import re
from pathlib import Path

from envs.problem import Problem
from eval.runs.results import numbers, read_object

_LATER = {"rounds": [], "losses": {}, "plans": {}}  # entries of before lack these
_SHAPES = {"run": str, "row": str, "env": str, "seed": int, "scores": dict, "rounds": list, "losses": dict, "plans": dict}
_MAY = {  # what entries of before may lack  ->  whether it is as tables need it
    "setting": lambda v: (
        isinstance(v, dict) and isinstance(v.get("trainer"), dict) and isinstance(v["trainer"].get("precision"), str)
    ),
    "machine": lambda v: isinstance(v, dict) and isinstance(v.get("processor"), str),
    "parameters": numbers,
    "weights": lambda v: isinstance(v, str),
    "versions": lambda v: isinstance(v, dict) and isinstance(v.get("commit", ""), str),
}
_PERCENT = re.compile(r"(^|/)(hits@1|cf_hits@1|mrr|cf_mrr|success)(/|$)")


def named(text: str) -> str:
    """A text with every character that a file name may not hold replaced by _."""
    return re.sub(r"[^\w.-]+", "_", text)


def read_entry(path: Path) -> dict:
    """The entry of a file. Raises Problem on one that says what no run can have reached, or that belongs elsewhere."""
    held = read_object(path)
    found = {} if held is None else _LATER | held
    if why := _fault(found, path) if found else "is damaged":
        raise Problem(
            f"{path} is no entry of a ledger, it {why}; take it from the history again, or remove it and enter its run anew"
        )
    return found


def _fault(entry: dict, path: Path) -> str:
    """What is wrong with it, to follow "it"; nothing where it is whole."""
    for key, shape in _SHAPES.items():
        if not isinstance(entry.get(key), shape) or isinstance(entry[key], bool):
            return f"has no {key}" if key not in entry else f"has {key} of another kind"
    if entry["env"] != path.parent.name or not path.name.startswith(named(entry["run"])):
        return f"is of run '{entry['run']}' on {entry['env']}"
    if not all(map(_is_round, entry["rounds"])):
        return "has rounds without a number, stage, seconds and updates"
    if not all(isinstance(one, list) and numbers(dict(enumerate(one))) for one in entry["losses"].values()):
        return "has losses that are no numbers"
    for key, holds in _MAY.items():
        if key in entry and not holds(entry[key]):
            return f"has {key} of another kind"
    scored = {**entry["scores"], **{f"plan {mode}": one for mode, one in entry["plans"].items()}}
    scored |= {f"round {one['round']}, {split}": scores for one in entry["rounds"] for split, scores in one["scores"].items()}
    scored |= {f"round {one['round']}, goals": one["plan"] for one in entry["rounds"] if "plan" in one}
    return next((f"{why} ({where})" for where, one in scored.items() if (why := _fault_of_scores(one))), "")


def _is_round(one) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("scores"), dict) or not isinstance(one.get("stage"), str):
        return False
    told = {key: one.get(key) for key in ("round", "cpu_s", "updates")}
    return numbers(told) and all(math.isfinite(value) and value >= 0 for value in told.values())


def _fault_of_scores(one) -> str:
    """What is wrong with the scores of one split, of one round, or with goals on other boards, to follow "it"."""
    if not isinstance(one, dict) or not numbers(one.get("metrics")):
        return "has metrics that are no numbers"
    for key, value in one["metrics"].items():
        if not math.isfinite(value) or (_PERCENT.search(key) and not 0 <= value <= 100):
            return f"says {key} {value}"
    if not isinstance(one.get("protocol", {}), dict):
        return "has a protocol of another kind"
    answers = one.get("answers", {})
    if not isinstance(answers, dict) or not all(isinstance(text, str) for text in answers.values()):
        return "has answers of another kind"
    return ""
