"""Clone the scripted expert of a TriFinger task into a network, and measure that on the task's protocols.

    python train/clone.py task=picking
    python train/clone.py task=pushing cloning.starts=[P0,P4,P5] cloning.episodes=1200 seed=1
    python eval/protocols.py task=picking skip_frame=10 agent=runs/<name>/checkpoints/agent.zip    200 episodes of each protocol

Rerun the command to resume it. Writes runs/<name>/ with config.yaml, demonstrations/, checkpoints/agent.zip, metrics.csv and
results.json. Needs the extra `trifinger`: pip install -e '.[trifinger]'
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("clone", "train.clone:run", __doc__))  # what stands below is imported for the work alone

import json
import time

import torch

from envs.whole_files import check_writable, write_whole
from eval.manipulation.protocols import protocols_for_agent
from eval.runs import CLONE, config_hash
from eval.runs.made_with import versions
from train.run_folder import choose_folder, open_folder


def _check(cfg) -> list[str]:
    """The protocols to measure on; a Problem on whatever cannot be cloned, before anything is written."""
    asked = protocols_for_agent(cfg.task, cfg.protocols)
    from envs.trifinger import make
    from envs.trifinger.experts import expert
    from eval.manipulation.protocols import made_with

    env = make(cfg.task, reward="none", space=None, **made_with(cfg))
    env.reset(seed=0)
    expert(env)  # or says why there is none
    env.close()
    protocols_for_agent(cfg.task, list(cfg.cloning.starts))
    return asked


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    asked = _check(cfg)
    from train.agents.cloning import clone
    from train.agents.scores import measure, print_scores

    overwrite = cfg.overwrite
    folder, cfg = choose_folder(cfg, CLONE)
    check_writable(folder, "runs_dir")
    with open_folder(folder, cfg, overwrite):
        policy, done = clone(cfg, folder)
        start = time.monotonic()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # of many small steps
        metrics = measure(cfg, asked, folder / "checkpoints" / "agent.zip")
        torch.set_num_threads(threads)
        seconds = sum(part["played_s"] + part["learned_s"] for part in done["rounds"])
        results = {
            "run": cfg.name, "seed": cfg.seed, "algo": "cloning", "env": f"trifinger_{cfg.task}", "metrics": metrics,
            "protocol": {"seeds": [cfg.seed], "episodes": cfg.episodes, "starts": list(cfg.cloning.starts), **done},
            "timing": {"fit_s": round(seconds, 2), "measure_s": round(time.monotonic() - start, 2)},
            "parameters": {"agent": sum(p.numel() for p in policy.parameters())},
            "config_hash": config_hash(cfg),
            "setting_hash": config_hash(cfg, seed=False),
            "versions": versions(),
        }  # fmt: skip
        write_whole(folder / "results.json", json.dumps(results, indent=2))
    told = (
        f"expert of {cfg.task} cloned in {seconds / 60:.0f} minutes, seed {cfg.seed}, {cfg.episodes} episodes of each protocol"
    )
    print_scores(metrics, told)
    print(f"\n{folder / 'results.json'}")
    return results
