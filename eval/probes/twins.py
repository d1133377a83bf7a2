"""True counterfactuals of chemistry: what another action would have done under the same chance,
told from what the first one did.

A variable is drawn by the inverse of its cumulative table, so that a colour tells in which interval its chance lay. Under
another action the same chance meets another row of the table. This is the third rung of Pearl's ladder: abduction, action,
prediction. Which colours a chance would have given beside the one that was seen is a convention (the order of the colours in
the table); a second one, Gumbel-max (Oberst and Sontag 2019), has the same law of every intervention, and no data can tell the
two apart.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from envs.graphs import ancestors
from envs.graphs.scm import StructuralCausalModel, reached

PRIOR = 0.1  # pseudo-observations of a colour


class Mechanisms(NamedTuple):
    """How variables are drawn.  parents (N, N) bool [child, parent], acyclic; tables: of each variable the chances of its
    colours given those of its parents in ascending order, (C,) * parents + (C,)."""

    parents: np.ndarray
    tables: list[np.ndarray]

    @classmethod
    def of(cls, model: StructuralCausalModel) -> "Mechanisms":
        """The true ones."""
        n, c = len(model), model.num_colors
        tables = []
        for v in range(n):
            parents = np.flatnonzero(model.parents[v])
            colors = np.zeros((c ** len(parents), n), np.int64)
            if len(parents):
                colors[:, parents] = np.stack(np.unravel_index(np.arange(len(colors)), (c,) * len(parents)), 1)
            tables.append(model.probabilities(v, colors).reshape(*(c,) * len(parents), c))
        return cls(model.parents, tables)

    @classmethod
    def counted(cls, parents: np.ndarray, after: np.ndarray, acted: np.ndarray, colors: int) -> "Mechanisms":
        """Shares of what followed where a variable was drawn anew, and PRIOR observations of every colour, spread by what the
        variable shows on the whole.  after (M, N) colours after actions on objects acted (M,)."""
        above, tables = ancestors(parents), []
        for v in range(len(parents)):
            rows = np.flatnonzero(above[v][acted]) if above[v].any() else np.arange(len(after))
            own, asked = after[rows, v], [after[rows, p] for p in np.flatnonzero(parents[v])]
            counts = np.zeros((*(colors,) * len(asked), colors))
            np.add.at(counts, (*asked, own), 1)
            usual = np.bincount(own, minlength=colors) + 1.0
            counts += PRIOR * colors * usual / usual.sum()
            tables.append(counts / counts.sum(-1, keepdims=True))
        return cls(parents, tables)

    @property
    def order(self) -> list[int]:
        """Parents before children."""
        return sorted(range(len(self.parents)), key=lambda v: (ancestors(self.parents)[v].sum(), v))


class Queries(NamedTuple):
    """before (Q, N): colours; first, other (Q,): actions as object * C + colour; after (Q, N): what the first one did, None
    where that is not told."""

    before: np.ndarray
    first: np.ndarray
    other: np.ndarray
    after: np.ndarray | None


def beliefs(told: Mechanisms, asked: Queries) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The chance of every outcome of the other action, in parts: (rows (q,), belief (q, C ** N)).

    Colours that are impossible under `told` say nothing of their chance.
    """
    colors = told.tables[0].shape[-1]
    first, other = asked.first // colors, asked.other // colors
    for a in np.unique(first):
        for b in np.unique(other):
            rows = np.flatnonzero((first == a) & (other == b))
            if len(rows):
                yield rows, _belief(told, asked, rows, int(a), int(b))


def _belief(told: Mechanisms, asked: Queries, rows: np.ndarray, first: int, other: int) -> np.ndarray:
    n, colors = len(told.parents), told.tables[0].shape[-1]
    drawn, redrawn = reached(told.parents, first), reached(told.parents, other)
    belief = np.ones((len(rows), *(1,) * n))
    for v in told.order:
        parents = np.flatnonzero(told.parents[v])
        if v == other or not redrawn[v]:
            fixed = asked.other[rows] % colors if v == other else asked.before[rows, v]
            chance, parents = np.eye(colors)[fixed], parents[:0]
        else:
            table = told.tables[v]
            high = table.cumsum(-1)
            low = high - table
            if asked.after is not None and drawn[v] and v != first:
                seen = asked.after[rows]
                at = (*(seen[:, p] for p in parents), seen[:, v])
                start, end = low[at], high[at]
            else:
                start, end = np.zeros(len(rows)), np.ones(len(rows))
            start, end = (edge.reshape(-1, *(1,) * table.ndim) for edge in (start, end))
            chance = np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None)
            whole = chance.sum(-1, keepdims=True)
            chance = np.where(whole > 0, chance / np.where(whole > 0, whole, 1), table)
        axes = [*parents, v]
        chance = chance.transpose(0, *(1 + np.argsort(axes)))
        shape = [len(rows), *(colors if u in axes else 1 for u in range(n))]
        belief = belief * chance.reshape(shape)
    return belief.reshape(len(rows), -1)


def guesses(told: Mechanisms, asked: Queries) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest outcome (Q, N), and its chance (Q,)."""
    n, colors = len(told.parents), told.tables[0].shape[-1]
    outcome, chance = np.zeros((len(asked.before), n), np.int64), np.zeros(len(asked.before))
    for rows, belief in beliefs(told, asked):
        best = belief.argmax(1)
        outcome[rows], chance[rows] = np.stack(np.unravel_index(best, (colors,) * n), 1), belief[np.arange(len(rows)), best]
    return outcome, chance


def respond_gumbel(model: StructuralCausalModel, before: np.ndarray, action: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """What an action does where a colour is the largest of log chances plus noise.  before (B, N), action (B,), noise (B, N,
    C), standard Gumbel  ->  (B, N). Every descendant of the acted object is drawn anew."""
    after, row = before.astype(np.int64).copy(), np.arange(len(before))
    target = action // model.num_colors
    after[row, target] = action % model.num_colors
    drawn = np.stack([reached(model.parents, i) for i in range(len(model))])[target]
    for v in model.order:
        rows = np.flatnonzero(drawn[:, v] & (target != v))
        if len(rows):
            after[rows, v] = (np.log(model.probabilities(v, after[rows])) + noise[rows, v]).argmax(1)
    return after
