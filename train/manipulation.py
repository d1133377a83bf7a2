"""Train a model-free agent on a TriFinger task under a curriculum, and measure it on the task's protocols.

    python train/manipulation.py task=pushing curriculum=1
    python train/manipulation.py task=reaching steps=500_000 algo.boards=2 seed=1
    python eval/protocols.py task=pushing agent=runs/<name>/checkpoints/agent.zip      the 200 episodes of the paper

Rerun the command to resume it. Writes runs/<name>/ with config.yaml, checkpoints/agent.zip, metrics.csv and results.json.
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


def _try(cfg) -> None:
    """Start a few episodes: raises on unknown tasks and options, and where the size of observations changes."""
    from train.agents.trifinger_envs import arena

    env = arena(cfg)
    shape = env.observation_space.shape
    for seed in range(5):
        if env.reset(seed=seed)[0].shape != shape:
            raise Problem(
                f"curriculum {cfg.curriculum.name} changes the number of blocks of {cfg.task}, and an agent's observation size "
                "is fixed; choose another curriculum="
            )
    env.close()


def prepare(cfg):
    """Arenas in processes of their own, and an agent of two layers."""
    from eval.manipulation.protocols import protocols_for_agent
    from train.agents.scores import measure
    from train.agents.training import Setting
    from train.agents.trifinger_envs import arenas

    asked = protocols_for_agent(cfg.task, cfg.protocols)
    _try(cfg)
    return Setting(
        envs=lambda steps: arenas(cfg, steps),
        policy={"policy": "MlpPolicy", "policy_kwargs": {"net_arch": [cfg.algo.hidden] * 2}},
        measure=lambda agent, path: {
            "algo": "ppo", "env": f"trifinger_{cfg.task}", "metrics": measure(cfg, asked, path),
            "protocol": {"curriculum": cfg.curriculum.name, "episodes": cfg.episodes},
        },
    )  # fmt: skip


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    from eval.manipulation.protocols import protocols_for_agent
    from train.agents.learner import check_learner

    check_learner(cfg)
    protocols_for_agent(cfg.task, cfg.protocols)  # raises on unknown names first
    from train.agents.scores import print_scores
    from train.agents.training import train_and_measure  # needs stable-baselines3

    folder, results = train_and_measure(cfg, prepare)
    p = results["protocol"]
    told = f"ppo on {cfg.task}, curriculum {p['curriculum']}, {p['steps']} steps, seed {results['seed']}"
    print_scores(results["metrics"], f"{told}, {p['episodes']} episodes of each protocol")
    print(f"\n{folder / 'results.json'}")
    return results
