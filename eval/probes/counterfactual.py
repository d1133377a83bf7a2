"""Counterfactual ranking: one state under many actions, is the true outcome of each nearest to what was predicted for it?"""

import numpy as np

from envs.episodes import EpisodeFile
from envs.protocols import Simulator
from envs.streams import Stream
from eval.probes.kept import kept
from eval.probes.probe import Row, bounds, probe
from eval.ranking import hits_at_k, mrr
from eval.rollouts import Outcomes, counterfactual_outcomes, ranks_among
from eval.runs.answers import Answers

CF = "test/cf_hits@1/"
CHANGED = ("nothing", "one", "several")  # objects that an action changes


@probe(needs=(Simulator,), rows=(
    Row(CF, "counterfactual H@1", short="counterfactual H@1", horizons=("first",)),
    Row("floor/copy/cf_hits@1/", "copy the start", "floor", CF),
    Row(f"{CF}mean/", "what if: counterfactual H@1, mean over what actions change", horizons=()),
    *bounds(f"{CF}mean/", ("floor/copy/cf_hits@1/mean/", "copy the start", "floor"),
            ("floor/alone/cf_hits@1/mean/", "one outcome of all actions", "floor")),
    *(Row(f"{CF}{name}/", f"counterfactual H@1 of actions that change {name}", horizons=()) for name in CHANGED),
    Row("test/cf_hits@1/{event}/", "counterfactual H@1 where {event}", horizons=()),
    Row("test/cf_mrr/", "counterfactual MRR", horizons=()),
))  # fmt: skip
def counterfactual(run, data) -> dict[str, float]:
    """H@1 and MRR of the model and of "nothing happens", over all candidate actions of the chosen states, percent.

    By event: over states whose recorded actions lead to it. By how many objects the replaced action changes at its own step,
    and the mean over these classes, so that the frequent ones do not decide; at one step the start is right where nothing
    changes. Where chance is the same for all actions, a later one may draw everything anew: then one outcome is left, and any
    answer is right.
    """
    metrics, chosen = {}, data.chosen
    if not len(chosen):
        return metrics
    data.protocol["counterfactual_states"] = len(chosen)
    for h in data.horizons:
        ranked = ranks_among(
            run.model,
            run.world,
            data.obs[chosen, 0],
            asked_outcomes(run.world, data.file, data.state[chosen, 0], data.action[chosen], h),
        )
        data.protocol["counterfactual_actions"] = ranked.model.shape[1]
        if ranked.alone.any():
            missed = np.broadcast_to(~ranked.alone[:, None], ranked.model.shape)
            metrics |= by_change("floor/alone/cf_hits@1", h, missed.astype(int), ranked.changed)
        for name, result in (("test", ranked.model), ("floor/copy", ranked.copy)):
            metrics |= {f"{name}/cf_hits@1/h{h}": hits_at_k(result.ravel()), f"{name}/cf_mrr/h{h}": mrr(result.ravel())}
            metrics |= by_change(f"{name}/cf_hits@1", h, result, ranked.changed)
            data.keep_answers(f"{name}/cf_hits@1/h{h}", Answers.of(result < 1), chosen)
            if ranked.changed is not None:
                kinds = ranked.changed.clip(max=2)
                data.keep_answers(f"{name}/cf_hits@1/mean/h{h}", Answers.of(result < 1, kinds, len(CHANGED)), chosen)
                data.keep_answers(f"{name}/cf_hits@1/several/h{h}", Answers.of(result < 1, (kinds < 2).astype(int)), chosen)
            for event, seen in data.events(h).items():
                metrics[f"{name}/cf_hits@1/{event}/h{h}"] = hits_at_k(result[np.flatnonzero(seen[chosen])].ravel())
        data.say(f"counterfactuals of {h} step{'s' if h > 1 else ''}")
    if 1 in data.horizons:
        metrics |= {"test/cf_hits@1": metrics["test/cf_hits@1/h1"], "test/cf_mrr": metrics["test/cf_mrr/h1"]}
    return metrics


def asked_outcomes(world: Simulator, file: EpisodeFile, state: np.ndarray, action: np.ndarray, horizon: int) -> Outcomes:
    """What every candidate action of some states of a file leads to.

    state (M, ...), action (M, T, ...): what was done from there.
    """

    def make() -> dict[str, np.ndarray]:
        found = counterfactual_outcomes(world, state, action, horizon, Stream.COUNTERFACTUAL.rng(horizon))
        arrays = found._asdict() | {"states": world.pack(found.states)}
        return {key: array for key, array in arrays.items() if array is not None}

    found = kept(file, "counterfactual", {"state": state, "action": action}, {"horizon": horizon}, make)
    return Outcomes(found["sequences"], world.unpack(found["states"]), found["outcome"], found.get("changed"))


def class_shares(right: np.ndarray, changed: np.ndarray) -> dict[str, float]:
    """Percent of answers that are right, of each class of actions that is there, and of all by the mean of classes, "mean".

    right: bool; changed: how many objects an action changes; of one shape.
    """
    classes = {kind: changed.clip(max=2) == number for number, kind in enumerate(CHANGED)}
    shares = {kind: 100 * float(right[of].mean()) for kind, of in classes.items() if of.any()}
    return shares | {"mean": float(np.mean(list(shares.values())))}


def by_change(name: str, horizon: int, ranks: np.ndarray, changed: np.ndarray | None) -> dict[str, float]:
    """H@1 of each class of actions that is there, and their mean; nothing in a world without factors."""
    if changed is None:
        return {}
    return {f"{name}/{kind}/h{horizon}": share for kind, share in class_shares(ranks < 1, changed).items()}
