"""Did the model find the graph? Its own answer to interventions, against the graph that made the data.

Any model is asked what an action on one object moves: by slots, matched to objects by how they answer to commands, or, where
the latent has no slots, through decoded frames. Codes are also asked which edges are direct (direct_edges.py), and learned
edges are read off.

Every graph is scored twice: whole, and without the edges that hardly show in the true model itself (`shown`). Which those
are is estimated from the true tables on the test split, by drawing.
"""

from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from envs.graphs import ancestors as closure
from envs.grid import CELL
from envs.protocols import CausalTables, Simulator
from envs.streams import Stream
from eval.probes.cuts import FAINT, LEARNED, MOVES, NEEDED, SEEN, VACUOUS
from eval.probes.direct_edges import changes, direct_edges, strengths
from eval.probes.probe import probe
from eval.rollouts import decode_frames, encode_frames, rollout
from models.abilities import DrawsGraph

STATES = 256  # boards on which every action is tried


class GraphScore(NamedTuple):
    """An estimated graph against the true one. shd: pairs of objects whose edge is wrong (a reversed edge is one).

    auroc stands first: it needs no cut, and a cut that suits one model's scores does not suit another's.
    """

    auroc: float
    shd: int
    precision: float
    recall: float


class Answers(NamedTuple):
    """What a model answers to commands. moved [v, o]: how far object v moves under a command on o, as a share of how far it
    moves under one on itself; slots: the slot that stands for each object; why: how it was read, or why it could not be
    (then the arrays are None)."""

    moved: np.ndarray | None
    slots: np.ndarray | None
    why: str


