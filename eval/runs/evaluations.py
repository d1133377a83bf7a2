"""The evaluations in between that results.json of a model-free agent holds, as curves."""

import json
import math
from pathlib import Path
from typing import NamedTuple

from envs.problem import Problem

Curve = list[tuple[int, float, float | None, float | None]]  # steps, percent, its 95 %: from, to; None in runs of before


class Learned(NamedTuple):
    """curves: by what was measured, a protocol or a horizon.  arena: where it acted and how it was scored, as far as known."""

    run: str
    env: str
    curves: dict[str, Curve]
    arena: dict


def read_learned(path: Path) -> Learned:
    """path: of a run folder or a results.json.  A Problem where it holds no evaluations."""
    file = path / "results.json" if path.is_dir() else path
    try:
        results = json.loads(file.read_text())
        run, env, told = results["run"], results["env"], results.get("evaluations", [])
        arena = results.get("protocol", {}).get("arena", {})
        if not isinstance(run, str) or not isinstance(env, str) or not isinstance(arena, dict):
            raise ValueError("run")
        curves: dict[str, Curve] = {}
        for entry in told:
            for name in entry.keys() - {"steps"}:
                curves.setdefault(name, []).append(_point(entry["steps"], entry[name]))
    except FileNotFoundError:
        raise Problem(f"{file} does not exist; train/manipulation.py and train/agent.py write it at their end") from None
    except OSError as error:
        raise Problem(f"{file} cannot be read ({error.strerror}); name a run folder or its results.json") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Problem(f"{file} holds no results of a model-free agent ({type(error).__name__}); name another run=") from error
    if not curves:
        raise Problem(f"{file} holds no evaluations in between; train with evaluate.every=25_000")
    return Learned(run, env, {name: sorted(curves[name]) for name in sorted(curves, key=lambda name: (len(name), name))}, arena)


def _point(steps: int, score: list[float]) -> tuple[int, float, float | None, float | None]:
    if not isinstance(steps, int) or len(score) not in (1, 3) or not all(map(math.isfinite, score)):
        raise ValueError(score)
    return (steps, *score) if len(score) == 3 else (steps, score[0], None, None)
