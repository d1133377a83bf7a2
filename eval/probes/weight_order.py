"""Who can push whom: the order of weights in every episode, recovered from any model by asking it for pushes.

Blocks of an episode are put side by side, each one before each other, with a free cell behind; the model is asked what follows
when the first moves. Its prediction lies nearer to the picture where the second yields, or to the one where nothing moves.
"""

from dataclasses import replace

import numpy as np
import torch

from envs.physics import DIRECTIONS, NUM_DIRECTIONS, PhysicsBoards, PhysicsWorld
from envs.streams import Stream
from eval.probes.probe import Row, bounds, no_forecast, probe
from eval.probes.weight_posterior import if_heavier, push_posterior
from eval.rollouts import actions_of, encode_frames, finite
from models.abilities import ComparesFrames, Remembers

EPISODES, LAYOUTS = 100, 2  # layouts of each ordered pair
TAU, SHD = "order/tau", "order/shd"


def pairs_of(boards: PhysicsBoards, board: int, rng: np.random.Generator) -> tuple[PhysicsBoards, np.ndarray, np.ndarray]:
    """Boards where the first of two blocks stands before the second and the cell behind is free, for every ordered pair.

    The other blocks lie on drawn cells.  -> (boards (B P,), actions (B P,), pairs (P, 2)).
    """
    count, n = boards.weights.shape
    pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j])
    row, pair = np.repeat(np.arange(count), len(pairs)), np.tile(pairs, (count, 1))
    way = rng.integers(1, NUM_DIRECTIONS, len(row))
    step = DIRECTIONS[way]
    low, high = np.maximum(0, -2 * step), board - 1 - np.maximum(0, 2 * step)  # so that two steps stay on the board
    first = rng.integers(low, high + 1)
    line = np.stack([first + k * step for k in range(3)], 1)  # mover, the other, the free cell: (B P, 3, 2)
    cells = rng.permuted(np.tile(np.arange(board**2), (len(row), 1)), axis=1)
    taken = (cells[:, :, None] == (line[..., 0] * board + line[..., 1])[:, None]).any(-1)
    free = np.take_along_axis(cells, taken.argsort(1, kind="stable"), 1)[:, :n]  # those that are not taken come first
    positions = np.stack(np.divmod(free, board), -1).astype(boards.positions.dtype)
    at = np.arange(len(row))
    positions[at, pair[:, 0]], positions[at, pair[:, 1]] = line[:, 0], line[:, 1]
    return replace(boards.take(row), positions=positions), pair[:, 0] * NUM_DIRECTIONS + way, pairs


@torch.no_grad()
def margins(
    model, world: PhysicsWorld, boards: PhysicsBoards, action: np.ndarray, memory: torch.Tensor | None = None,
    seen: torch.Tensor | None = None,
) -> np.ndarray:  # fmt: skip
    """How much nearer a prediction lies to the board where the block yields than to the one as it is, from -1 to 1, (B,).

    memory (B, M): of what was watched before, until the frame seen (B, K, D); none: an episode begins.
    """
    yielding, _, _ = if_heavier(world, boards, action)
    still, moved = (encode_frames(model, world.observe(some)) for some in (boards, yielding))
    acts, guess = actions_of(action, world.spec), []
    for rows in torch.arange(len(still)).split(4096):
        asked, known = still[rows].to(model.device), () if memory is None else (memory[rows].to(model.device),)
        if known and isinstance(model.transition, ComparesFrames):
            known = (model.transition.elsewhere(*known, seen[rows].to(model.device), asked),)
        guess.append(model.step(asked, acts[rows].to(model.device), *known)[0].cpu())
    guess = finite(torch.cat(guess))
    to_still, to_moved = ((guess - other).flatten(1).double().norm(dim=1) for other in (still, moved))
    return ((to_still - to_moved) / (to_still + to_moved).clamp(min=1e-12)).numpy()


