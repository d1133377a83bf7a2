"""Graphs as texts of edges, for tests that write them down by hand."""

import numpy as np

FAMILIES = ["empty", "chain", "fork", "collider", "confounder", "bidiag", "full", "tree", "jungle"]


def edges(parents):
    """'01 12' is 0->1 and 1->2; numbers of one digit."""
    assert parents.dtype == bool and parents.ndim == 2 and parents.shape[0] == parents.shape[1]
    return " ".join(sorted(f"{p}{c}" for c, p in np.argwhere(parents)))


def matrix(text, num_nodes):
    """The inverse of `edges`."""
    parents = np.zeros((num_nodes, num_nodes), bool)
    for pair in text.split():
        parents[int(pair[1]), int(pair[0])] = True
    return parents
