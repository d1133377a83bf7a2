"""Episodes of protocols: plays them, keeps a row for each, and sums them up."""

import csv
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from io import StringIO
from pathlib import Path

import numpy as np

from envs.problem import Problem
from envs.trifinger import make
from envs.whole_files import write_whole
from envs.workers import cores, die_with_parent
from eval.manipulation.protocols import PROTOCOLS, ROLES, actor, made_with
from eval.runs.metrics_csv import whole_rows

METRICS = {"last": "last step", "integrated": "mean over the episode", "last20": "mean over the last 20 steps"}


def _one_of(known: dict) -> Callable[[str], object]:
    def read(text: str):
        if text not in known:
            raise ValueError(text)
        return known[text]

    return read


def _score(text: str) -> float | None:
    """Of an episode without a start: none."""
    if text and not math.isfinite(float(text)):
        raise ValueError(text)
    return float(text) if text else None


FIELDS = {  # of episodes.csv -> what reads a cell
    "protocol": _one_of({name: name for name in PROTOCOLS}), "episode": int,
    "accepted": _one_of({"True": True, "False": False}), "tries": int,
    **dict.fromkeys(METRICS, _score), "steps": lambda text: int(text) if text else None,
}  # fmt: skip
_CHUNK = 5  # episodes that a process takes at a time


def play(cfg: dict, protocol: str, episodes: list[int]) -> list[dict]:
    """Some episodes of a protocol, a row each. Fractional success in [0, 1]; none where no start was accepted."""
    env = make(cfg["task"], reward="none", space=None, **made_with(cfg))  # or says which extra is missing
    from envs.trifinger.env.play import play as play_episode
    from envs.trifinger.interventions.curriculum import intervene
    from eval.manipulation.controllers import load_controller

    drawn, rows = actor(protocol, cfg["task"]), []
    for episode in episodes:
        rng = np.random.default_rng([cfg["seed"], list(PROTOCOLS).index(protocol), episode])
        env.reset(seed=int(rng.integers(2**31)))
        report = {"accepted": True, "tries": 0} if drawn is None else intervene(env, [drawn], rng)
        if drawn is None and cfg["mass_spread"]:
            env.intervene(_other_masses(env, cfg, rng))
        row = {"protocol": protocol, "episode": episode, "accepted": report["accepted"], "tries": report["tries"]}
        if report["accepted"]:
            played = play_episode(env, load_controller(cfg["agent"], env, rng), env.observe())
            fractions = [step.info["fractional_success"] for step in played]
            scores = fractions[-1], np.mean(fractions), np.mean(fractions[-20:])
            row |= {**dict(zip(METRICS, map(float, scores))), "steps": len(fractions)}
        rows.append(row)
    env.close()
    return rows


def _other_masses(env, cfg: dict, rng: np.random.Generator) -> dict[str, float]:
    """Masses of the blocks within a share of what they are:
    the protocol that draws nothing is one and the same episode else."""
    paths = ROLES[cfg["task"]].get("mass", ())
    return {path: float(env.value(path)) * (1 + cfg["mass_spread"] * rng.uniform(-1, 1)) for path in paths}


def interval(values: np.ndarray, rng: np.random.Generator, draws: int = 2000) -> tuple[float, float]:
    """95 % of the means of samples drawn with replacement (percentile bootstrap)."""
    means = rng.choice(values, (draws, len(values))).mean(1)
    return tuple(np.percentile(means, (2.5, 97.5)))


def summary(rows: list[dict]) -> dict[str, dict]:
    """protocol -> episodes, acceptance (accepted starts of all drawn), and for each metric its mean and interval."""
    found = {}
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        own = [row for row in rows if row["protocol"] == protocol]
        played = [row for row in own if row["accepted"]]
        tries = sum(row["tries"] for row in own)
        entry = {
            "episodes": len(played),
            "left_out": len(own) - len(played),
            "acceptance": len(played) / tries if tries else 1.0,
        }
        for metric in METRICS if played else ():
            values = np.array([row[metric] for row in played])
            entry[metric] = [float(values.mean()), *interval(values, np.random.default_rng(0))]
        found[protocol] = entry
    return found


def _read(path: Path) -> list[dict]:
    """Rows of an episodes.csv, numbers again. A row that is not whole is left out: its episode is played anew."""
    rows = {}
    for text in whole_rows(path, FIELDS):
        row = {key: value for key, read in FIELDS.items() if (value := read(text[key])) is not None}
        if not row["accepted"] or row.keys() == FIELDS.keys():
            rows[row["protocol"], row["episode"]] = row
    return list(rows.values())


def _place(row: dict) -> tuple[int, int]:
    return list(PROTOCOLS).index(row["protocol"]), row["episode"]


def _write(path: Path, rows: list[dict]) -> None:
    text = StringIO()
    writer = csv.DictWriter(text, list(FIELDS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=_place))
    write_whole(path, text.getvalue())


def play_missing(cfg: dict, folder: Path, asked: list[str]) -> list[dict]:
    """Play the episodes asked for that a folder lacks, saved after every few.  -> all rows of the folder"""
    rows = _read(folder / "episodes.csv")
    done = {(row["protocol"], row["episode"]) for row in rows}
    left = {p: [e for e in range(cfg["episodes"]) if (p, e) not in done] for p in asked}
    chunks = [(p, episodes[i : i + _CHUNK]) for p, episodes in left.items() for i in range(0, len(episodes), _CHUNK)]
    if chunks:
        jobs = min(cfg["jobs"] or cores(), len(chunks))
        print(f"{sum(len(e) for _, e in chunks)} episodes to play, {len(done)} exist already; {jobs} processes", flush=True)
        with ProcessPoolExecutor(jobs, initializer=die_with_parent) as pool:
            try:
                for future in as_completed([pool.submit(play, cfg, *chunk) for chunk in chunks]):
                    rows += future.result()
                    _write(folder / "episodes.csv", rows)
            except BrokenProcessPool as error:
                raise Problem("a process that plays died, perhaps for lack of memory; the same command goes on, with a smaller "
                              "jobs=") from error  # fmt: skip
    return sorted(rows, key=_place)
