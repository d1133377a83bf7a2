"""Same-board ranking: what happened, among everything else that might have happened to this very board.

Where objects lie in other cells in every episode, cells alone tell 10,000 episodes apart and H@1 over episodes says
nothing about colours. Here the candidates share the query's cells: the outcomes of the same actions under other chance,
and the colours in which other episodes ended.
"""

from typing import NamedTuple

import numpy as np
import torch

from envs.protocols import CausalTables, Painting, Simulator
from envs.streams import Stream
from eval.probes.probe import Row, bounds, probe
from eval.ranking import centred
from eval.rollouts import actions_of, encode_frames, finite, rollout

STATES = 500  # episodes asked about
OTHERS = 64  # candidates of each kind, before equal ones are merged
BOARD, ACCURACY = "test/board_hits@1/", "test/accuracy/"


class Alternatives(NamedTuple):
    """Candidates of E episodes. boards: the U distinct ones; members (E, C): rows of `boards`, column 0 the true outcome;
    first (E, C): False where a candidate repeats an earlier one of its episode."""

    boards: object
    members: np.ndarray
    first: np.ndarray


class BoardScore(NamedTuple):
    """In percent: the true outcome is nearest, ties against us; and objects in the true colour in the nearest candidate."""

    hits: float
    accuracy: float


def alternatives(world, state: np.ndarray, action: np.ndarray, horizon: int) -> Alternatives:
    """Candidates of the first STATES episodes, the same for every run.  state (M, T+1, N, F), action (M, T+1)."""
    rng = Stream.ALTERNATIVES.rng(horizon)
    state, action = state[:STATES], action[:STATES]
    count = len(state)
    truth = world.unpack(state[:, horizon])
    again = world.unpack(np.repeat(state[:, 0], OTHERS, 0))
    for t in range(horizon):
        again, _ = world.step(again, np.repeat(action[:, t], OTHERS), world.noise(len(again), rng))
    elsewhere = truth.take(np.repeat(np.arange(count), OTHERS))
    elsewhere.colors = truth.colors[rng.integers(0, count, len(elsewhere))]
    colors = [b.colors.reshape(count, -1, b.colors.shape[-1]) for b in (truth, again, elsewhere)]
    colors = np.concatenate(colors, 1)  # (E, C, N)
    powers = 10 ** np.arange(colors.shape[-1], dtype=np.int64)  # a palette has ten colours at most
    keys = colors @ powers + np.arange(count)[:, None] * 10 * powers[-1]
    _, first_seen, members = np.unique(keys, return_index=True, return_inverse=True)
    members = members.reshape(keys.shape)
    episode = first_seen // keys.shape[1]
    boards = truth.take(episode)
    boards.colors = colors.reshape(-1, colors.shape[-1])[first_seen]
    first = np.zeros(keys.size, bool)
    first[first_seen] = True
    return Alternatives(boards, members, first.reshape(keys.shape))


def score_alternatives(predicted: torch.Tensor, codes: torch.Tensor, pool: Alternatives) -> BoardScore:
    """predicted (M >= E, ...) in the order of `alternatives`, codes (U, ...) of its boards."""
    members, colors = pool.members, pool.boards.colors
    predicted = finite(predicted)[: len(members)].flatten(1).double()
    codes = finite(codes, "latents of outcomes").flatten(1).double()
    query, candidates, slack = centred(predicted[:, None], codes[torch.from_numpy(members)], 1)
    distance = torch.cdist(query, candidates, compute_mode="donot_use_mm_for_euclid_dist")[:, 0].pow(2)
    distance[torch.from_numpy(~pool.first)] = torch.inf
    rivals = distance[:, 1:].amin(1, keepdim=True)
    hit = (distance[:, :1] + slack < rivals)[:, 0]
    place = torch.where(hit, 0, 1 + distance[:, 1:].argmin(1)).numpy()  # a tie is the rival's
    nearest = members[np.arange(len(members)), place]
    accuracy = (colors[nearest] == colors[members[:, 0]]).mean()
    return BoardScore(float(100 * hit.double().mean()), float(100 * accuracy))


def painted(world, state, action, horizon: int):
    """The boards on which every action has painted its object and nothing has followed."""
    boards = world.unpack(state[:, 0])
    for t in range(horizon):
        boards = world.paint(boards, action[:, t])
    return boards


def same_board_scores(model, world, obs, state, action, horizon: int) -> dict[str, float]:
    """Same-board H@1 and per-object accuracy of the model, and of painting the acted objects."""
    pool = alternatives(world, state, action, horizon)
    count = len(pool.members)
    codes = encode_frames(model, world.observe(pool.boards))
    predicted = rollout(model, encode_frames(model, obs[:count]), actions_of(action[:count, :horizon], world.spec))
    paint = encode_frames(model, world.observe(painted(world, state[:count], action[:count], horizon)))
    metrics = {}
    for name, guess in (("test", predicted), ("floor/paint", paint)):
        score = score_alternatives(guess, codes, pool)
        metrics[f"{name}/board_hits@1/h{horizon}"], metrics[f"{name}/accuracy/h{horizon}"] = score.hits, score.accuracy
    return metrics


def has_chance(world) -> bool:
    """Whether chance has a part in the world; elsewhere everything can be known."""
    return isinstance(world, Simulator) and world.noise(1, Stream.CHANCE.rng()) is not None


def no_chance(run) -> str | None:
    """Why a run is not asked what else might have happened."""
    return None if has_chance(run.world) else f"asks about chance, and {type(run.world).__name__} leaves nothing to it"


@probe(needs=(Simulator, CausalTables, Painting), unless=no_chance, rows=(
    Row(BOARD, "H@1 on the same board", horizons=()), *bounds(BOARD, ("floor/paint/board_hits@1/", "paint", "floor")),
    Row(ACCURACY, "objects in the right colour", horizons=()), *bounds(ACCURACY, ("floor/paint/accuracy/", "paint", "floor")),
))  # fmt: skip
def same_board(run, data) -> dict[str, float]:
    """`same_board_scores` of the chosen episodes, percent."""
    metrics, chosen = {}, data.chosen
    for h in data.horizons if len(chosen) else ():
        metrics |= same_board_scores(run.model, run.world, data.obs[chosen, 0], data.state[chosen], data.action[chosen], h)
    return metrics
