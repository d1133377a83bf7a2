"""Ceilings: what can be scored at most where chance decides, under the very pool and tie rule.

Outcomes are samples, so even the true model is wrong about many of them: 0.5 may be all that can be had. In small worlds
the best guess is known exactly (eval/probes/bayes.py): `bayes/...`. Elsewhere stands what the true model scores when it speaks
in one-hot colours: `one_hot/...`; another geometry of latents may score more, so that it is no ceiling. Counterfactual scores
have none: outcomes of one state share their chance. Beside them stands how often the likeliest outcome is the true one, which
is a comparison. Computed once for a data set and stored beside it.
"""

import json
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock

from envs.frames import frame_ids
from envs.protocols import CausalTables, Goals, Painting
from envs.streams import Stream
from envs.whole_files import write_whole
from eval.planning.oracles import LowestWrong, Random, Replay, TrueGreedy
from eval.planning.tasks import Tasks, run_policy
from eval.probes.bayes import bayes_scores, enumerable, likeliest_is_true
from eval.probes.counterfactual import CF, asked_outcomes, class_shares
from eval.probes.probe import Row, bounds, probe
from eval.probes.ranking_pool import H1, MRR
from eval.probes.same_board import ACCURACY, BOARD, alternatives, no_chance, score_alternatives
from eval.ranking import hits_at_k, mrr, ranks
from eval.runs.results import numbers, read_object

VERSION = 4  # of what is measured
SAMPLES = 128  # rollouts of the true model whose mean stands for its exact expectation
PLANS = 1000  # episodes planned for
LIKELIEST = "bayes/cf_hits@1"
ROWS = (
    *(row for score in (H1, MRR, BOARD, ACCURACY) for row in bounds(
        score, (score.replace("test/", "bayes/"), "exact Bayes", "ceiling"),
        (score.replace("test/", "one_hot/"), "true model, one-hot", "comparison"),
    )),
    *bounds(f"{CF}mean/", (f"{LIKELIEST}/mean/", "exact Bayes, the likeliest outcome", "comparison")),
    Row("ceiling/success/replay/", "success of replaying the actions", "comparison"),
    Row("ceiling/success/greedy/", "success of greedy, true model", "comparison"),
    Row("ceiling/success/painter/", "success of painting the lowest wrong number", "floor"),
    Row("ceiling/success/noop/", "success of doing nothing", "floor"),
    Row("ceiling/success/random/", "success of random actions", "floor"),
)  # fmt: skip


@probe(needs=(Goals, CausalTables), unless=no_chance, rows=ROWS)
def ceiling(run, data) -> dict[str, float]:
    """What can be had of these data at most, percent."""
    return ceilings(run.world, data.file, data.horizons, data.asked, data.counterfactuals)


def ceilings(world, file, horizons: list[int], episodes: int, counterfactuals: int) -> dict[str, float]:
    """The ceilings of a data set, in percent, from `<data file>.ceilings.json` where they stand already."""
    path = Path(f"{file.path}.ceilings.json")
    key = f"version {VERSION}, horizons {','.join(map(str, horizons))}, episodes {episodes}, counterfactuals {counterfactuals}"
    if found := _stored(path).get(key):
        return found
    with FileLock(f"{path}.lock"):  # runs side by side ask of the same data, and for other steps
        known = _stored(path)
        if key not in known:
            known[key] = {name: round(v, 4) for name, v in measure(world, file, horizons, episodes, counterfactuals).items()}
            write_whole(path, json.dumps(known, indent=1))
        return known[key]


def _stored(path: Path) -> dict[str, dict[str, float]]:
    """What a file holds that is whole."""
    return {key: found for key, found in (read_object(path) or {}).items() if found and numbers(found)}


