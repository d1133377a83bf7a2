"""The graph of a config: a preset, a text or a matrix, with its own numbering or a permuted one."""

import re
from collections.abc import Sequence

import numpy as np

from envs.graphs.language import SIZES, parse, preset
from envs.graphs.matrices import check_size, from_adjacency, permute
from envs.problem import Problem
from envs.streams import Stream

NUMBERING = ("permuted", "causal")


def resolve(graph: str | Sequence | np.ndarray, num_nodes: int) -> np.ndarray:
    """What a config may say -> parents (num_nodes, num_nodes): a preset's name, a text of the language or an adjacency."""
    check_size(num_nodes)
    if isinstance(graph, str):
        if not re.match(r"\s*[^\W\d_]", graph):
            return parse(graph, num_nodes)
        parents, remedy = preset(graph.strip()), "write the graph out, as in '0->1'"
        if num_nodes in SIZES:
            remedy = f"take {graph.strip().rstrip('0123456789')}{num_nodes}"
    elif isinstance(graph, (Sequence, np.ndarray)):
        parents, remedy = from_adjacency(graph), f"give {num_nodes} rows of {num_nodes}"
    else:
        raise Problem(f"a graph is a preset (chain5), a text in quotes ('0->{{1-2}}') or a list of rows, got {graph!r}")
    if len(parents) != num_nodes:
        name = f"graph '{graph}'" if isinstance(graph, str) else "the graph's adjacency"
        raise Problem(f"{name} has {len(parents)} nodes where {num_nodes} are needed; {remedy}")
    return parents


def numbered(graph: str | Sequence | np.ndarray, num_nodes: int, numbering: str, seed: int) -> np.ndarray:
    """`resolve`, under its own numbers (causal) or under drawn ones (permuted); the seed alone decides the draw."""
    parents = resolve(graph, num_nodes)
    return permute(parents, Stream.NUMBERING.rng(seed)) if numbering == "permuted" else parents


def adjacency(graph, num_nodes: int, numbering: str = "causal", seed: int = 0) -> list[list[int]] | None:
    """`numbered` as configs write it, [child][parent] of 0 and 1; None without a graph."""
    return None if graph is None else numbered(graph, num_nodes, numbering, seed).astype(int).tolist()
