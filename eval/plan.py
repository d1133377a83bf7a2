"""Does a model reach goals? A distance predictor on its frozen encoder, planners of several kinds, floors and bounds.

    python eval/plan.py run=runs/edge-infonce-physics5-quick-s0                          greedy, closed loop
    python eval/plan.py run=runs/<name> planners=[model_open,simulator,beam,untrained]   the dear ones too
    python eval/plan.py run=runs/<name> reward=flat reach=10 ahead=true planners=[model_open,simulator]   the published way
    python eval/plan.py run=runs/<name> planners=[beam] beam.width=50

Goals lie exactly T random actions away and differ from the start; after exactly T actions every object must be where (or
coloured as) the goal has it. Success, percent. Adds plan/... to the run's results.json; under another protocol than that of
configs/plan.yaml, to plan-<what differs>.json beside it. Every number is kept as soon as it is there: stopped, the same
command goes on, and what is there already is not computed again (again=true computes it).
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("plan", "eval.plan:run", __doc__))  # what stands below is imported for the work alone

import json
import math
import time
from collections.abc import Callable, Collection

import torch
from filelock import FileLock
from hydra.utils import instantiate
from omegaconf import OmegaConf

from envs.collect import collect
from envs.problem import Problem, nearest
from envs.whole_files import write_whole
from eval.ceilings import has_ceiling
from eval.checkpoints import digest
from eval.planning.causes_first import ordered_distance
from eval.planning.goal_distance import HEADS, Pairs, fit_distance, load_distance, save_distance
from eval.planning.latent_search import CausesFirst, LatentSearch, Simulator
from eval.planning.oracles import LowestWrong, Random, Replay, TrueGreedy
from eval.planning.tasks import Policy, Tasks, draw_tasks, reach
from eval.run_files.results import holds_plan
from eval.runs import folders_of, load_run, read_results
from eval.terminal import Steps, print_table
from models.goal_distance import LatentDistance

PLANNERS = {
    "model_closed": "learned model, greedy, true frame every step",
    "model_open": "learned model, greedy, open loop",
    "simulator": "true next frames, no transition",
    "beam": "learned model, beam search, true frame every step",
    "causes_first": "learned model, causes before effects",
    "untrained": "true next frames, untrained encoder",
}
BASELINES = {
    "true/greedy": "for comparison: greedy, true world and distance",
    "true/replay": "for comparison: replay of the actions that made the goal",
    "floor/painter": "floor: paint the lowest wrong number",
    "floor/random": "floor: random actions",
    "floor/noop": "floor: doing nothing",
}


def _distance(model, world, cfg, env, data_dir, asked, kept: Path | None = None):
    """(predictor, held-out error or none, seconds of training or none).  kept: the folder where predictors stay."""
    start = time.monotonic()
    if asked["reward"] == "latent":
        return LatentDistance(), None, None
    name = "-".join(str(asked[key]) for key in ("reward", "reach", "ahead", "reward_steps", "reward_learning_rate", "seed"))
    path = None if kept is None else kept / f"distance-{name}.pt"
    if path is not None and path.exists():
        return *load_distance(path, model), None
    pairs = [
        Pairs(model, world, collect(env, world, split, data_dir or cfg.data_dir), asked["reach"], asked["ahead"])
        for split in ("train", "valid")
    ]
    settings = asked["reward_steps"], asked["reward_learning_rate"], asked["seed"]
    head, error = fit_distance(asked["reward"], *pairs, *settings, quiet=False)
    if not math.isfinite(error):
        raise Problem(f"the distance predictor diverged (held-out error {error}); lower reward_learning_rate=")
    if path is not None:
        save_distance(path, asked["reward"], head, error, model)
    return head, error, time.monotonic() - start


def _policies(names, model, world, distance, ordered, blank, asked) -> dict:
    """Planner -> policy.  ordered (the causes-first distance), blank (untrained model, world, its distance): where asked for."""
    seed = asked["seed"]
    made = {
        "model_closed": lambda: LatentSearch(model, world, distance),
        "model_open": lambda: LatentSearch(model, world, distance, closed=False),
        "simulator": lambda: Simulator(model, world, distance, seed),
        "beam": lambda: LatentSearch(model, world, distance, width=asked["beam"]["width"], depth=asked["beam"]["depth"]),
        "causes_first": lambda: CausesFirst(model, world, distance, ordered),
        "untrained": lambda: Simulator(*blank, seed),
    }
    return {name: made[name]() for name in names}


def _rows(world, policies: dict[str, Policy], seed: int) -> dict[str, Policy]:
    """What is played on tasks, by the name of its metric: policies, bounds and floors."""
    every = {f"success/{name}": policy for name, policy in policies.items()}
    every |= {"true/greedy": TrueGreedy(world, seed), "floor/random": Random(world, seed)}
    if has_ceiling(world):  # elsewhere it never fails
        every["true/replay"] = Replay()
    if hasattr(world, "paint"):
        every["floor/painter"] = LowestWrong(world)
    return every


def reached(
    world, tasks: Tasks, policies: dict[str, Policy], seed: int, there: Collection[str] = (), progress: Steps | None = None,
    keep: Callable[[dict, dict], None] | None = None,
) -> tuple[dict, dict]:  # fmt: skip
    """Success of policies, bounds and floors on tasks of one horizon, percent, and the seconds they took.

    there: metrics that are not asked for again.  keep: called with the numbers of every row when they are there.
    """
    h = tasks.horizon
    metrics, timing = {f"plan/floor/noop/h{h}": 100 * (world.distance(tasks.start, tasks.goal) == 0).mean()}, {}
    progress = progress or Steps("planning", 0, quiet=True)
    for name, policy in _rows(world, policies, seed).items():
        key, start = f"plan/{name}/h{h}", time.monotonic()
        if key in there:
            continue
        metrics[key] = 100 * reach(world, tasks, policy, seed, progress.step).mean()
        timing[f"{name.split('/')[1]}_s/h{h}"] = time.monotonic() - start
        progress.part(f"{name.split('/')[1]}, {h} step{'s' if h > 1 else ''}, {metrics[key]:.1f} %")
        if keep is not None:
            keep(metrics, timing)
    return metrics, timing


def plan_run(folder, data_dir=None, again: bool = False, **asked) -> dict:
    """Plan with a run folder's model and add what was reached to its results.json; `asked` as in configs/plan.yaml.

    Planners asked for earlier under the same protocol stay, and are computed again only if `again`. -> the results.
    """
    for key in [key for key, value in asked.items() if value is None]:
        raise Problem(f"{key} must have a value, got null; leave {key}= out to take the usual one")
    folder, names = Path(folder), asked["planners"]
    if not isinstance(names, list):
        raise Problem(f"planners must be a list, for example [model_closed], got {names!r}")
    for name in names:
        if name not in PLANNERS:
            raise Problem(f"there is no planner '{name}': {nearest(name, PLANNERS)}")
    if asked["reward"] not in (*HEADS, "latent"):
        raise Problem(f"there is no reward '{asked['reward']}': {nearest(asked['reward'], (*HEADS, 'latent'))}")
    model, cfg = load_run(folder)
    path = folder / "results.json"
    if not path.exists():
        raise Problem(f"{folder} has no results.json to add to; finish the run with: python train/fit.py resume={folder}")
    world, env = instantiate(cfg.env.world), OmegaConf.to_container(cfg.env)
    mark = digest(model.state_dict())[:12]
    there = set() if again else _there(folder, asked, mark)
    every = [
        draw_tasks(world, asked["episodes"], h, asked["seed"], asked["mode"], asked["goal_may_equal_start"])
        for h in asked["horizons"]
    ]
    rows = list(_rows(world, dict.fromkeys(names), asked["seed"]))
    left = [h for h in asked["horizons"] for name in rows if f"plan/{name}/h{h}" not in there]
    if not left:
        return _keep(folder, asked, {}, {}, mark)
    names = [name for name in names if any(f"plan/success/{name}/h{h}" not in there for h in asked["horizons"])]
    if torch.cuda.is_available():
        model.cuda()
    metrics, timing = {}, {}
    ordered = ordered_distance(model, world, asked["seed"]) if "causes_first" in names else None  # refused before it takes long
    distance, blank = None, None
    if names:
        distance, error, seconds = _distance(model, world, cfg, env, data_dir, asked, folder / "checkpoints")
        metrics |= {} if error is None else {"plan/reward_error": error}
        timing |= {} if seconds is None else {"reward_s": seconds}
    if "untrained" in names:
        torch.manual_seed(asked["seed"])
        fresh = instantiate(cfg.model.module).eval().to(model.device)
        head, error, _ = _distance(fresh, world, cfg, env, data_dir, asked)
        metrics |= {} if error is None else {"plan/untrained_error": error}
        blank = fresh, world, head

    def keep(found: dict, seconds: dict) -> None:
        _keep(folder, asked, metrics | found, timing | seconds, mark)

    with Steps("planning", sum(left)) as progress:
        for h, tasks in zip(asked["horizons"], every):
            policies = _policies(names, model, world, distance, ordered, blank, asked)
            reached(world, tasks, policies, asked["seed"], there, progress, keep)
    return read_plans(folder, asked)


def usual_protocol() -> dict:
    """What configs/plan.yaml asks of every run, as `plan_run` takes it."""
    usual = OmegaConf.to_container(OmegaConf.load(Path(__file__).parents[1] / "configs" / "plan.yaml"))
    return {key: value for key, value in usual.items() if key not in ("defaults", "hydra", "run", "data_dir", "again")}


def _file_name(asked: dict) -> str:
    """results.json for the usual protocol; another gets a name of its own and never takes that place."""
    usual = usual_protocol()
    parts = [f"{k}{asked[k]}" for k in asked if k in usual and k != "planners" and asked[k] != usual[k]]
    parts = ["".join(c if c.isalnum() or c in ".-_" else "" for c in part) for part in parts]
    return f"plan-{'-'.join(parts)}.json" if parts else "results.json"


def _plans_of_before(path: Path) -> dict | None:
    """What another protocol's file holds; none where it is not there or damaged, then it is made anew."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and holds_plan(found) else None


