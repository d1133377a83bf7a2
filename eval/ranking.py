"""H@1 and MRR: is the prediction nearest to what really happened? (Reference section 8; the rules of our protocol.)"""

import numpy as np
import torch

from envs.problem import Diverged

RULES = ("grouped", "reference")


def _as_double(x) -> torch.Tensor:
    return torch.as_tensor(np.array(x, order="C") if not isinstance(x, torch.Tensor) else x).detach().flatten(1).double()


def ranks(predicted, target, rule: str = "grouped", groups=None) -> np.ndarray:
    """The rank of every true outcome, 0 = best.  predicted (N, D), or (1, D) as the answer to all, target (N, D) -> (N,) int64.

    grouped: each prediction is the query; the candidates are the distinct true outcomes, where `groups` (N,) names
    identical ones (none given: all distinct); ties count against us, rank = #closer + #equally close others.
    reference: each target is the query among all N predictions; ties win. For parity with the authors' code only: a
    constant predictor is perfect under it.
    Distances are exact to 1e-9 of the vectors' squared norm, below which two candidates are tied. Memory is
    proportional to N, never (N, N).  Raises ValueError on shapes that do not match, NaN, or an unknown rule.
    """
    predicted, target = _as_double(predicted), _as_double(target)
    alone = rule == "grouped" and len(predicted) == 1
    if predicted.shape[alone:] != target.shape[alone:]:
        raise ValueError(f"predicted {tuple(predicted.shape)} and target {tuple(target.shape)} differ in shape")
    if rule not in RULES:
        raise ValueError(f"no ranking rule '{rule}'; known: {', '.join(RULES)}")
    if not (predicted.isfinite().all() and target.isfinite().all()):
        raise Diverged("predictions or targets hold NaN or infinity; a model that diverged cannot be ranked")
    count = len(target)
    if count == 0:
        return np.zeros(0, np.int64)
    if rule == "reference":
        return _count(target, predicted, torch.arange(count), ties_win=True)
    if groups is None:
        candidates, own = target, torch.arange(count)
    else:
        _, first, inverse = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
        candidates, own = target[torch.from_numpy(first)], torch.from_numpy(inverse.reshape(-1))
    return _count_alone(predicted[0], candidates, own) if alone else _count(predicted, candidates, own, ties_win=False)


SLACK = 1e-9  # of squared norms, below which two squared distances are equal
ROUNDING = 2e-7  # by how much single precision may have moved a vector, as a share of its norm, twice


def centred(query: torch.Tensor, candidates: torch.Tensor, over: int | tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    """Both less the mean of the candidates, which changes no distance, and the slack within which squared distances are tied.

    query, candidates (..., D), that broadcast; over: the axes of the candidates of one query, of length 1 in the slack (...).
    Without it, what all candidates share (an episode's look, say) would hide by how much they differ.
    """
    center, raw = candidates.mean(over, keepdim=True), candidates.pow(2).sum(-1).amax(over, keepdim=True)
    query, candidates = query - center, candidates - center
    far = query.pow(2).sum(-1) + candidates.pow(2).sum(-1).amax(over, keepdim=True)
    return query, candidates, SLACK * far + ROUNDING * (raw * far).sqrt()


def _count_alone(query, candidates, own) -> np.ndarray:
    """As `_count` where the query is the same for all, ties against us: its distances are sorted once."""
    center = candidates.mean(0)
    query, candidates = query - center, candidates - center
    norm = candidates.pow(2).sum(1)
    distance = norm - 2 * candidates @ query
    slack = SLACK * (query.pow(2).sum() + norm.max())
    return (torch.searchsorted(distance.sort().values, distance[own] + slack, right=True) - 1).numpy()


def _count(query, candidates, own, ties_win: bool) -> np.ndarray:
    """For every query, how many candidates come before its own one."""
    center = candidates.mean(0)  # distances do not change; rounding errors shrink
    query, candidates = query - center, candidates - center
    norm = candidates.pow(2).sum(1)
    result = torch.empty(len(query), dtype=torch.long)
    block = max(1, 4_000_000 // len(candidates))
    for start in range(0, len(query), block):
        part = slice(start, start + block)
        q, own_part = query[part], own[part]
        # |q|^2 is the same for all candidates of a query: it takes no part in the comparison.
        distance = torch.addmm(norm[None], q, candidates.T, alpha=-2)
        true = distance.gather(1, own_part[:, None])
        slack = SLACK * (q.pow(2).sum(1, keepdim=True) + norm.max())
        if ties_win:
            result[part] = (distance < true - slack).sum(1)
        else:
            result[part] = (distance <= true + slack).sum(1) - 1  # less the true one itself
    return result.numpy()


def hits_at_k(ranks, k: int = 1) -> float:
    """Share of ranks below k, in percent."""
    ranks = np.asarray(ranks)
    return float(100 * (ranks < k).mean()) if len(ranks) else float("nan")


def mrr(ranks) -> float:
    """Mean of 1 / (rank + 1), in percent."""
    ranks = np.asarray(ranks, np.float64)
    return float(100 * (1 / (ranks + 1)).mean()) if len(ranks) else float("nan")
