"""Train a model-free agent on a TriFinger task under a curriculum, and measure it on the task's protocols.

    python train/manipulation.py task=pushing curriculum=1
    python train/manipulation.py task=reaching steps=500_000 algo.boards=2 seed=1
    python eval/protocols.py task=pushing agent=runs/<name>/checkpoints/agent.zip      the 200 episodes of the paper

Interrupted, the same command goes on. Writes runs/<name>/ with config.yaml, checkpoints/agent.zip, metrics.csv and
results.json. Needs the extras `agents` and `trifinger`: pip install -e '.[agents,trifinger]'
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("manipulation", "train.manipulation:run", __doc__))  # what stands below is imported for the work alone

import time

from omegaconf import OmegaConf

from envs.problem import Problem


def _try(cfg) -> None:
    """A few starts: tasks and options that do not exist, observations of other lengths, told before anything is made."""
    from train.agents.trifinger_envs import arena

    env = arena(cfg)
    shape = env.observation_space.shape
    for seed in range(5):
        if env.reset(seed=seed)[0].shape != shape:
            raise Problem(
                f"curriculum {cfg.curriculum.name} changes the number of blocks of {cfg.task}, an agent sees always as many; "
                "choose another curriculum="
            )
    env.close()


def measure(cfg, asked: list[str], agent, folder: Path) -> dict:
    """What results.json holds: fractional success on the protocols, with the share of accepted starts."""
    from eval.protocols import METRICS, play, summary
    from train.agents.training import write_results

    start = time.monotonic()
    played = {**OmegaConf.to_container(cfg, resolve=True), "agent": str(folder / "checkpoints" / "agent.zip")}
    rows = [row for name in asked for row in play(played, name, list(range(cfg.episodes)))]
    found, metrics = summary(rows), {}
    for name, entry in found.items():
        metrics |= {f"protocol/{name}/{key}": round(100 * entry[key][0], 4) for key in METRICS if key in entry}
        metrics[f"protocol/{name}/accepted"] = round(100 * entry["acceptance"], 4)
    own = {
        "algo": "ppo", "env": f"trifinger_{cfg.task}", "metrics": metrics,
        "protocol": {"curriculum": cfg.curriculum.name, "steps": agent.num_timesteps, "episodes": cfg.episodes,
                     "seeds": [cfg.seed]},
    }  # fmt: skip
    return write_results(cfg, agent, folder, own, {"play_s": time.monotonic() - start})


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    from eval.manipulation.protocols import PROTOCOLS, protocols_for_agent
    from eval.runs import AGENT
    from eval.terminal import print_table
    from train.agent import check_learner
    from train.run_folder import check_writable, choose_folder, open_folder

    check_learner(cfg)
    asked = protocols_for_agent(cfg.task, cfg.protocols)
    from train.agents.training import train_agent  # this and the next need stable-baselines3
    from train.agents.trifinger_envs import ArenaLessons

    overwrite = cfg.overwrite
    folder, cfg = choose_folder(cfg, AGENT)
    check_writable(folder)
    _try(cfg)
    with open_folder(folder, cfg, overwrite):
        policy = {"policy": "MlpPolicy", "policy_kwargs": {"net_arch": [cfg.algo.hidden] * 2}}
        agent = train_agent(cfg, lambda steps: ArenaLessons(cfg, steps), policy, folder)
        results = measure(cfg, asked, agent, folder)
    m, lines = results["metrics"], []
    for name in asked:
        numbers = [f"{m[key]:.1f}" if (key := f"protocol/{name}/{part}") in m else "-" for part in ("last", "accepted")]
        lines.append([name, PROTOCOLS[name].told, *numbers])
    caption = (
        f"ppo on {cfg.task}, curriculum {cfg.curriculum.name}, {agent.num_timesteps} steps, seed {cfg.seed}: fractional "
        f"success, percent, at the last step; {cfg.episodes} episodes of each protocol; accepted: share of the starts drawn"
    )
    print_table(["protocol", "drawn anew", "last step", "accepted"], lines, caption)
    print(f"\n{folder / 'results.json'}")
    return results
