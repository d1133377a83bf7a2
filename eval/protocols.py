"""The twelve protocols of CausalWorld: how an agent does where masses, sizes, places, goals or everything is drawn anew.

    python eval/protocols.py task=pushing agent=random episodes=20
    python eval/protocols.py task=picking agent=expert protocols=[P0,P5]
    python eval/protocols.py task=pushing agent=pushing_ppo_curr1.zip dynamics=legacy overlap=legacy
    python eval/protocols.py task=stacking2 agent=still protocols=[P0,P11] jobs=2
    python eval/protocols.py task=pushing agent=expert beside=[pushing-random]      and draws what another folder of out= holds

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

import hashlib
import json

from filelock import FileLock, Timeout
from omegaconf import OmegaConf

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.charts import write_chart
from eval.figures.protocol_plots import bar_plot, radar_plot
from eval.manipulation.comparison import comparison_caption, comparison_lines, read_played, with_usual
from eval.manipulation.episodes import METRICS, play, play_missing, summary
from eval.manipulation.protocols import PROTOCOLS, protocols_for_agent, protocols_of
from eval.paper.table_text import markdown
from eval.terminal import print_table

_FIXED = (  # what a folder is for
    "task", "agent", "skip_frame", "max_steps", "dynamics", "overlap", "feasibility", "collision", "mass_spread", "seed",
)  # fmt: skip

_OF_A_RUN = {"agent.zip": "", "best.zip": "-best"}  # archives that are called by their run


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
    before = with_usual(before)
    if other := next((key for key in fixed if before.get(key) != fixed[key]), None):
        raise Problem(f"{path.parent} was played with {other}={before.get(other)}, not {fixed[other]}; choose another name=")
    write_whole(path, json.dumps(fixed, indent=1))


def _agent_name(agent: str) -> str:
    """runs/<name>/checkpoints/agent.zip is called by its run, best.zip beside it <name>-best, others by their file."""
    path = Path(agent)
    if path.name not in _OF_A_RUN or len(path.parts) < 3:
        return path.stem
    return path.parts[-3] + _OF_A_RUN[path.name]


def _caption(cfg: dict, found: dict[str, dict]) -> str:
    counts = sorted({entry["episodes"] for entry in found.values()})
    each = f"{counts[0]} episodes each" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} episodes each, in `scores.json`"
    steps = "" if cfg["max_steps"] is None else f", at most {cfg['max_steps']} steps"
    return (
        f"{cfg['task']}, agent {_agent_name(cfg['agent'])}: fractional success (95 % bootstrap interval), {each}, skip "
        f"{cfg['skip_frame']}{steps}, {cfg['dynamics']} dynamics, {cfg['overlap']} overlap, {cfg['feasibility']} feasibility, "
        f"{cfg['collision']} collision, masses on P0 within {100 * cfg['mass_spread']:g} %, seed {cfg['seed']}; accepted: "
        f"share of the starts drawn that the world took"
    )


def _table(cfg: dict, found: dict[str, dict]) -> tuple[list[str], list[list[str]], str]:
    return ["protocol", "drawn anew", *METRICS.values(), "accepted"], _lines(found), _caption(cfg, found)


def _lines(found: dict[str, dict]) -> list[list[str]]:
    lines = []
    for protocol, entry in found.items():
        scores = [
            f"{100 * m:.1f} ({100 * low:.1f} to {100 * high:.1f})" for m, low, high in (entry[k] for k in METRICS if k in entry)
        ]
        lines.append(
            [protocol, PROTOCOLS[protocol].caption, *(scores or ["-"] * len(METRICS)), f"{100 * entry['acceptance']:.0f} %"]
        )
    return lines


def _compare(cfg: dict, folder: Path) -> None:
    """This agent and those of other folders in one table, one radar and one chart of bars: <out>/<task>/."""
    folders = list(dict.fromkeys([folder, *(Path(cfg["out"]) / name for name in cfg["beside"])]))
    agents = [one.name.removeprefix(f"{cfg['task']}-") for one in folders]
    played = {agent if agents.count(agent) == 1 else one.name: read_played(one, cfg["task"])
              for one, agent in zip(folders, agents)}  # fmt: skip
    to = Path(cfg["out"]) / cfg["task"]
    to.mkdir(parents=True, exist_ok=True)
    table = *comparison_lines(played), comparison_caption(cfg["task"], played)
    print_table(*table, width=200)
    write_whole(to / "table.md", markdown(*table))
    for kind, plot in (("bars", bar_plot), ("radar", radar_plot)):
        write_chart(plot({agent: one.scores for agent, one in played.items()}, cfg["task"]), to / kind)


def run(cfg) -> None:
    """The command."""
    cfg = OmegaConf.to_container(cfg)
    choose = protocols_for_agent if Path(cfg["agent"]).suffix == ".zip" else protocols_of
    asked = choose(cfg["task"], cfg["protocols"])
    name = _agent_name(cfg["agent"])
    folder = Path(cfg["out"]) / (cfg["name"] or f"{cfg['task']}-{name}")
    if folder.name == cfg["task"]:
        raise Problem(f"{folder} holds what is compared on {cfg['task']}; expected another name, as {cfg['task']}-{name}; "
                      f"leave out name=")  # fmt: skip
    cfg["beside"] = [cfg["beside"]] if isinstance(cfg["beside"], str) else cfg["beside"]
    for other in cfg["beside"]:
        read_played(Path(cfg["out"]) / other, cfg["task"])  # or says what is wrong before hours are spent
    play({**cfg, "max_steps": 1}, asked[0], [0])  # faults of agent and options show before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            _check_same(cfg, folder / "settings.json")
            rows = play_missing(cfg, folder, asked)
            now = [row for row in rows if row["protocol"] in asked and row["episode"] < cfg["episodes"]]
            print_table(*_table(cfg, summary(now)), width=140)
            found = summary(rows)  # files hold all that was ever played, so that none is lost by asking for less
            write_whole(folder / "table.md", markdown(*_table(cfg, found)))
            write_whole(folder / "scores.json", json.dumps(found, indent=1))
            for kind, plot in (("bars", bar_plot), ("radar", radar_plot)):
                write_chart(plot({name: found}, cfg["task"]), folder / kind)
        if cfg["beside"]:
            _compare(cfg, folder)
    except Timeout:
        raise Problem(f"another command is filling {folder}; wait for it, or choose another name=") from None