def compare(score: np.ndarray, true: np.ndarray, threshold: float, ignore: np.ndarray | None = None) -> GraphScore:
    """score (N, N) [child, parent], an edge where it exceeds `threshold`; true (N, N) bool; ignore: entries left out.

    Percent but for shd. precision is 100 where nothing is found, recall where nothing is to be found; auroc is 50 where
    there is only one kind.
    """
    counts = ~np.eye(len(true), dtype=bool) & (True if ignore is None else ~ignore)
    found = (score > threshold) & counts
    wrong = (found != true) & counts
    right, kinds = (found & true).sum(), (score[true & counts], score[~true & counts])
    higher = (kinds[0][:, None] > kinds[1]) + 0.5 * (kinds[0][:, None] == kinds[1])
    return GraphScore(
        float(100 * higher.mean()) if higher.size else 50.0,
        int((wrong | wrong.T).sum() // 2),
        float(100 * right / found.sum()) if found.any() else 100.0,
        float(100 * right / (true & counts).sum()) if (true & counts).any() else 100.0,
    )


def answers(model, world, state: np.ndarray) -> Answers:
    """Try every action on the boards of `state` (M, N, F)."""
    boards = world.unpack(state[:STATES])
    count, n, choices = len(boards), world.spec.objects, world.spec.action.choices
    start = encode_frames(model, world.observe(boards))
    every = torch.eye(n * choices).repeat(count, 1)[:, None]
    after = rollout(model, start.repeat_interleave(n * choices, 0), every)
    if start.shape[1] > 1:
        before, after, why = start, after.unflatten(0, (count, n, choices)), "predicted slots"
    elif model.decoder is not None:
        before = _object_colors(decode_frames(model, start), boards)
        after = _object_colors(decode_frames(model, after), boards.take(np.repeat(np.arange(count), n * choices)))
        after, why = after.unflatten(0, (count, n, choices)), "mean colours of the objects' cells in decoded predictions"
    else:
        return Answers(None, None, "the latent has no slots and there is no decoder: train it with loss=nll to ask it")
    moved = (after - before[:, None, None]).double().pow(2).sum(-1).mean((0, 2)).T  # (K, N): slot, object
    spread = after.double().var(2).sum(-1).mean(0).T  # spread over commanded colours, (K, N)
    spread = spread / spread.amax(1, keepdim=True).clamp(min=1e-12)
    slots = _match(spread.numpy()) if start.shape[1] > 1 else np.arange(n)
    moved = moved.numpy()[slots]
    return Answers(moved / moved.diagonal()[:, None].clip(1e-12), slots, why)


def true_answers(world, state: np.ndarray, samples: int = 32) -> np.ndarray:
    """`Answers.moved` of the true model, whose expectations are means over samples.  (N, N) [v, o]."""
    boards, n, choices = world.unpack(state[:STATES]), world.spec.objects, world.spec.action.choices
    count, rng, codes = len(boards), Stream.ANSWERS.rng(), np.eye(world.num_colors)
    every, expected = boards.take(np.repeat(np.arange(count), n * choices)), 0.0
    for _ in range(samples):
        noise = np.repeat(world.noise(count, rng), n * choices, 0)
        after, _ = world.step(every, np.tile(np.arange(n * choices), count), noise)
        expected = expected + codes[after.colors] / samples
    moved = ((expected - codes[every.colors]) ** 2).sum(-1).reshape(count, n, choices, n).mean((0, 2)).T
    return moved / moved.diagonal()[:, None].clip(1e-12)


def _match(spread: np.ndarray) -> np.ndarray:
    """For each object, the slot that follows its commands most; every slot stands for one object.  spread (K, N) -> (N,)."""
    slot, target = linear_sum_assignment(-spread)
    return slot[np.argsort(target)]


def _object_colors(frames: torch.Tensor, boards) -> torch.Tensor:
    """Mean colour of every object's cell.  (B, 3, 50, 50)  ->  (B, N, 3); factors (B, N, F) tell objects apart already."""
    if frames.ndim == 3:
        return frames
    cells = frames.unflatten(3, (-1, CELL)).unflatten(2, (-1, CELL)).mean((3, 5))  # (B, 3, 5, 5)
    row = torch.arange(len(frames))[:, None]
    where = torch.from_numpy(boards.positions.astype(np.int64))
    return cells.permute(0, 2, 3, 1)[row, where[..., 0], where[..., 1]]


def measure_structure(model, world, file) -> tuple[dict[str, float], dict]:
    """-> (metrics structure/..., arrays for the report). Asked on the last boards of the episodes of a file.

    Those have seen commands on all objects. On boards left alone an object may have one colour nearly always, and an effect
    that gives it this very colour moves nothing.

    structure/<graph>/...: all edges count; structure/<graph>/shown/...: those left out that hardly show in the true model.
    How many those are, of how many: faint_paths of true_paths, vacuous_edges of true_edges.
    """
    true, metrics = world.parents, {}
    if world.model.delays is not None:
        why = "effects come steps after their causes here, and one step is all that a model is asked"
        return metrics, {"why": why, "true": true.astype(int).tolist()}
    action, state = file.episodes("action", "state")
    found = answers(model, world, state[:, -1])
    about: dict = {"why": found.why, "true": true.astype(int).tolist()}

    def add(name: str, score: np.ndarray, against: np.ndarray, threshold: float, unseen: np.ndarray) -> None:
        for part, ignore in (("", None), ("shown/", unseen)):
            for key, value in compare(score, against, threshold, ignore)._asdict().items():
                metrics[f"structure/{name}/{part}{key}"] = value
        about[name] = {"score": np.round(score, 4).tolist(), "threshold": threshold}

    if found.moved is None:
        return metrics, about
    reach, paths = found.moved * (1 - np.eye(len(true))), closure(true)
    faint = paths & (true_answers(world, state[:, -1]) < FAINT)
    about["faint"] = faint.astype(int).tolist()
    metrics["structure/faint_paths"], metrics["structure/true_paths"] = float(faint.sum()), float(paths.sum())
    add("reach", reach, paths, MOVES, faint)
    acted = (action[:, :-1] // world.spec.action.choices).ravel()
    after = world.unpack(state[:, 1:].reshape(-1, *state.shape[2:]))
    strength = strengths(world.model, after.colors, acted, Stream.STRENGTHS.rng())
    vacuous = true & (strength < VACUOUS)
    about["strength"] = np.round(strength, 4).tolist()
    metrics["structure/vacuous_edges"], metrics["structure/true_edges"] = float(vacuous.sum()), float(true.sum())
    if getattr(model.transition, "categories", 0):
        codes = codes_of(model, world, state)[:, :, found.slots]
        before, after = (part.reshape(len(acted), -1) for part in (codes[:, :-1], codes[:, 1:]))
        seen = changes(before, after, acted) > SEEN
        lost = direct_edges(after, acted, seen & ~seen.T, model.transition.categories)
        add("direct", lost, true, NEEDED, vacuous)
    if isinstance(model.transition, DrawsGraph) and model.transition.graph == "learned":
        edges = model.transition.edges().detach().cpu().numpy()[np.ix_(found.slots, found.slots)]
        add("edges", edges, true, LEARNED, vacuous)
    return metrics, about


@probe(needs=(Simulator, CausalTables))
def structure(run, data) -> dict[str, float]:
    """`measure_structure`; its arrays go into `structure` of the results, from which the report draws graphs."""
    metrics, data.arrays["structure"] = measure_structure(run.model, run.world, data.file)
    return metrics


def codes_of(model, world, state: np.ndarray) -> np.ndarray:
    """The codes that the encoder reads off the boards of (E, T, N, F).  -> (E, T, K) int64."""
    boards = world.unpack(state.reshape(-1, *state.shape[2:]))
    parts = np.split(np.arange(len(boards)), range(4096, len(boards), 4096))
    seen = [
        encode_frames(model, world.observe(boards.take(part)))[..., : model.transition.categories].argmax(-1) for part in parts
    ]
    return torch.cat(seen).numpy().reshape(*state.shape[:2], -1)
