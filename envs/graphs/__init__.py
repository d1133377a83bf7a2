"""Causal graphs: a language for them, what follows from them, and structural causal models along them (`scm`)."""

from envs.graphs.language import describe, parse, preset
from envs.graphs.matrices import ancestors, from_adjacency, order, permute, random_dag
from envs.graphs.resolve import NUMBERING, adjacency, numbered, resolve

__all__ = [
    "NUMBERING", "adjacency", "ancestors", "describe", "from_adjacency", "numbered", "order", "parse", "permute", "preset",
    "random_dag", "resolve",
]  # fmt: skip
