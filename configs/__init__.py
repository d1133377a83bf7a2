"""Composable configuration: one small yaml per command, plus one folder per group, and what yaml alone cannot compute."""

from omegaconf import OmegaConf

from envs.graphs import resolve
from envs.grid import GRID


def _parents(graph, num_objects: int) -> list | None:
    """`${parents:graph,n}`: the adjacency [child][parent] of a graph's name or text; null where the env names no graph."""
    return None if graph is None else resolve(graph, num_objects).astype(int).tolist()


OmegaConf.register_new_resolver("parents", _parents, replace=True)
OmegaConf.register_new_resolver("code_width", lambda num_colors: num_colors + GRID**2, replace=True)
