"""Direct edges by leaving one out: does a child's new code need this parent, once all its other ancestors are known?

Ancestors are all objects under whose commands the child's code is seen to change: what a model predicts may miss a path
that hardly shows in its expectation, and with it an edge. On transitions whose action is on an ancestor of v, small
networks predict v's new code from the *new* codes of its ancestors, with one of them left out in turn. An edge is what
held-out likelihood cannot do without, or what alone can carry an effect that is seen. Ancestors alone: conditioning on a
descendant would create edges that are not there.
New codes, since an effect is drawn from what its parents have become (recipes section 4).
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from envs.graphs import ancestors as closure
from models.layers.stacked import StackedLinear

HIDDEN = 64
STEPS, BATCH = 600, 1024
SURE = 1.0  # nats, above every cut


def changes(before: np.ndarray, after: np.ndarray, acted: np.ndarray) -> np.ndarray:
    """[v, p]: share of the commands on p after which v has another code.  codes (M, N), acted (M,)  ->  (N, N)."""
    count = before.shape[1]
    on = np.eye(count)[acted]
    return (before != after).T.astype(float) @ on / on.sum(0).clip(1)


def leave_one_out(codes: np.ndarray, acted: np.ndarray, ancestors: np.ndarray, num_codes: int) -> np.ndarray:
    """Nats of held-out likelihood that child v loses without parent p, (N, N) [v, p]; 0 where p is no ancestor of v.

    codes (M, N) int, after each of M transitions; acted (M,) the object acted on; ancestors (N, N) bool [v, a]. Fitted on
    the first four fifths of the transitions, measured on the rest.
    """
    count = ancestors.shape[0]
    steps = min(STEPS, max(50, len(codes) // 60))  # few transitions are soon learned by heart
    nets = [(v, left) for v in range(count) if ancestors[v].any() for left in (-1, *np.flatnonzero(ancestors[v]))]
    if not nets:
        return np.zeros((count, count))
    children = torch.tensor([v for v, _ in nets])
    sees = torch.from_numpy(np.array([[ancestors[v, p] and p != left for p in range(count)] for v, left in nets]))
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        model = nn.Sequential(
            StackedLinear(len(nets), count * num_codes, HIDDEN), nn.ReLU(),
            StackedLinear(len(nets), HIDDEN, HIDDEN), nn.ReLU(),
            StackedLinear(len(nets), HIDDEN, num_codes),
        )  # fmt: skip
        optimizer = torch.optim.Adam(model.parameters(), 3e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        codes, relevant = torch.from_numpy(codes).long(), torch.from_numpy(ancestors)[:, torch.from_numpy(acted)].T
        border = len(codes) * 4 // 5

        def losses(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            """-> (nats (S, B), whether they count (S, B))."""
            seen = F.one_hot(codes[rows], num_codes).float() * sees[:, None, :, None]  # (S, B, N, C)
            logits = model(seen.flatten(2))
            target = codes[rows][:, children].T
            nats = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none").view(target.shape)
            return nats, relevant[rows][:, children].T

        for _ in range(steps):
            nats, counts = losses(torch.randint(border, (BATCH,)))
            optimizer.zero_grad()
            (nats * counts).sum(1).div(counts.sum(1).clamp(min=1)).sum().backward()
            optimizer.step()
            schedule.step()
    total, seen = torch.zeros(len(nets)), torch.zeros(len(nets))
    with torch.no_grad():
        for rows in torch.arange(border, len(codes)).split(4096):
            nats, counts = losses(rows)
            total += (nats * counts).sum(1)
            seen += counts.sum(1)
    mean = (total / seen.clamp(min=1)).tolist()
    whole = {v: nats for (v, left), nats in zip(nets, mean) if left == -1}
    lost = np.zeros((count, count))
    for (v, left), nats in zip(nets, mean):
        if left != -1:
            lost[v, left] = nats - whole[v]
    return lost


def direct_edges(codes: np.ndarray, acted: np.ndarray, ancestors: np.ndarray, num_codes: int) -> np.ndarray:
    """How sure each direct edge is, (N, N) [child, parent]: `leave_one_out`, and SURE at least where an ancestor reaches the
    child by no way over another of the child's ancestors. Then only an edge can carry what is seen to follow its commands,
    however little the child's new code depends on its own.
    """
    over = ancestors.astype(int) @ ancestors.astype(int) > 0
    return np.maximum(leave_one_out(codes, acted, ancestors, num_codes), np.where(ancestors & ~over, SURE, 0.0))


def strengths(model, colors: np.ndarray, acted: np.ndarray, rng: np.random.Generator, samples: int = 4000) -> np.ndarray:
    """Nats by which the *true* tables need each edge, (N, N) [child, parent]: how vacuous an edge is.

    For a child that is redrawn: the mean KL divergence from its table to its table averaged over what the parent might
    have been, given all other ancestors of the child. What it might have been: any colour alike where it was acted on, or
    is the first variable; its own table where it was redrawn; what it is elsewhere, where it was left alone; all times the
    tables of its other children among the ancestors of the child.
    model: a StructuralCausalModel.  colors (M, N) after each transition, acted (M,).
    """
    ancestors, found = closure(model.parents), np.zeros(model.parents.shape)
    for v, p in np.argwhere(model.parents):
        rows = np.flatnonzero(ancestors[v][acted])
        rows = rng.permutation(rows)[:samples]
        if not len(rows):
            continue
        here, choices = colors[rows].astype(np.int64), model.num_colors
        tables, weights = [], []
        redrawn = ancestors[p][acted[rows]]
        alone = np.bincount(here[~redrawn & (acted[rows] != p), p], minlength=choices) + 1.0
        if p == model.order[0]:
            alone[:] = 1.0
        alone /= alone.sum()
        between = [c for c in np.flatnonzero(model.parents[:, p]) if ancestors[v, c]]
        for color in range(choices):
            other = here.copy()
            other[:, p] = color
            tables.append(model.probabilities(v, other))
            weight = np.where(redrawn, model.probabilities(p, other)[:, color], alone[color])
            weight = np.where(acted[rows] == p, 1.0, weight)
            for c in between:
                likelihood = np.take_along_axis(model.probabilities(c, other), other[:, [c]], 1)[:, 0]
                weight = weight * np.where(acted[rows] == c, 1.0, likelihood)
            weights.append(weight)
        tables, weights = np.stack(tables, 1), np.stack(weights, 1)
        weights /= weights.sum(1, keepdims=True).clip(1e-30)
        mixed = (tables * weights[..., None]).sum(1)
        true = np.take_along_axis(tables, here[:, [p]][:, :, None], 1)[:, 0]
        found[v, p] = (true * np.log(true.clip(1e-30) / mixed.clip(1e-30))).sum(1).mean()
    return found
