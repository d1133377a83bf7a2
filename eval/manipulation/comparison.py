"""Several agents on the protocols of one task side by side: what `eval/protocols.py` left in their folders."""

import json
from pathlib import Path
from typing import NamedTuple

from envs.problem import Problem
from eval.manipulation.episodes import METRICS
from eval.manipulation.protocols import PROTOCOLS

_TOLD = ("skip_frame", "max_steps", "dynamics", "overlap", "feasibility", "collision", "mass_spread", "seed")  # may differ


class Played(NamedTuple):
    """settings: of the folder.  scores: protocol -> entry of `summary`."""

    settings: dict
    scores: dict[str, dict]


def read_played(folder: Path, task: str) -> Played:
    """A finished folder. Raises Problem where there is none, where it is damaged, and where it is another task's."""
    try:
        settings, scores = (json.loads((folder / name).read_text()) for name in ("settings.json", "scores.json"))
        known = all(
            name in PROTOCOLS and isinstance(entry["episodes"], int) and _is_score(entry) for name, entry in scores.items()
        )
        if not scores or not known or not isinstance(settings, dict):
            raise ValueError("protocols")
    except FileNotFoundError as error:
        raise Problem(f"{folder} holds no finished protocols ({Path(error.filename).name} is missing); play them with: python "
                      f"eval/protocols.py task={task} agent=...") from None  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Problem(
            f"{folder} holds no scores of protocols ({type(error).__name__}); remove it and play them again"
        ) from error
    if settings.get("task") != task:
        raise Problem(f"{folder} was played on task={settings.get('task')}, expected {task}; leave it out of beside=")
    return Played(with_usual(settings), scores)


def with_usual(settings: dict) -> dict:
    """Settings of a folder, with what those of before had without saying it."""
    return {"mass_spread": 0, **settings}


def _is_score(entry: dict) -> bool:
    """Whether the last step is a mean with its interval, or was never reached."""
    last = entry.get("last", [0.0] * 3)
    return len(last) == 3 and all(isinstance(number, float | int) for number in last)


def comparison_lines(played: dict[str, Played]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: a line for each agent, a column for each protocol; the last step in percent, with its interval."""
    protocols = [name for name in PROTOCOLS if any(name in one.scores for one in played.values())]
    rows = [[agent, *(_cell(one.scores.get(name, {})) for name in protocols)] for agent, one in played.items()]
    return ["", *(f"{name} {PROTOCOLS[name].caption}" for name in protocols)], rows


def _cell(entry: dict) -> str:
    if "last" not in entry:
        return "-"
    mean, low, high = (100 * number for number in entry["last"])
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def comparison_caption(task: str, played: dict[str, Played]) -> str:
    """The protocol of every agent: what all share once, the rest beside each."""
    shared = {key: value for key, value in next(iter(played.values())).settings.items()
              if key in _TOLD and all(one.settings.get(key) == value for one in played.values())}  # fmt: skip
    told = []
    for agent, one in played.items():
        numbers = sorted({entry["episodes"] for entry in one.scores.values()})
        own = [f"{key} {one.settings.get(key)}" for key in _TOLD if key not in shared]
        count = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
        told.append(f"{agent}: {', '.join([f'{count} episodes', *own])}")
    every = ", ".join(f"{key} {value}" for key, value in shared.items())
    return f"{task}: fractional success, {METRICS['last']}, percent (95 % bootstrap interval); {every}; {'; '.join(told)}"
