"""What a frozen read-out finds in latents, one protocol for every model: factors of true frames,
exact states of predicted ones.

Scores in latent space depend on the metric of the latents, which every model chooses for itself. Here a linear and a small
read-out learn the factors of all objects from the latents of the same 8192 validation frames; then the model's predictions are
read. A prediction counts where every factor of every object is right.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from envs.episodes.on_disk import OnDisk
from envs.protocols import FACTORS, Factors
from envs.streams import Stream
from eval.probes.counterfactual import CHANGED, asked_outcomes, class_shares
from eval.probes.probe import Row, bounds, no_forecast, probe
from eval.rollouts import branch, encode_frames, values

FRAMES, STEPS, BATCH, HIDDEN = 8192, 600, 1024, 256
RATES = 5e-2, 1e-3  # of the linear part, of the rest
KINDS = ("linear", "mlp")
WHAT_IF = "readout/{}/what_if"


class ReadoutNet(nn.Module):
    """A linear layer, and with `hidden` a perceptron of one hidden layer that begins at nothing and is added to it."""

    def __init__(self, inputs: int, outputs: int, hidden: int = 0) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.more = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs)) if hidden else None
        for part in (self.linear, *([self.more[-1]] if hidden else [])):
            nn.init.zeros_(part.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) if self.more is None else self.linear(x) + self.more(x)


class Readout(NamedTuple):
    """latents (B, K, D) -> values (B, N, G) of all factors: standardised, then a network."""

    mean: Tensor
    spread: Tensor
    net: nn.Module
    sizes: tuple[int, ...]

    @torch.no_grad()
    def __call__(self, latent: Tensor) -> np.ndarray:
        parts = [_logits(self.net((part - self.mean) / self.spread), self.sizes) for part in latent.flatten(1).split(4096)]
        return np.stack([torch.cat(group).argmax(-1).numpy() for group in zip(*parts)], -1)


def _logits(out: Tensor, sizes: tuple[int, ...]) -> list[Tensor]:
    """(B, N * sum of sizes)  ->  of every factor (B, N, values)."""
    return list(out.unflatten(1, (-1, sum(sizes))).split(sizes, -1))


def scale(flat: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and spread of the columns of (M, F); no spread is less than a millionth of that of the whole."""
    return flat.mean(0), flat.std(0).clamp(min=1e-6 * flat.std().clamp(min=1e-12).item())


