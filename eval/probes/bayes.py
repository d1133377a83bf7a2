"""Exact Bayes: the belief over all states of a small world after recorded actions, and what the best guess by it scores.

No model of any kind can expect more where no two outcomes are equally likely: it is told the tables, the start and the
actions, and nothing that chance decided. Equally likely ones count against it, as ties do everywhere, and a guess that picks
one of them can expect more; tables that are drawn hardly have any.
"""

from collections.abc import Iterator

import numpy as np

from envs.graphs.scm import reached
from envs.protocols import CausalTables
from eval.probes.same_board import Alternatives, alternatives
from eval.ranking import hits_at_k, mrr
from eval.rollouts import Outcomes

MOST_STATES = 1 << 14  # six objects of five colours have 15,625
NUMBERS = 1 << 21  # beliefs that are held at a time
TIE = 1e-9  # share of a belief by which another must be smaller


def enumerable(world) -> bool:
    """Whether the belief can be held whole: few states, effects within the step, all descendants redrawn."""
    if not isinstance(world, CausalTables):
        return False
    model = world.model
    return model.delays is None and model.redraw == "descendants" and model.num_colors ** len(model) <= MOST_STATES


def number(model, colors: np.ndarray) -> np.ndarray:
    """Colours (..., N) -> the number of the state, (...,) int, below C ** N."""
    return np.ravel_multi_index(np.moveaxis(colors.astype(np.int64), -1, 0), (model.num_colors,) * len(model))


