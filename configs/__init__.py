"""Composable configuration: one small yaml per command, plus one folder per group, and what yaml alone cannot compute."""

from omegaconf import OmegaConf

from configs import sizes as sizes  # registers its resolvers
from envs.graphs import numbered


def _parents(graph, num_objects: int, numbering: str = "causal", scm_seed: int = 0) -> list | None:
    """`${parents:graph,n,numbering,scm_seed}`: the adjacency [child][parent] of an env; null where it names no graph."""
    return None if graph is None else numbered(graph, num_objects, numbering, scm_seed).astype(int).tolist()


OmegaConf.register_new_resolver("parents", _parents, replace=True)
OmegaConf.register_new_resolver("times", lambda a, b: a * b, replace=True)