def measure(world, file, horizons, episodes: int, counterfactuals: int) -> dict[str, float]:
    """H@1, MRR and same-board scores that can be had, or those of the true model in one-hot colours; and how often replay,
    greedy planning, painting by number, random actions and doing nothing reach the recorded outcome."""
    action, state = file.windows("action", "state", steps=max(horizons), count=episodes)
    count = len(action)
    chosen = Stream.ASKED.rng().permutation(count)[:counterfactuals]  # the states every run is asked about
    if enumerable(world):
        metrics = {f"bayes/{name}": v for name, v in bayes_scores(world, state, action, horizons, chosen).items()}
        for h in horizons if len(chosen) else ():
            start = state[chosen, 0]
            found = asked_outcomes(world, file, start, action[chosen], h)
            shares = class_shares(likeliest_is_true(world, start, found), found.changed)
            metrics |= {f"{LIKELIEST}/{kind}/h{h}": share for kind, share in shares.items()}
    else:
        metrics = {f"one_hot/{name}": v for name, v in _one_hot(world, state, action, horizons, chosen).items()}
    for h in horizons if len(chosen) else ():
        metrics |= {f"ceiling/success/{name}/h{h}": v for name, v in _plans(world, state, action, h).items()}
    return metrics


def _one_hot(world, state, action, horizons, chosen) -> dict[str, float]:
    """Scores of the true model in one-hot colours, the better of its rolled mode and its mean."""
    mode = _rolled(world, state[:, 0], action, horizons, None)
    mean = _expected(world, state[:, 0], action, horizons, Stream.ROLLOUTS.rng())
    metrics: dict[str, float] = {}

    def better(name: str, *scores: float) -> None:
        metrics[name] = max(scores)

    for h in horizons:
        truth = world.unpack(state[:, h])
        target, groups = _codes(world, truth), frame_ids(world.render(truth))
        found = [ranks(guess[h], target, groups=groups) for guess in (mode, mean)]
        better(f"hits@1/h{h}", *map(hits_at_k, found))
        better(f"mrr/h{h}", *map(mrr, found))
        if not len(chosen):
            continue
        pool = alternatives(world, state[chosen], action[chosen], h)
        codes = _codes(world, pool.boards)
        both = [score_alternatives(torch.from_numpy(guess[h][chosen]), torch.from_numpy(codes), pool) for guess in (mode, mean)]
        better(f"board_hits@1/h{h}", *(score.hits for score in both))
        better(f"accuracy/h{h}", *(score.accuracy for score in both))
    return metrics


def _codes(world, boards) -> np.ndarray:
    """One-hot factors, flat, (B, F) float32: the latents a perfect encoder would have."""
    return world.factors(boards).reshape(len(boards), -1).astype(np.float32)


def _rolled(world, state, action, horizons, rng) -> dict[int, np.ndarray]:
    """Codes at every horizon of one rollout of the true model; without a generator, the likeliest at every step."""
    boards, seen = world.unpack(state), {}
    for t in range(max(horizons)):
        boards, _ = world.step(boards, action[:, t], None if rng is None else world.noise(len(boards), rng))
        if t + 1 in horizons:
            seen[t + 1] = _codes(world, boards)
    return seen


def _expected(world, state, action, horizons, rng, samples: int = SAMPLES) -> dict[int, np.ndarray]:
    """Mean codes over as many rollouts."""
    total: dict[int, np.ndarray] = {}
    for _ in range(samples):
        for h, codes in _rolled(world, state, action, horizons, rng).items():
            total[h] = total.get(h, 0) + codes / samples
    return total


def _plans(world, state, action, horizon: int) -> dict[str, float]:
    """Percent of episodes whose recorded outcome after `horizon` actions is met after as many actions of a policy."""
    state, action = state[:PLANS], action[:PLANS, :horizon]
    tasks = Tasks(world.unpack(state[:, 0]), world.unpack(state[:, horizon]), action)
    nothing = float(100 * world.solved(tasks.start, tasks.goal).mean())
    policies = {"random": Random(world, 0), "replay": Replay(), "greedy": TrueGreedy(world, 0)}
    if isinstance(world, Painting):
        policies["painter"] = LowestWrong(world)
    reached = {name: float(100 * run_policy(world, tasks, policy, 0).mean()) for name, policy in policies.items()}
    return {"noop": nothing, **reached}