def read_plans(folder: Path, asked: dict) -> dict:
    """What the file of a protocol holds; {} where it is not there or damaged."""
    path = folder / _file_name(asked)
    return read_results(folder) if path.name == "results.json" else _plans_of_before(path) or {}


def _there(folder: Path, asked: dict, mark: str) -> set[str]:
    """Metrics that were reached with these weights under this protocol."""
    before = read_plans(folder, asked)
    return set(before["metrics"]) if before.get("plan", {}).get("weights") == mark else set()


def _keep(folder: Path, asked: dict, metrics: dict, timing: dict, mark: str | None = None) -> dict:
    """Add what was reached to the file of its protocol, read again now: planning takes minutes.

    mark: of the weights; what other weights reached goes.
    """
    with FileLock(folder / ".results.lock"):
        results, path = read_results(folder), folder / _file_name(asked)
        if path.name != "results.json":
            named = ("run", "model", "loss", "env", "seed", "config_hash", "versions")
            results = _plans_of_before(path) or {key: results[key] for key in named if key in results} | {"metrics": {}}
        plan = results.get("plan", {"planners": [], "timing": {}})
        if mark is not None and plan.get("weights", mark) != mark:
            plan = {"planners": [], "timing": {}}
            results["metrics"] = {k: v for k, v in results["metrics"].items() if not k.startswith("plan/")}
        kept = results["metrics"] | {k: round(float(v), 4) for k, v in metrics.items()}
        kept |= {k.replace("/model_closed", ""): v for k, v in kept.items() if k.startswith("plan/success/model_closed/")}
        planners = [name for name in PLANNERS if any(k.startswith(f"plan/success/{name}/") for k in kept)]
        timing = plan["timing"] | {k: round(v, 2) for k, v in timing.items()}
        weights = {} if mark is None else {"weights": mark}
        results |= {"metrics": kept, "plan": {**asked, "planners": planners, "timing": timing, **weights}}
        write_whole(path, json.dumps(results, indent=2))
    return results