def beliefs(model, colors: np.ndarray, action: np.ndarray, horizons: list[int]) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
    """Beliefs after `horizons` actions from known states, in parts: (rows (b,), horizon, belief (b, C ** N) float64).

    colors (E, N), action (E, T) = object * C + colour.
    """
    n, c = len(model), model.num_colors
    shape = (c,) * n
    states = np.stack(np.unravel_index(np.arange(c**n), shape), 1)
    likely = [np.take_along_axis(model.probabilities(v, states), states[:, [v]], 1)[:, 0] for v in range(n)]
    kernels = {}  # action -> which axes it redraws, and the chance of every state given the axes that it leaves alone
    for a in np.unique(action[:, : max(horizons)]):
        target, color = divmod(int(a), c)
        touched = reached(model.parents, target)
        chance = np.prod([likely[v] for v in np.flatnonzero(touched) if v != target], 0) * (states[:, target] == color)
        kernels[a] = tuple(1 + np.flatnonzero(touched)), chance.reshape(shape)
    start = number(model, colors)
    for rows in np.array_split(np.arange(len(colors)), -(-len(colors) * c**n // NUMBERS)):
        belief = np.zeros((len(rows), c**n))
        belief[np.arange(len(rows)), start[rows]] = 1
        belief = belief.reshape(len(rows), *shape)
        for t in range(max(horizons)):
            now = action[rows, t]
            for a in np.unique(now):
                axes, chance = kernels[a]
                same = now == a
                belief[same] = belief[same].sum(axes, keepdims=True) * chance
            if t + 1 in horizons:
                yield rows, t + 1, belief.reshape(len(rows), -1)


def bayes_scores(world, state: np.ndarray, action: np.ndarray, horizons: list[int], chosen: np.ndarray) -> dict[str, float]:
    """H@1 and MRR over the pool of all episodes, and same-board scores of the episodes `chosen`, percent.

    state (E, T+1, N, F), action (E, T+1). The candidates of an episode are the distinct outcomes that lie in its cells:
    cells never change, so that any other is impossible. They are ranked by belief, ties against us.
    """
    model, found = world.model, {}
    colors = world.unpack(state[:, 0]).colors
    pools = {h: _Pool(model, world.unpack(state[:, h])) for h in horizons}
    rank = {h: np.empty(len(state), np.int64) for h in horizons}
    for rows, h, belief in beliefs(model, colors, action, horizons):
        rank[h][rows] = pools[h].ranks(rows, belief)
    for h in horizons:
        found[f"hits@1/h{h}"], found[f"mrr/h{h}"] = hits_at_k(rank[h]), mrr(rank[h])
    for h in horizons if len(chosen) else ():
        board = alternatives(world, state[chosen], action[chosen], h)
        asked = chosen[: len(board.members)]
        found[f"board_hits@1/h{h}"], found[f"accuracy/h{h}"] = _on_the_board(model, colors[asked], action[asked], h, board)
    return found


def likeliest_is_true(world, state: np.ndarray, found: Outcomes) -> np.ndarray:
    """Of every action of M states, whether its outcome is likelier than any other outcome of the same state's actions,
    (M, C) bool.

    state (M, N, F): where the sequences of `found` begin. No bound: the outcomes of a state share what chance decided, which
    the belief of one action does not know, and in a mean over classes of actions a guess that leans to the rare one is right
    more often.
    """
    model, (count, choices, steps) = world.model, found.sequences.shape
    ends = number(model, found.states.colors)[found.outcome]  # cells never change
    colors = np.repeat(world.unpack(state).colors, choices, 0)
    right = np.empty(count * choices, bool)
    for rows, _, belief in beliefs(model, colors, found.sequences.reshape(-1, steps), [steps]):
        row, own = np.arange(len(rows)), ends.ravel()[rows]
        others = ends[rows // choices]
        rival = np.where(others == own[:, None], -1.0, belief[row[:, None], others]).max(1)
        right[rows] = belief[row, own] * (1 - TIE) > rival
    return right.reshape(count, choices)


class _Pool:
    """The outcomes of all episodes, as candidates of each."""

    def __init__(self, model, boards) -> None:
        self.own = number(model, boards.colors)
        cells = np.unique(boards.positions.reshape(len(boards), -1), axis=0, return_inverse=True)[1].ravel()
        pairs = np.unique(np.stack([cells, self.own], 1), axis=0)
        begin = np.searchsorted(pairs[:, 0], np.arange(cells.max() + 2))
        self.cells, self.candidates = cells, np.split(pairs[:, 1], begin[1:-1])

    def ranks(self, rows: np.ndarray, belief: np.ndarray) -> np.ndarray:
        """(b,), 0 = best, of the true outcomes of episodes `rows`.  belief (b, S)."""
        true = belief[np.arange(len(rows)), self.own[rows]] * (1 - TIE)
        rank = np.zeros(len(rows), np.int64)
        for cell in np.unique(self.cells[rows]):
            if len(self.candidates[cell]) > 1:
                here = self.cells[rows] == cell
                rank[here] = (belief[here][:, self.candidates[cell]] >= true[here, None]).sum(1) - 1
        return rank


def _on_the_board(model, colors, action, horizon: int, board: Alternatives) -> tuple[float, float]:
    """The likeliest candidate is the true one, and objects in the true colour in the candidate that expects most of them."""
    n, c = len(model), model.num_colors
    hits, right = [], []
    for rows, _, belief in beliefs(model, colors, action, [horizon]):
        row, candidate = np.arange(len(rows))[:, None], board.boards.colors[board.members[rows]]  # (b, C, N)
        chance = np.where(board.first[rows], belief[row, number(model, candidate)], -1.0)
        hits.append(chance[:, 0] * (1 - TIE) > chance[:, 1:].max(1))
        grid = belief.reshape(len(rows), *(c,) * n)
        expected = np.zeros(chance.shape)
        for v in range(n):
            marginal = grid.sum(tuple(1 + u for u in range(n) if u != v))  # (b, c)
            expected += marginal[row, candidate[..., v]]
        expected[~board.first[rows]] = -1.0
        best = expected[:, 1:].argmax(1) + 1
        best = np.where(expected[:, 0] * (1 - TIE) > expected[:, 1:].max(1), 0, best)  # a tie is the rival's
        right.append(candidate[np.arange(len(rows)), best] == candidate[:, 0])
    return float(100 * np.concatenate(hits).mean()), float(100 * np.concatenate(right).mean())
