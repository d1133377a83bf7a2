"""Learning curves of model-free agents: success on the evaluations in between, against steps.

    python eval/learning.py run=[runs/<a>,runs/<b>]
    python eval/learning.py run=results/agents/reaching_td3.json beside=[reaching-expert-skip10] out=results/protocols

A panel for each protocol, a line for each run with its 95 %, level lines for agents that eval/protocols.py measured.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("learning", "eval.learning:run", __doc__))  # what stands below is imported for the work alone

from omegaconf import ListConfig, OmegaConf

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.charts import chart_bytes
from eval.figures.protocol_plots import learning_plot
from eval.manipulation.comparison import read_played
from eval.runs import folders_of
from eval.runs.evaluations import Learned, read_learned


def _levels(cfg, learned: list[Learned]) -> dict[str, dict[str, float]]:
    """Agent -> protocol -> fractional success in percent, of the folders beside; one that shares its name with a run is called
    by its folder. Raises Problem where agents acted in another arena than the runs, as far as these say theirs."""
    env, runs = learned[0].env, {one.run for one in learned}
    names = list(cfg.beside) if isinstance(cfg.beside, ListConfig) else [cfg.beside]
    task, found = env.removeprefix("trifinger_"), {}
    if names and task == env:
        raise Problem(f"beside= names agents of a TriFinger task, and the runs are of {env}; leave it out")
    for name in names:
        settings, scores = read_played(Path(cfg.out) / name, task)
        for one in learned:
            for key, value in one.arena.items():
                if settings.get(key) != value:
                    raise Problem(f"{name} of beside= was played with {key}={settings.get(key)}, {one.run} learned with "
                                  f"{key}={value}; leave it out, or play it so with eval/protocols.py")  # fmt: skip
        percent = {protocol: 100 * one["last"][0] for protocol, one in scores.items() if "last" in one}
        agent = name.removeprefix(f"{task}-")
        found[name if agent in runs | found.keys() else agent] = percent
    return found


def run(cfg) -> Path:
    """The command; returns the picture's path."""
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/learning.py run=runs/<name>")
    to = Path(cfg.to)
    learned: list[Learned] = [read_learned(Path(path)) for path in folders_of(cfg.run)]
    if other := next((one for one in learned if one.env != learned[0].env), None):
        raise Problem(f"{other.run} learned {other.env}, expected {learned[0].env} as {learned[0].run}; draw them apart")
    if twice := next((one.run for one in learned if sum(one.run == each.run for each in learned) > 1), None):
        raise Problem(f"two runs are called {twice}, and a line is called by its run; leave one of them out")
    levels = _levels(cfg, learned)
    asked = {protocol for one in learned for protocol in one.curves}
    if alone := next((agent for agent, scores in levels.items() if not asked & scores.keys()), None):
        raise Problem(f"{alone} of beside= has none of the protocols {', '.join(sorted(asked))} of the runs; leave it out, or "
                      f"play one with eval/protocols.py")  # fmt: skip
    env = learned[0].env
    measure = "fractional success" if env.startswith("trifinger_") else "success"
    figure = learning_plot({one.run: one.curves for one in learned}, levels, env.removeprefix("trifinger_"), measure)
    content = chart_bytes(figure, to)
    to.parent.mkdir(parents=True, exist_ok=True)
    write_whole(to, content)
    print(to)
    return to
