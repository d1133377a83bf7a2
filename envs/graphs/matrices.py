"""Graphs as matrices of parents: checked, drawn, renumbered, ordered.

A graph of N nodes is `parents` (N, N) bool, `parents[child, parent]`, without a cycle.
"""

from collections.abc import Sequence

import numpy as np

from envs.problem import Problem

MAX_NODES = 1000


def check_size(num_nodes: int) -> None:
    if not isinstance(num_nodes, (int, np.integer)) or not 1 <= num_nodes <= MAX_NODES:
        raise Problem(f"num_nodes: expected a whole number from 1 to {MAX_NODES}, got {num_nodes!r}")


def random_dag(num_nodes: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """Parents (N, N) bool in index order: each of the N(N-1)/2 pairs is an edge with probability `density`."""
    check_size(num_nodes)
    if not 0 <= density <= 1:
        raise Problem(f"the density of a random graph is a probability from 0 to 1, got {density}")
    parents = np.zeros((num_nodes, num_nodes), bool)
    pairs = np.tril_indices(num_nodes, -1)
    parents[pairs] = rng.random(len(pairs[0])) < density
    return parents


def from_adjacency(rows: Sequence | np.ndarray) -> np.ndarray:
    """Any acyclic matrix of 0 and 1, `rows[child][parent]` -> parents (N, N) bool; its order need not be the index order."""
    try:
        rows = [list(row) for row in rows]
    except TypeError as error:
        raise Problem(f"an adjacency is a list of rows, one for each node (rows[child][parent]), got {rows!r}") from error
    widths = [len(row) for row in rows]
    if not rows or set(widths) != {len(rows)}:
        expected = f"{len(rows)} rows of {len(rows)}" if rows else "at least one row"
        raise Problem(f"an adjacency is a square (rows[child][parent]): expected {expected}, got rows of {widths}")
    for child, row in enumerate(rows):
        for parent, value in enumerate(row):
            if not isinstance(value, (bool, int, float, np.generic)) or value not in (0, 1):
                raise Problem(f"adjacency, row {child} (child), column {parent} (parent): expected 0 or 1, got {value!r}")
    parents = np.array(rows).astype(bool)
    order(parents)
    return parents


def permute(parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same graph under other numbers, drawn until they are no causal order; where there is no edge, drawn once.

    Numbers are a causal order where every arrow leads from a smaller to a larger one: to set objects right by number then
    needs no knowledge of the graph.
    """
    while True:
        new = rng.permutation(len(parents))
        found = parents[np.ix_(new, new)]
        if np.triu(found).any() or not parents.any():
            return found


def order(parents: np.ndarray) -> np.ndarray:
    """(N,) int: every node after its parents, the smallest index first wherever there is a choice."""
    missing = parents.sum(1)  # parents not yet placed; -1 once the node itself is placed
    placed = []
    for _ in range(len(parents)):
        node = int((missing == 0).argmax())
        if missing[node]:
            raise Problem(f"the graph has a cycle {_cycle(parents, missing > 0)}; drop one of its arrows")
        placed.append(node)
        missing -= parents[:, node]
        missing[node] = -1
    return np.array(placed)


def _cycle(parents: np.ndarray, stuck: np.ndarray) -> str:
    """'0 -> 2 -> 0'; each of the `stuck` nodes has a parent among them, so walking upwards must come round."""
    walk, node = [], int(stuck.argmax())
    while node not in walk:
        walk.append(node)
        node = int((parents[node] & stuck).argmax())
    cycle = walk[walk.index(node) :][::-1]
    first = cycle.index(min(cycle))
    return " -> ".join(map(str, [*cycle[first:], *cycle[: first + 1]]))


def ancestors(parents: np.ndarray) -> np.ndarray:
    """(N, N) bool: [v, a] is True where a path leads from a to v; the diagonal is False."""
    reached = parents.copy()
    for middle in range(len(parents)):
        reached |= reached[:, middle, None] & reached[middle]
    return reached
