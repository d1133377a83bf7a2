"""Which slot holds which object, and how alone: linear reads of every object off every slot, slots matched to objects.

Eastwood and Williams 2018 (disentanglement, completeness) with slots in place of single numbers; the two sides of the R2 table
are those of BISCUIT (Lippe et al. 2023). Such scores suppose that latents differ from factors by a linear map: a slot that
holds its object in another form scores less here than under `readout`.
"""

import numpy as np
import torch
from torch import Tensor

from envs.protocols import Factors
from eval.probes.probe import Row, no_forecast, probe
from eval.probes.readout import frames_of

RIDGE = 1e-3  # of the mean variance of a slot's numbers
NAME = "identifiability"


def reads(latent: Tensor, target: Tensor, fitted: int) -> tuple[Tensor, Tensor]:
    """How well every target is read off every slot, on rows that were not fitted.  latent (M, K, D), target (M, N, S)
    ->  R2 (K, N), and the mean correlation of what is read with what is true (K, N).

    The first rows, `fitted` of them, are fitted by ridge regression. R2 is of all numbers of a target together, and at least 0;
    0 of a target that never changes.
    """
    fit, held = slice(None, fitted), slice(fitted, None)
    x, y = (part.double() - part[fit].double().mean(0) for part in (latent, target))
    found = torch.zeros(2, x.shape[1], y.shape[1], dtype=torch.float64)
    wanted = y.flatten(1)
    for k in range(x.shape[1]):
        own = x[fit, k]
        square = own.T @ own
        square += RIDGE * square.diagonal().mean().clamp(min=1e-12) * torch.eye(len(square))
        told = (x[held, k] @ torch.linalg.solve(square, own.T @ wanted[fit])).view(-1, *y.shape[1:])
        true = y[held]
        error, spread = (told - true).square().sum((0, 2)), (true - true.mean(0)).square().sum((0, 2))
        a, b = told - told.mean(0), true - true.mean(0)
        together = (a * b).sum(0) / (a.square().sum(0) * b.square().sum(0)).sqrt().clamp(min=1e-12)
        counted = (b.square().sum(0) > 0).double()  # a value that never occurs has no correlation
        found[0, k] = torch.where(spread > 0, 1 - error / spread.clamp(min=1e-12), 0.0).clamp(min=0)
        found[1, k] = (together * counted).sum(-1) / counted.sum(-1).clamp(min=1)
    return found[0], found[1]


def matched(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slots and objects of the best matching, (min(K, N),) each."""
    from scipy.optimize import linear_sum_assignment  # takes a second

    return linear_sum_assignment(-score)


def alone(score: np.ndarray) -> float:
    """1 where every row has one entry, 0 where all entries of rows are equal; rows weigh as much as they hold."""
    weight = score.sum(1)
    if score.shape[1] < 2 or not weight.sum():
        return 0.0
    share = score / np.maximum(weight, 1e-12)[:, None]
    entropy = -(share * np.log(np.maximum(share, 1e-12))).sum(1) / np.log(score.shape[1])
    return float((weight * (1 - entropy)).sum() / weight.sum())


@probe(needs=(Factors,), unless=no_forecast, by_name=True, rows=(
    Row(f"{NAME}/whole", "R2 of objects, read off the whole latent", horizons=()),
    Row(f"{NAME}/own", "R2 of objects, read off their own slots", horizons=()),
    Row(f"{NAME}/others", "R2 of objects, read off other slots", higher_is_better=False, horizons=()),
    Row(f"{NAME}/mcc", "mean correlation of what own slots tell", horizons=()),
    Row(f"{NAME}/disentanglement", "disentanglement: a slot holds one object", horizons=()),
    Row(f"{NAME}/completeness", "completeness: an object lies in one slot", horizons=()),
    Row(f"{NAME}/numbered", "objects that lie in the slot of their own number", horizons=()),
))  # fmt: skip
def identifiability(run, data) -> dict[str, float]:
    """Percent. Of latents without slots the whole alone is told. Where an object lies matters to a transition whose slot k
    reads the action of object k (GNN): it learns nothing in another order.
    """
    latent, true, episode = frames_of(run, "valid", data.data_dir)
    sizes = run.world.factor_sizes
    target = torch.cat([torch.from_numpy(true[..., g, None] == np.arange(size)) for g, size in enumerate(sizes)], -1).float()
    # No episode is in both halves: weights and shades stay the same in one, so that to know the episode would be to know them.
    fitted = int(np.searchsorted(episode, episode[len(episode) // 2]))
    whole, _ = reads(latent.flatten(1)[:, None], target, fitted)
    found = {f"{NAME}/whole": 100 * whole.mean().item()}
    if latent.shape[1] == 1:
        return found
    score, correlation = (part.numpy() for part in reads(latent, target, fitted))
    slots, objects = matched(score)
    own = np.zeros(score.shape, bool)
    own[slots, objects] = True
    told = {"own": score[own].mean(), "others": score[~own].mean(), "mcc": correlation[own].mean(),
            "disentanglement": alone(score), "completeness": alone(score.T), "numbered": (slots == objects).mean()}  # fmt: skip
    data.say("identifiability")
    return found | {f"{NAME}/{name}": 100 * float(value) for name, value in told.items()}
