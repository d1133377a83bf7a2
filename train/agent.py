"""Train a model-free agent to reach goals, and measure it on the tasks that planners get.

    python train/agent.py algo=ppo env=physics5
    python train/agent.py algo=ppo env=chemistry_chain5 seed=1 steps=2000000
    python train/agent.py algo=ppo env=physics3 env.observation=state horizon=1 plan.horizons=[1]

One agent serves all horizons: goals lie 1 to `horizon` random actions away. Interrupted, the same command goes on.
Writes runs/<name>/ with config.yaml, checkpoints/agent.zip, metrics.csv and results.json. Needs the extra
`agents`: pip install -e '.[agents]'
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("agent", "train.agent:run", __doc__))  # what stands below is imported for the work alone

import importlib.util
import time

from envs.problem import Problem


def check_learner(cfg) -> None:
    """A library and an update that cannot be had stop here with a sentence."""
    if importlib.util.find_spec("stable_baselines3") is None:
        raise Problem("model-free agents need stable-baselines3; install it with: pip install 'stable-baselines3>=2.9'")
    if cfg.algo.boards * cfg.algo.learner.n_steps < 2:
        raise Problem("an update needs two steps at least; set algo.boards= or algo.learner.n_steps= to more than 1")


def _check(cfg) -> None:
    """What cannot work stops here with a sentence."""
    check_learner(cfg)
    if max(cfg.plan.horizons) > cfg.horizon:
        raise Problem(
            f"plan.horizons={list(cfg.plan.horizons)} reach beyond the longest episodes trained on, horizon={cfg.horizon}; "
            f"shorten the horizons or set horizon={max(cfg.plan.horizons)}"
        )


def measure(cfg, world, agent, folder: Path) -> dict:
    """What results.json holds: success on the tasks of eval/plan.py, with its floors and bounds."""
    from eval.plan import reached
    from eval.planning.tasks import draw_tasks
    from train.agents.policy import AgentPolicy
    from train.agents.training import write_results

    start, metrics, seconds = time.monotonic(), {}, {}
    for h in cfg.plan.horizons:
        tasks = draw_tasks(world, cfg.plan.episodes, h, cfg.plan.seed, cfg.plan.mode, cfg.plan.goal_may_equal_start)
        found = reached(world, tasks, {"agent": AgentPolicy(agent, world, cfg.horizon)}, cfg.plan.seed)
        metrics, seconds = metrics | found[0], seconds | found[1]
        metrics[f"plan/success/h{h}"] = metrics[f"plan/success/agent/h{h}"]
    own = {
        "algo": cfg.algo.name, "env": cfg.env.name,
        "metrics": {name: round(float(value), 4) for name, value in metrics.items()},
        "protocol": {"observation": cfg.env.observation, "seeds": [cfg.seed], "steps": agent.num_timesteps,
                     "horizon": cfg.horizon},
        "plan": {**{key: value for key, value in cfg.plan.items() if key != "horizons"}, "horizons": list(cfg.plan.horizons),
                 "planners": ["agent"], "timing": {key: round(value, 2) for key, value in seconds.items()}},
    }  # fmt: skip
    return write_results(cfg, agent, folder, own, {"plan_s": time.monotonic() - start})


def caption(results: dict) -> str:
    """The protocol in one line."""
    p, plan = results["protocol"], results["plan"]
    goals = "goals may equal the start" if plan["goal_may_equal_start"] else "goals differ from the start"
    return (
        f"success, percent, after exactly as many actions as made the goal; {results['algo']} on {results['env']} "
        f"({plan['mode']}, {p['observation']}), {p['steps']} steps, seed {results['seed']}; {plan['episodes']} fresh episodes, "
        f"{goals}"
    )


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    from hydra.utils import instantiate

    from eval.plan import print_plans
    from eval.planning.tasks import draw_tasks
    from eval.runs import AGENT
    from train.malloc import keep_freed_memory
    from train.run_folder import check_world, check_writable, choose_folder, open_folder

    _check(cfg)
    from train.agents.board_envs import GoalEpisodes  # this and the next two need stable-baselines3
    from train.agents.network import SharedFeatures
    from train.agents.training import train_agent

    keep_freed_memory()
    overwrite = cfg.overwrite
    folder, cfg = choose_folder(cfg, AGENT)
    check_writable(folder)
    world = instantiate(cfg.env.world)
    check_world(cfg, world)
    draw_tasks(world, 1, 1, cfg.plan.seed, cfg.plan.mode)  # a mode that does not exist is told before anything is made
    with open_folder(folder, cfg, overwrite):
        sizes = {"num_objects": world.spec.objects, **{key: cfg.algo[key] for key in ("channels", "width", "hidden")}}
        network = {"features_extractor_class": SharedFeatures, "features_extractor_kwargs": sizes, "net_arch": []}
        policy = {"policy": "MultiInputPolicy", "policy_kwargs": network}
        agent = train_agent(
            cfg, lambda steps: GoalEpisodes(world, cfg.algo.boards, cfg.horizon, [cfg.seed, steps]), policy, folder
        )
        results = measure(cfg, world, agent, folder)
    print_plans(results, {"agent": f"{cfg.algo.name}, trained without a model"}, caption(results))
    print("  ".join(f"{name} {value}" for name, value in results["timing"].items()))
    print(f"\n{folder / 'results.json'}")
    return results