def learned(inputs: Tensor, outputs: int, hidden: int, steps: int, loss: Callable[[Tensor, Tensor], Tensor]) -> ReadoutNet:
    """A read-out of standardised inputs (M, F), by the same draws, rates and schedule for every model.

    loss: (what the network gives (B, outputs), numbers of their rows (B,))  ->  a scalar.
    """
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        net = ReadoutNet(inputs.shape[1], outputs, hidden)
        parts = [part for part in (net.linear, net.more) if part is not None]
        optimizer = torch.optim.Adam([{"params": part.parameters(), "lr": rate} for part, rate in zip(parts, RATES)])
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        for _ in range(steps):
            rows = torch.randint(len(inputs), (min(BATCH, len(inputs)),))
            error = loss(net(inputs[rows]), rows)
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def fit(latent: Tensor, true: np.ndarray, sizes: tuple[int, ...], kind: str) -> Readout:
    """latent (M, K, D), true (M, N, G).  Few frames are given few steps."""
    flat, target = latent.flatten(1), torch.from_numpy(true).long()
    mean, spread = scale(flat)

    def loss(out: Tensor, rows: Tensor) -> Tensor:
        heads = zip(_logits(out, sizes), target[rows].unbind(-1))
        return sum(F.cross_entropy(one.flatten(0, 1), right.flatten(), ignore_index=-1) for one, right in heads)

    steps = min(STEPS, max(100, len(flat) // 12))
    net = learned((flat - mean) / spread, true.shape[1] * sum(sizes), HIDDEN if kind == "mlp" else 0, steps, loss)
    return Readout(mean, spread, net, sizes)


def exact(read: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Whether all factors (B, N, G) of all objects that are there are right, (B,)."""
    return ((read == true) | (true < 0)).all((1, 2))


class Frames(NamedTuple):
    """Frames spread over a split, in its order: latent (M, K, D), their factors true (M, N, G), and of which episode (M,)."""

    latent: Tensor
    true: np.ndarray
    episode: np.ndarray


def spread_rows(count: int) -> np.ndarray:
    """Numbers of FRAMES rows spread evenly over `count`, or of all."""
    return np.unique(np.linspace(0, count - 1, min(FRAMES, count)).astype(int))


def frames_of(run, split: str, data_dir) -> Frames:
    """FRAMES of a split, or all."""
    file = run.file(split, data_dir)
    shown, stored = OnDisk(file, run.world.shown.column), OnDisk(file, "state")
    rows = spread_rows(len(stored))
    episode = np.searchsorted(file.ep_offset, rows, side="right") - 1
    return Frames(encode_frames(run.model, shown.take(rows)), values(run.world, run.world.unpack(stored.take(rows))), episode)


def _rows() -> tuple[Row, ...]:
    found = []
    for kind in KINDS[::-1]:
        exactly, what_if = f"readout/{kind}/exact/", f"{WHAT_IF.format(kind)}/"
        found += [
            Row(f"readout/{kind}/frames", f"factors read off true frames, {kind}", horizons=()),
            *bounds(f"readout/{kind}/frames", *[("floor/constant/frames", "the usual ones", "floor")] * (kind == "mlp")),
            *(Row(f"readout/{kind}/frames/{name}", f"{name} read off true frames, {kind}", horizons=()) for name in FACTORS),
            Row(exactly, f"exact states read off predictions, {kind}", horizons=()),
            *bounds(exactly, (f"readout/{kind}/eyes/", "read off true outcomes", "comparison"),
                    *[("floor/copy/exact/", "the state that was", "floor")] * (kind == "mlp")),
            Row(f"readout/{kind}/exact/{{event}}/", f"exact states read off predictions, {kind}, where {{event}}", horizons=()),
            Row(what_if, f"exact outcomes of every action, {kind}, mean over what it changes", horizons=()),
            *bounds(what_if, *[("floor/copy/what_if/", "nothing changes", "floor")] * (kind == "mlp")),
            *(Row(f"{what_if}{name}/", f"exact outcomes of actions that change {name}, {kind}", horizons=())
              for name in CHANGED),
            *(Row(f"{what_if}{factor}/", f"every {factor} after every action, {kind}, mean over what it changes", horizons=())
              for factor in FACTORS),
            *(Row(f"{what_if}{factor}/{name}/", f"every {factor} after actions that change {name}, {kind}", horizons=())
              for factor in FACTORS for name in CHANGED),
        ]  # fmt: skip
    return tuple(found)


@probe(needs=(Factors,), unless=no_forecast, rows=_rows(), by_name=True)
def readout(run, data) -> dict[str, float]:
    """Percent, of a linear and a small read-out.

    frames: of factors of the first frames of the split's episodes, which are unseen on any split but `valid`, and of each kind
    of factor; floor: the most frequent values.  exact: of episodes whose predicted state is exact.  eyes: the same read off the
    true outcome, what seeing alone loses.  what_if: of actions of the asked states, where the world leaves nothing to chance;
    mean over actions that change nothing, one object, and several, so that the frequent ones do not decide; of each factor that
    actions change beside it, since a latent that lacks a weight has no whole state, and may still hold every place.
    """
    latent, true, _ = frames_of(run, "valid", data.data_dir)
    world = run.world
    before = values(world, world.unpack(data.state[:, 0]))
    metrics = _shares("floor/constant/frames", _usual(true), before, world.factor_names)
    drawn = world.noise(1, Stream.COUNTERFACTUAL.rng()) is not None
    asked = {} if drawn or not len(data.chosen) else {h: _what_if(run, data, h) for h in data.horizons}
    metrics |= {f"floor/copy/what_if/h{h}": class_shares(changed == 0, changed)["mean"] for h, (*_, changed) in asked.items()}
    after = {h: values(world, world.unpack(data.state[:, h])) for h in data.horizons}
    metrics |= {f"floor/copy/exact/h{h}": 100 * exact(before, outcome).mean() for h, outcome in after.items()}
    for kind in KINDS:
        reads = fit(latent, true, world.factor_sizes, kind)
        metrics |= _shares(f"readout/{kind}/frames", reads(data.start), before, world.factor_names)
        for h in data.horizons:
            right = exact(reads(data.predicted(h)), after[h])
            metrics |= {f"readout/{kind}/exact/h{h}": 100 * right.mean(),
                        f"readout/{kind}/eyes/h{h}": 100 * exact(reads(data.target(h)), after[h]).mean()}  # fmt: skip
            metrics |= {f"readout/{kind}/exact/{event}/h{h}": 100 * right[seen].mean()
                        for event, seen in data.events(h).items() if seen.any()}  # fmt: skip
            if h in asked:
                metrics |= _of_every_action(WHAT_IF.format(kind), h, reads, asked[h], world.factor_names)
        data.say(f"read-out, {kind}")
    return metrics


def _shares(key: str, read: np.ndarray, true: np.ndarray, names: tuple[str, ...]) -> dict[str, float]:
    """Percent of factors that are right, of objects that are there: of all, and of each by its name."""
    right, there = read == true, true >= 0
    return {key: 100 * float(right[there].mean())} | {
        f"{key}/{name}": 100 * float(right[..., g][there[..., g]].mean()) for g, name in enumerate(names)
    }


def _usual(true: np.ndarray) -> np.ndarray:
    """The most frequent value of every factor of every object (M, N, G) -> (1, N, G): what is read off nothing."""
    return np.array([[[np.bincount(of[of >= 0], minlength=1).argmax() for of in one] for one in true.transpose(1, 2, 0)]])


class EveryAction(NamedTuple):
    """predicted (A, K, D): latents of all alternatives of all asked states; after (A, N, G): their true factors; factors (G,):
    whether any action changes them; changed (A,): how many objects are elsewhere than at the start, or otherwise."""

    predicted: Tensor
    after: np.ndarray
    factors: np.ndarray
    changed: np.ndarray


def _what_if(run, data, horizon: int) -> EveryAction:
    world, rows = run.world, data.chosen
    sequences, states, outcome, _ = asked_outcomes(world, data.file, data.state[rows, 0], data.action[rows], horizon)
    predicted = branch(run.model, data.start[rows], sequences, world.spec).flatten(0, 1)
    before = np.repeat(values(world, world.unpack(data.state[rows, 0])), sequences.shape[1], 0)
    after = values(world, states)[outcome.ravel()]
    return EveryAction(predicted, after, (after != before).any((0, 1)), (after != before).any(-1).sum(-1))


def _of_every_action(key: str, horizon: int, reads: Readout, asked: EveryAction, names: tuple[str, ...]) -> dict[str, float]:
    """Of whole states, and of each factor that actions change that of all objects; names: of factors."""
    read, after = reads(asked.predicted), asked.after
    metrics = by_end(key, horizon, exact(read, after), asked.changed)
    for g in np.flatnonzero(asked.factors):
        metrics |= by_end(f"{key}/{names[g]}", horizon, exact(read[..., [g]], after[..., [g]]), asked.changed)
    return metrics


def by_end(key: str, horizon: int, right: np.ndarray, changed: np.ndarray) -> dict[str, float]:
    """Percent of actions whose answer is right (A,), of those in whose outcome nothing, one object or several are not as at the
    start, changed (A,); and the mean over these classes."""
    shares = class_shares(right, changed)
    return {f"{key}/h{horizon}" if kind == "mean" else f"{key}/{kind}/h{horizon}": share for kind, share in shares.items()}