def tournament(margin: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """What is told of each episode.  margin (B, P) of ordered pairs (P, 2), weights (B, N).

    asks: share of ordered pairs that are told right.  shd: pairs whose stronger block is told wrong; equal margins are wrong.
    tau: Kendall's, between the weights and how many others a block is told to be stronger than.
    """
    from scipy.stats import kendalltau  # takes a second

    count, n = weights.shape
    told = np.zeros((count, n, n))
    told[:, pairs[:, 0], pairs[:, 1]] = margin
    heavier = weights[:, :, None] > weights[:, None, :]
    stronger = told > told.transpose(0, 2, 1)
    upper = np.triu_indices(n, 1)
    wrong = (stronger != heavier) | (stronger == stronger.transpose(0, 2, 1))
    tau = [kendalltau(mine.sum(1), w).statistic for mine, w in zip(stronger, weights)]
    asks = (told > 0) == heavier
    return {"asks": asks[:, pairs[:, 0], pairs[:, 1]].mean(1), "shd": wrong[:, upper[0], upper[1]].sum(1),
            "tau": np.nan_to_num(np.array(tau, float))}  # fmt: skip


def perfect_memory(heavier: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """What the likelier order of every pair is worth: tau as `tournament` says, shd as expected,
    where even chances cost half a pair.

    heavier (B, N, N): chances that the first block is the heavier one.
    """
    certain = np.where(np.isclose(heavier, 0.5), 0.0, heavier - 0.5)
    upper = np.triu_indices(heavier.shape[1], 1)
    return {"ceiling/order/tau": tournament(certain[:, pairs[:, 0], pairs[:, 1]], pairs, weights)["tau"].mean(),
            "ceiling/order/shd": np.minimum(heavier, 1 - heavier)[:, upper[0], upper[1]].sum(1).mean()}  # fmt: skip


def _why_not(run) -> str | None:
    hidden = run.world.hidden_weights and not isinstance(run.model.transition, Remembers)
    told = "asks for weights that no frame shows, and the model keeps no memory of those before; train model=pairwise_lstm"
    return no_forecast(run) or (told if hidden else None)


@probe(needs=(PhysicsWorld,), unless=_why_not, by_name=True, rows=(
    Row(TAU, "order of weights, Kendall's tau", percent=False, digits=3, horizons=()),
    *bounds(TAU, ("ceiling/order/tau", "perfect memory", "ceiling"),
            ("floor/order/tau", "the smaller number is heavier", "floor")),
    Row(SHD, "pairs in the wrong order, of all pairs of an episode", percent=False, higher_is_better=False, horizons=()),
    *bounds(SHD, ("ceiling/order/shd", "perfect memory", "ceiling"),
            ("floor/order/shd", "the smaller number is heavier", "floor")),
    Row("order/asks", "pushes told right, each alone", horizons=()),
))  # fmt: skip
def weight_order(run, data) -> dict[str, float]:
    """Means over episodes: tau from -1 to 1, shd of N (N - 1) / 2 pairs, asks percent; 50 percent is chance.

    Every ordered pair is asked in two layouts, whose margins are added. Where frames show no weights, a model with a memory
    first watches a whole episode of `valid`, and is asked of it; beside it the exact posterior of what was watched.
    """
    world, rng, memory, ceiling = run.world, Stream.COUNTERFACTUAL.rng(0), None, {}
    if world.hidden_weights:
        boards, memory, seen, heavier = watched(run, data.data_dir)
    else:
        boards = world.unpack(data.state[:EPISODES, 0])
        boards = boards.take(np.flatnonzero((boards.positions >= 0).all((1, 2))))  # episodes without absent blocks
    if not len(boards.weights):
        return {}
    total = 0.0
    for _ in range(LAYOUTS):
        asked, action, pairs = pairs_of(boards, world.board, rng)
        known = () if memory is None else (one.repeat_interleave(len(pairs), 0) for one in (memory, seen))
        total = total + margins(run.model, world, asked, action, *known).reshape(len(boards.weights), -1)
    if memory is not None:
        ceiling = perfect_memory(heavier, pairs, boards.weights)
    found = tournament(total, pairs, boards.weights)
    index = tournament(np.where(pairs[:, 0] < pairs[:, 1], 1.0, -1.0)[None].repeat(len(total), 0), pairs, boards.weights)
    data.say("order of weights")
    return {TAU: found["tau"].mean(), SHD: found["shd"].mean(), "order/asks": 100 * found["asks"].mean(),
            "floor/order/tau": index["tau"].mean(), "floor/order/shd": index["shd"].mean()} | ceiling  # fmt: skip


@torch.no_grad()
def watched(run, data_dir) -> tuple[PhysicsBoards, torch.Tensor, torch.Tensor, np.ndarray]:
    """Whole episodes of `valid` in a world whose frames show no weights: their last boards, what a model remembers of each (E,
    M) until their last frame, that frame's latent (E, K, D), and the exact chances that a block is heavier than another (E, N,
    N).
    """
    model, world = run.model, run.world
    obs, action, state = run.file("valid", data_dir).episodes(world.shown.column, "action", "state", count=EPISODES)
    latent = encode_frames(model, obs.reshape(-1, *obs.shape[2:])).unflatten(0, action.shape)
    memory = model.filter(latent.to(model.device), actions_of(action[:, :-1], world.spec).to(model.device)).cpu()
    heavier = push_posterior(world, state, action, run.config.env.drop_invalid).heavier
    return world.unpack(state[:, -1]), memory, latent[:, -1], heavier
