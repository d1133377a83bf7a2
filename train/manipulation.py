"""Train a model-free agent on a TriFinger task under a curriculum, and measure it on the task's protocols.

    python train/manipulation.py task=pushing curriculum=1
    python train/manipulation.py task=reaching curriculum=1 experiment=quick_sac evaluate.every=50_000
    python train/manipulation.py task=reaching curriculum=1 experiment=quick_her      with relabelled goals
    python train/manipulation.py task=pushing experiment=quick_residual      corrects the scripted expert
    python eval/protocols.py task=pushing agent=runs/<name>/checkpoints/agent.zip      the 200 episodes of the paper
    python eval/learning.py run=[runs/<a>,runs/<b>]                                    learning curves

Rerun the command to resume it. Writes runs/<name>/ with config.yaml, checkpoints/agent.zip, metrics.csv and results.json;
with evaluate.every= also evaluations.csv and checkpoints/best.zip.
Needs the extras `agents` and `trifinger`: pip install -e '.[agents,trifinger]'
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("manipulation", "train.manipulation:run", __doc__))  # what stands below is imported for the work alone

from envs.problem import Problem


def prepare(cfg):
    """Arenas in processes of their own, and an agent of two layers."""
    from eval.manipulation.protocols import measured_in, protocols_for_agent
    from train.agents.scores import evaluate, measure
    from train.agents.training import Setting
    from train.agents.trifinger_envs import Arenas
    from train.agents.trifinger_learner import given, tried

    asked = protocols_for_agent(cfg.task, cfg.protocols)
    header = tried(cfg)
    return Setting(
        envs=lambda steps: Arenas(cfg, steps),
        given=given(cfg),
        measure=lambda agent, path: {
            "algo": cfg.algo.name, "env": f"trifinger_{cfg.task}", "metrics": measure(cfg, asked, path),
            "protocol": {"curriculum": cfg.curriculum.name, "episodes": cfg.episodes, "residual": cfg.residual,
                         "arena": measured_in(cfg)},
        },
        evaluate=lambda agent, path: evaluate(cfg, path),
        header=header,
    )  # fmt: skip


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    from eval.manipulation.protocols import protocols_for_agent
    from train.agents.learner import check_learner

    check_learner(cfg)
    if cfg.residual is not None and cfg.algo.get("relabelled"):
        raise Problem(
            "an expert acts for its episode's goal, and relabelled goals are others; set residual=null or algo.relabelled=0"
        )
    if cfg.reward == "dense" and cfg.algo.get("relabelled"):
        raise Problem("dense rewards are of the goal that an episode had, and relabelled goals are others; "
                      "set reward=fractional, reward=sparse or algo.relabelled=0")  # fmt: skip
    protocols_for_agent(cfg.task, cfg.protocols)  # raises on unknown names first
    if cfg.evaluate.every is not None:
        protocols_for_agent(cfg.task, cfg.evaluate.protocols)
    from train.agents.scores import print_scores
    from train.agents.training import train_and_measure  # needs stable-baselines3

    folder, results = train_and_measure(cfg, prepare)
    p = results["protocol"]
    told = f"{results['algo']} on {cfg.task}, curriculum {p['curriculum']}, {p['steps']} steps, seed {results['seed']}"
    print_scores(results["metrics"], f"{told}, {p['episodes']} episodes of each protocol")
    print(f"\n{folder / 'results.json'}")
    return results
