"""Answers to the lists of a study, and the exports that a server would write of them."""

import json
from collections.abc import Callable

import numpy as np

from eval.humans.decision import decide
from eval.humans.study import Clip, Study


def knowing(clip: Clip, rng: np.random.Generator) -> int:
    """The right side, always."""
    return 90 if clip.version == "surprising" else 10


def guessing(clip: Clip, rng: np.random.Generator) -> int:
    """Any number."""
    return int(rng.integers(0, 101))


def export_of(study: Study, index: int, rate: Callable[[Clip, np.random.Generator], int], seed: int = 0) -> dict:
    """The export of one participant on list `index`.  rate: clip, chance -> rating."""
    rng, entries = np.random.default_rng([seed, index]), study.lists[index]
    ratings = {entry.position: rate(study.clips[entry.clip], rng) for entry in entries}
    responses = [{"position": entry.position, "clip": entry.clip, "category": study.clips[entry.clip].category,
                  "version": study.clips[entry.clip].version, "kind": entry.kind, "repeat_of": entry.repeat_of,
                  "rating": ratings[entry.position], "rt_ms": 2500, "plays": 1} for entry in entries]  # fmt: skip
    return {"schema": 1, "study": study.id, "participant": f"person{seed}x{index}", "list": index,
            "demographics": {"age": 20 + index, "gender": "undisclosed"}, "responses": responses,
            "decision": decide(entries, ratings, study).to_dict()}  # fmt: skip


def write_export(study: Study, export: dict) -> None:
    """Where a server writes it."""
    folder = study.folder / "exports"
    folder.mkdir(exist_ok=True)
    (folder / f"{export['participant']}.json").write_text(json.dumps(export))
