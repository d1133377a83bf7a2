"""Does a model reach goals? A distance predictor on its frozen encoder, planners of several kinds, floors and bounds.

    python eval/plan.py run=runs/edge-infonce-physics5-quick-s0                          greedy, closed loop
    python eval/plan.py run=runs/<name> planners=[model_open,simulator,beam,untrained]   the dear ones too
    python eval/plan.py run=runs/<name> reward=flat reach=10 ahead=true planners=[model_open,simulator]   the published way
    python eval/plan.py run=runs/<name> round=[1,2,5] horizons=[10]                      weights of these rounds, of a run
                                                                                         with trainer=minutes or updates
    python eval/plan.py run=runs/<name> planners=[beam,cem] beam.width=50 cem.candidates=500   settings: configs/planner

Goals lie exactly T random actions away; those that the start solves are drawn anew (in TriFinger ten times at most, and a
warning counts those that stay). After exactly T actions every object must be where (or coloured as) the goal has it. Success,
percent. Adds plan/... to the run's results.json; under another protocol than that of configs/plan.yaml, to plan-<what
differs>.json beside it. Every number is kept as soon as it is there: stopped, the same command goes on, and what is there
already is not computed again (again=true computes it).
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("plan", "eval.plan:run", __doc__))  # what stands below is imported for the work alone

import time
from collections.abc import Callable, Collection
from itertools import product

import numpy as np
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from envs.problem import Problem, nearest
from envs.protocols import Goals, OwnGoals, Painting
from envs.streams import Stream
from envs.whole_files import check_writable
from eval.planning.actions import countable
from eval.planning.blocks_distance import BlocksDistance
from eval.planning.goal_distance import HEADS, NOT_LEARNED, learned_distance
from eval.planning.kept import asked_of, keep, kept_metrics, read_plans
from eval.planning.oracles import LowestWrong, Random, Replay, TrueGreedy
from eval.planning.planners import check_name, check_planner, labels, make_planner, weights_of
from eval.planning.tasks import TASKS, Oracle, Policy, Tasks, draw_own_tasks, draw_tasks, last_state
from eval.probes.same_board import has_chance
from eval.runs import Run, folders_of
from eval.runs.checkpoints import digest
from eval.runs.final import FINAL, KEPT_TASKS, open_final
from eval.runs.ledger import enter
from eval.terminal import Steps, print_table

BASELINES = {
    "true/greedy": "for comparison: greedy, true world and distance",
    "true/replay": "for comparison: replay of the actions that made the goal",
    "floor/painter": "floor: paint the lowest wrong number",
    "floor/random": "floor: random actions",
    "floor/noop": "floor: doing nothing",
}


def baselines(world: Goals, seed: int) -> dict[str, Oracle]:
    """Bounds and floors of a world, by the name of their metric."""
    found: dict[str, Oracle] = {"floor/random": Random(world, seed)}
    if countable(world.spec.action):  # it tries every action
        found = {"true/greedy": TrueGreedy(world, seed), **found}
    if has_chance(world):  # elsewhere a replay never fails
        found["true/replay"] = Replay()
    if isinstance(world, Painting):
        found["floor/painter"] = LowestWrong(world)
    return found


def reached(
    world: Goals, tasks: Tasks, policies: dict[str, Policy | Oracle], seed: int, existing: Collection[str] = (),
    progress: Steps | None = None, keep: Callable[[dict, dict], None] | None = None,
) -> tuple[dict, dict]:  # fmt: skip
    """Success of policies, bounds and floors on tasks of one horizon, percent, and the seconds they took.

    existing: metrics that are not asked for again.  keep: called with the numbers of every row when they are there.
    """
    h = tasks.horizon
    metrics, timing = {}, {}

    def judge(name: str, last) -> None:
        metrics[f"plan/{name}/h{h}"] = 100 * world.solved(last, tasks.goal).mean()
        if isinstance(world, OwnGoals):
            grades = 100 * world.grade(last, tasks.goal)
            spread = np.std(grades, ddof=1) / len(grades) ** 0.5 if len(grades) > 1 else 0.0
            metrics.update({f"plan/grade/{name}/h{h}": grades.mean(), f"plan/grade_error/{name}/h{h}": spread})

    judge("floor/noop", tasks.start)
    progress = progress or Steps("planning", 0, quiet=True)
    rows = {f"success/{name}": policy for name, policy in policies.items()} | baselines(world, seed)
    for name, policy in rows.items():
        key, start = f"plan/{name}/h{h}", time.monotonic()
        if key in existing:
            continue
        judge(name, last_state(world, tasks, policy, seed, progress.step))
        timing[f"{name.split('/')[1]}_s/h{h}"] = time.monotonic() - start
        progress.part(f"{name.split('/')[1]}, {h} step{'s' if h > 1 else ''}, {metrics[key]:.1f} %")
        if keep is not None:
            keep(metrics, timing)
    return metrics, timing


def _check(asked: dict) -> None:
    """What cannot be asked of any run stops here with a sentence."""
    for key in [key for key, value in asked.items() if value is None]:
        raise Problem(f"{key} must have a value, got null; leave {key}= out to take the usual one")
    if not isinstance(asked["planners"], list):
        raise Problem(f"planners must be a list, for example [model_closed], got {asked['planners']!r}")
    for name in asked["planners"]:
        check_name(name)
    for key, known in (("reward", (*HEADS, *NOT_LEARNED)), ("tasks", TASKS)):
        if asked[key] not in known:
            raise Problem(f"there is no {key}={asked[key]}: {nearest(str(asked[key]), known)}")


def check_asked(run: Run, asked: dict) -> None:
    """Raise Problem where a run cannot be planned with so, before a setting is frozen or anything takes long."""
    folder, name, world = run.folder, run.config.env.name, run.world
    if not (folder / "results.json").exists():
        raise Problem(f"{folder} has no results.json to add to; finish the run with: python train/fit.py resume={folder}")
    if not isinstance(world, Goals):
        raise Problem(f"states of env '{name}' cannot be asked for, so that there are no goals to plan for; "
                      f"eval/score.py measures its predictions")  # fmt: skip
    if asked["tasks"] == "own":
        if not isinstance(world, OwnGoals):
            raise Problem(f"states of env '{name}' have no goals of their own; set tasks=walk")
        draw_own_tasks(world, 1, max(asked["horizons"]), asked["seed"])
    if asked["reward"] == "blocks":
        BlocksDistance.check(run.model, world)
    for planner in asked["planners"]:
        check_planner(planner, run.model, world)


def _tasks(run: Run, asked: dict, horizon: int) -> Tasks:
    drawn = run.world, asked["episodes"], horizon, asked["seed"], asked["mode"]
    return draw_own_tasks(*drawn) if asked["tasks"] == "own" else draw_tasks(*drawn, asked["goal_may_equal_start"])


def plan_run(folder, data_dir=None, again: bool = False, **asked) -> dict:
    """Plan with the model of a run, open or by its folder, and add what was reached to its results.json.

    asked: as of eval/planning/kept.py.

    What the weights of a round reached has a file of its own. Planners asked for earlier under the same protocol stay, and are
    computed again only if `again`. -> the results.
    """
    _check(asked)
    run = Run.open(folder)
    check_asked(run, asked)
    folder, names, seed, horizons = run.folder, asked["planners"], asked["seed"], asked["horizons"]
    model, cfg, world = run.model, run.config, run.world
    asked |= {} if run.round is None else {"round": run.round}
    weights = digest(model.state_dict())[:12]
    existing = set() if again else kept_metrics(folder, asked, weights)
    every = [_tasks(run, asked, h) for h in horizons]
    rows = [*(f"success/{name}" for name in names), *baselines(world, seed)]
    left = [h for h in horizons for name in rows if f"plan/{name}/h{h}" not in existing]
    if not left:
        return keep(folder, asked, {}, {}, weights)
    names = [name for name in names if any(f"plan/success/{name}/h{h}" not in existing for h in horizons)]
    run.use_gpu()
    models, distances, metrics, timing = {"trained": model}, {}, {}, {}
    for kind in sorted({weights_of(name) for name in names}):
        if kind == "untrained":
            torch.manual_seed(seed)
            models[kind] = instantiate(cfg.model.module).eval().to(model.device)
        stays = folder / "checkpoints" if kind == "trained" and run.round is None else None
        distances[kind], error, seconds = learned_distance(models[kind], run, data_dir, asked, stays)
        metrics |= {} if error is None else {f"plan/{'reward' if kind == 'trained' else kind}_error": error}
        timing |= {"reward_s": seconds} if kind == "trained" and seconds is not None else {}
    policies = {}
    for name in names:
        kind = weights_of(name)
        policies[name] = make_planner(name, asked.get(name, {}), models[kind], world, distances[kind], seed)

    def keep_row(found: dict, seconds: dict) -> None:
        keep(folder, asked, metrics | found, timing | seconds, weights)

    with Steps("planning", sum(left)) as progress:
        for tasks in every:
            reached(world, tasks, policies, seed, existing, progress, keep_row)
    return read_plans(folder, asked)


def caption(results: dict) -> str:
    """The protocol in one line."""
    p = results["plan"]
    goals = "goals may equal the start" if p["goal_may_equal_start"] else "goals that the start solves are drawn anew"
    made = "as made the goal"
    if p.get("tasks") == "own":
        goals, made = "goals of the task", "as the column says"
    of_round = f", round {p['round']}" if "round" in p else ""
    error = results["metrics"].get("plan/reward_error")
    held_out = "" if error is None else f", held-out error {error:.3f}"
    own = "".join(f"; {name} of {_listed(p[name])}" for name in p["planners"] if _listed(p.get(name, {})))
    return (
        f"success, percent, after exactly as many actions {made}; {results['model']} + {results['loss']} on "
        f"{results['env']} ({p['mode']}), seed {results['seed']}{of_round}; {p['episodes']} fresh episodes, {goals}; reward "
        f"{p['reward']}{held_out}{own}"
    )


def _listed(settings: dict) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items() if not isinstance(value, bool))


def print_plans(results: dict, planners: dict[str, str], text: str) -> None:
    """The table on the terminal.  planners: name -> how its row is called."""
    m, horizons = results["metrics"], results["plan"]["horizons"]
    lines = {f"success/{name}": label for name, label in planners.items()} | BASELINES
    rows = []
    for kind, more in (("", ""), ("grade/", ", how much of the goal is filled")):
        keys = {label + more: [f"plan/{kind}{name}/h{h}" for h in horizons] for name, label in lines.items()}
        rows += [[label, *(f"{m[key]:.1f}" for key in of_row)] for label, of_row in keys.items() if set(of_row) <= m.keys()]
    print_table(["", *(f"{h} step{'s' if h > 1 else ''}" for h in horizons)], rows, text)


def run(cfg) -> None:
    """The command."""
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/plan.py run=runs/<name>")
    composed = OmegaConf.to_container(cfg)
    modes = composed["mode"] if isinstance(composed["mode"], list) else [composed["mode"]]
    kept = composed["seed"] == KEPT_TASKS
    if kept and cfg.ledger is None:
        raise Problem(f"the goals of seed={KEPT_TASKS} are asked under one setting of a row, as split '{FINAL}', which a "
                      f"ledger keeps; name it: ledger=results/ledger, or set another seed=")  # fmt: skip
    if cfg.ledger is not None:
        check_writable(Path(cfg.ledger), "ledger")
    _check(asked_of(composed))
    rounds = composed["round"] if isinstance(composed["round"], list) else [composed["round"]]
    for folder, number in product(folders_of(composed["run"]), rounds):  # all of them, before the first takes its minutes
        opened = Run.open(folder, round=number)
        check_asked(opened, asked_of(composed))
        for mode in modes:
            opened.world.reset(1, Stream.TASKS.rng(0), mode)
    for folder in folders_of(composed["run"]):
        for number in rounds:
            opened = Run.open(folder, round=number)
            if kept:
                open_final(opened, cfg.ledger)
            for mode in modes:
                results = plan_run(opened, composed["data_dir"], cfg.again, **{**asked_of(composed), "mode": mode})
                print_plans(results, labels(), caption(results))
        if cfg.ledger is not None:
            print(enter(folder, cfg.ledger))