def caption(results: dict) -> str:
    """The protocol in one line."""
    p = results["plan"]
    goals = "goals may equal the start" if p["goal_may_equal_start"] else "goals differ from the start"
    error = results["metrics"].get("plan/reward_error")
    told = "" if error is None else f", held-out error {error:.3f}"
    return (
        f"success, percent, after exactly as many actions as made the goal; {results['model']} + {results['loss']} on "
        f"{results['env']} ({p['mode']}), seed {results['seed']}; {p['episodes']} fresh episodes, {goals}; reward "
        f"{p['reward']}{told}; beam of {p['beam']['width']}, depth {p['beam']['depth']}"
    )


def print_plans(results: dict, planners: dict[str, str], text: str) -> None:
    """The table on the terminal.  planners: name -> how its row is called."""
    m, horizons = results["metrics"], results["plan"]["horizons"]
    lines = {f"success/{name}": label for name, label in planners.items()} | BASELINES
    keys = {label: [f"plan/{name}/h{h}" for h in horizons] for name, label in lines.items()}
    rows = [[label, *(f"{m[key]:.1f}" for key in of_row)] for label, of_row in keys.items() if set(of_row) <= m.keys()]
    print_table(["", *(f"{h} step{'s' if h > 1 else ''}" for h in horizons)], rows, text)


def run(cfg) -> None:
    """The command."""
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/plan.py run=runs/<name>")
    asked = OmegaConf.to_container(cfg)
    named, data_dir, modes = asked.pop("run"), asked.pop("data_dir"), asked.pop("mode")
    del asked["again"]
    for folder in folders_of(named):
        for mode in modes if isinstance(modes, list) else [modes]:
            results = plan_run(folder, data_dir, cfg.again, **asked, mode=mode)
            print_plans(results, PLANNERS, caption(results))
