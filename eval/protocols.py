"""The twelve protocols of CausalWorld: how an agent does where masses, sizes, places, goals or everything is drawn anew.

    python eval/protocols.py task=pushing agent=random episodes=20
    python eval/protocols.py task=pushing agent=pushing_ppo_curr1.zip dynamics=legacy overlap=legacy
    python eval/protocols.py task=stacking2 agent=still protocols=[P0,P11] jobs=2

Every episode has a seed of its own, so neither the order of protocols nor the number of processes changes a score. A start
that the world refuses is drawn again, five times at most; how many were accepted stands beside the score, and an episode
without a start is left out, never run on the default scene. Killed, the same command goes on.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("protocols", "eval.protocols:run", __doc__))  # what stands below is imported for the work alone

import csv
import hashlib
import json
import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from io import StringIO

import numpy as np
from filelock import FileLock, Timeout
from omegaconf import OmegaConf

from envs.problem import Problem
from envs.trifinger import make
from envs.whole_files import write_whole
from envs.workers import die_with_parent
from eval.figures.charts import write_chart
from eval.manipulation.plots import bar_plot, radar_plot
from eval.manipulation.protocols import PROTOCOLS, actor, made_with, protocols_for_agent, protocols_of
from eval.paper.table_text import markdown
from eval.run_files.metrics_csv import whole_rows
from eval.terminal import print_table

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
_FIXED = (  # what a folder is for
    "task", "agent", "skip_frame", "max_steps", "dynamics", "overlap", "feasibility", "collision", "seed",
)  # fmt: skip


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
        row = {"protocol": protocol, "episode": episode, "accepted": report["accepted"], "tries": report["tries"]}
        if report["accepted"]:
            played = play_episode(env, load_controller(cfg["agent"], env, rng), env.observe())
            fractions = [step.info["fractional_success"] for step in played]
            scores = fractions[-1], np.mean(fractions), np.mean(fractions[-20:])
            row |= {**dict(zip(METRICS, map(float, scores))), "steps": len(fractions)}
        rows.append(row)
    env.close()
    return rows


def interval(values: np.ndarray, rng: np.random.Generator, draws: int = 2000) -> tuple[float, float]:
    """95 % of the means of samples drawn with replacement (percentile bootstrap)."""
    means = rng.choice(values, (draws, len(values))).mean(1)
    return tuple(np.percentile(means, (2.5, 97.5)))


def summary(rows: list[dict]) -> dict[str, dict]:
    """protocol -> episodes, acceptance (accepted starts of all drawn), and for each metric its mean and interval."""
    found = {}
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        mine = [row for row in rows if row["protocol"] == protocol]
        played = [row for row in mine if row["accepted"]]
        tries = sum(row["tries"] for row in mine)
        entry = {
            "episodes": len(played),
            "left_out": len(mine) - len(played),
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


def _write(path: Path, rows: list[dict]) -> None:
    text = StringIO()
    writer = csv.DictWriter(text, list(FIELDS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: (list(PROTOCOLS).index(row["protocol"]), row["episode"])))
    write_whole(path, text.getvalue())


def _play_missing(cfg: dict, folder: Path, asked: list[str]) -> list[dict]:
    """All rows asked for: those that are there, and the others played now; kept after every few."""
    rows = _read(folder / "episodes.csv")
    done = {(row["protocol"], row["episode"]) for row in rows}
    left = {p: [e for e in range(cfg["episodes"]) if (p, e) not in done] for p in asked}
    chunks = [(p, episodes[i : i + _CHUNK]) for p, episodes in left.items() for i in range(0, len(episodes), _CHUNK)]
    if chunks:
        jobs = min(cfg["jobs"] or os.cpu_count() or 1, len(chunks))
        print(f"{sum(len(e) for _, e in chunks)} episodes to play, {len(done)} are there; {jobs} processes", flush=True)
        with ProcessPoolExecutor(jobs, initializer=die_with_parent) as pool:
            for future in as_completed([pool.submit(play, cfg, *chunk) for chunk in chunks]):
                rows += future.result()
                _write(folder / "episodes.csv", rows)
    return [row for row in rows if row["protocol"] in asked and row["episode"] < cfg["episodes"]]


def _check_same(cfg: dict, path: Path) -> None:
    """A folder holds one agent under one setting; another would mix with it, also one that was trained on."""
    archive = Path(cfg["agent"])
    content = hashlib.sha256(archive.read_bytes()).hexdigest()[:12] if archive.suffix == ".zip" else None
    fixed = {**{key: cfg[key] for key in _FIXED}, "archive": content}
    try:
        before = json.loads(path.read_text()) if path.exists() else fixed
    except (ValueError, RecursionError) as error:  # no JSON, no text, or brackets without end
        before = type(error).__name__
    if not isinstance(before, dict):
        raise Problem(f"{path} holds no settings ({before}); choose another name=, or remove {path.parent}")
    if other := next((key for key in fixed if before.get(key) != fixed[key]), None):
        raise Problem(f"{path.parent} was played with {other}={before.get(other)}, not {fixed[other]}; choose another name=")
    write_whole(path, json.dumps(fixed, indent=1))


def _agent_name(agent: str) -> str:
    """runs/<name>/checkpoints/agent.zip is called by its run, others by their file."""
    path = Path(agent)
    return path.parts[-3] if path.name == "agent.zip" and len(path.parts) > 2 else path.stem


def _told(cfg: dict) -> str:
    return (
        f"{cfg['task']}, agent {_agent_name(cfg['agent'])}: fractional success (95 % bootstrap interval), {cfg['episodes']} "
        f"episodes each, skip {cfg['skip_frame']}, {cfg['dynamics']} dynamics, {cfg['overlap']} overlap, {cfg['feasibility']} "
        f"feasibility, seed {cfg['seed']}; accepted: share of the starts drawn that the world took"
    )


def _lines(found: dict[str, dict]) -> list[list[str]]:
    lines = []
    for protocol, entry in found.items():
        scores = [
            f"{100 * m:.1f} ({100 * low:.1f} to {100 * high:.1f})" for m, low, high in (entry[k] for k in METRICS if k in entry)
        ]
        lines.append(
            [protocol, PROTOCOLS[protocol].told, *(scores or ["-"] * len(METRICS)), f"{100 * entry['acceptance']:.0f} %"]
        )
    return lines


def run(cfg) -> None:
    """The command."""
    cfg = OmegaConf.to_container(cfg)
    choose = protocols_for_agent if Path(cfg["agent"]).suffix == ".zip" else protocols_of
    asked = choose(cfg["task"], cfg["protocols"])
    name = _agent_name(cfg["agent"])
    folder = Path(cfg["out"]) / (cfg["name"] or f"{cfg['task']}-{name}")
    play({**cfg, "max_steps": 1}, asked[0], [0])  # faults of agent and options show before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            _check_same(cfg, folder / "settings.json")
            found = summary(_play_missing(cfg, folder, asked))
            table = ["protocol", "drawn anew", *METRICS.values(), "accepted"], _lines(found), _told(cfg)
            print_table(*table, width=140)
            write_whole(folder / "table.md", markdown(*table))
            write_whole(folder / "scores.json", json.dumps(found, indent=1))
            for kind, plot in (("bars", bar_plot), ("radar", radar_plot)):
                write_chart(plot({name: found}, cfg["task"]), folder / kind)
    except Timeout:
        raise Problem(f"another command is filling {folder}; wait for it, or choose another name=") from None
