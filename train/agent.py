"""Train a model-free agent to reach goals, and measure it on the tasks that planners get.

    python train/agent.py algo=ppo env=physics5
    python train/agent.py algo=ppo env=chemistry_chain5 seed=1 steps=2000000
    python train/agent.py algo=ppo env=physics3 env.observation=state horizon=1 plan.horizons=[1]

One agent serves all horizons: goals lie 1 to `horizon` random actions away. Rerun the command to resume it.
Writes runs/<name>/ with config.yaml, checkpoints/agent.zip, metrics.csv and results.json; with evaluate.every= also
evaluations.csv and checkpoints/best.zip. Needs the extra `agents`: pip install -e '.[agents]'
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("agent", "train.agent:run", __doc__))  # what stands below is imported for the work alone

from envs.problem import Problem

_APART = 1_000_003  # between the seeds of tasks to report on and of those to choose by


def _check(cfg) -> None:
    """Raise Problem on horizons beyond those trained on, and on a learner of other actions."""
    from train.agents.learner import is_off_policy

    if is_off_policy(cfg):
        raise Problem(
            f"boards have actions that are counted, and algo={cfg.algo.name} learns actions that are numbers; set algo=ppo"
        )
    if max(cfg.plan.horizons) > cfg.horizon:
        raise Problem(
            f"plan.horizons={list(cfg.plan.horizons)} reach beyond the longest episodes trained on, horizon={cfg.horizon}; "
            f"shorten the horizons or set horizon={max(cfg.plan.horizons)}"
        )


def measure(cfg, world, agent) -> dict:
    """Success on the tasks of eval/plan.py, with its floors and bounds."""
    from eval.plan import reached
    from eval.planning.tasks import draw_tasks
    from train.agents.policy import AgentPolicy

    metrics, seconds = {}, {}
    for h in cfg.plan.horizons:
        tasks = draw_tasks(world, cfg.plan.episodes, h, cfg.plan.seed, cfg.plan.mode, cfg.plan.goal_may_equal_start)
        found = reached(world, tasks, {"agent": AgentPolicy(agent, cfg.horizon)}, cfg.plan.seed)
        metrics, seconds = metrics | found[0], seconds | found[1]
        metrics[f"plan/success/h{h}"] = metrics[f"plan/success/agent/h{h}"]
    return {
        "algo": cfg.algo.name, "env": cfg.env.name,
        "metrics": {name: round(float(value), 4) for name, value in metrics.items()},
        "protocol": {"observation": cfg.env.observation, "horizon": cfg.horizon},
        "plan": {**{key: value for key, value in cfg.plan.items() if key != "horizons"}, "horizons": list(cfg.plan.horizons),
                 "planners": ["agent"], "timing": {key: round(value, 2) for key, value in seconds.items()}},
    }  # fmt: skip


def evaluate(cfg, world, agent) -> dict[str, tuple[float, float, float]]:
    """Horizon -> success with its 95 %, percent, on tasks that are always the same and not those of `measure`."""
    import numpy as np

    from eval.manipulation.episodes import interval
    from eval.planning.tasks import draw_tasks, run_policy
    from train.agents.policy import AgentPolicy

    plan, found = cfg.plan, {}
    for h in plan.horizons:
        tasks = draw_tasks(world, cfg.evaluate.episodes, h, plan.seed + _APART, plan.mode, plan.goal_may_equal_start)
        solved = 100.0 * run_policy(world, tasks, AgentPolicy(agent, cfg.horizon), plan.seed)
        found[f"h{h}"] = (float(solved.mean()), *interval(solved, np.random.default_rng(0)))
    return found


def caption(results: dict) -> str:
    """The protocol in one line."""
    p, plan = results["protocol"], results["plan"]
    goals = "goals may equal the start" if plan["goal_may_equal_start"] else "goals differ from the start"
    return (
        f"success, percent, in T actions, for goals T random actions away; {results['algo']} on {results['env']} "
        f"({plan['mode']}, {p['observation']}), {p['steps']} steps, seed {results['seed']}; {plan['episodes']} fresh episodes, "
        f"{goals}"
    )


def prepare(cfg):
    """A batch of boards, and an agent that compares every object with its goal."""
    from hydra.utils import instantiate

    from eval.planning.tasks import draw_tasks, has_goals
    from train.agents.board_envs import GoalEpisodes
    from train.agents.network import SharedFeatures
    from train.agents.training import Setting
    from train.run_folder import check_world

    world = instantiate(cfg.env.world)
    check_world(cfg, world)
    if not has_goals(world):
        raise Problem(f"env '{cfg.env.name}' has no goals with actions that can be counted; train on physics or chemistry")
    draw_tasks(world, 1, 1, cfg.plan.seed, cfg.plan.mode)  # raises on an unknown mode before anything is made
    sizes = {"num_objects": world.spec.objects, **{key: cfg.algo[key] for key in ("channels", "width", "hidden")}}
    network = {"features_extractor_class": SharedFeatures, "features_extractor_kwargs": sizes, "net_arch": []}
    return Setting(
        envs=lambda steps: GoalEpisodes(world, cfg.algo.boards, cfg.horizon, [cfg.seed, steps]),
        given={"policy": "MultiInputPolicy", "policy_kwargs": network},
        measure=lambda agent, path: measure(cfg, world, agent),
        evaluate=lambda agent, path: evaluate(cfg, world, agent),
    )


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    from train.agents.learner import check_learner

    check_learner(cfg)
    _check(cfg)
    from eval.plan import print_plans
    from train.agents.training import train_and_measure  # needs stable-baselines3

    folder, results = train_and_measure(cfg, prepare)
    print_plans(results, {"agent": f"{results['algo']}, trained without a model"}, caption(results))
    print("  ".join(f"{name} {value}" for name, value in results["timing"].items()))
    print(f"\n{folder / 'results.json'}")
    return results
