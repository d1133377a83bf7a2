"""Configuration: a yaml for each command, a folder for each group, and resolvers for values that yaml cannot compute."""

import hashlib
import random
from itertools import product

from omegaconf import ListConfig, OmegaConf

from configs import sizes as sizes  # registers its resolvers
from envs.graphs import adjacency, parse, preset
from envs.problem import Problem
from models.native_precision import fast_precision  # imports no torch before it is asked


def _nodes(graph) -> int:
    """`${nodes:graph}`: the number of objects of a graph, given as a preset's name, a text of the language or an adjacency."""
    if not isinstance(graph, str | ListConfig):
        raise Problem(f"env.graph must be a preset as chain5, a text as '0->1', or an adjacency, got {graph!r}; set env.graph=")
    if not isinstance(graph, str):
        return len(graph)
    return len(preset(graph) if graph[:1].isalpha() else parse(graph))


def _movement(dynamic) -> str:
    """`${movement:dynamic}`: the name of the movement in chemistry, static or dynamic."""
    if not isinstance(dynamic, bool):
        raise Problem(f"env.dynamic must be true or false, got {dynamic!r}; set env.dynamic=")
    return "dynamic" if dynamic else "static"


def _chemistry(graph, dynamic, delay) -> str:
    """`${chemistry:graph,dynamic,delay}`: the name of a chemistry env and of its data; a digest for a drawn graph."""
    _nodes(graph)  # says what is no graph
    if not (isinstance(graph, str) and graph.isalnum() and graph[:1].isalpha()):
        text = graph if isinstance(graph, str) else OmegaConf.to_container(graph)
        graph = "graph-" + hashlib.sha256(str(text).replace(" ", "").encode()).hexdigest()[:8]
    late = "" if delay is None else "_delayed" if delay == 1 else f"_delayed-{delay}"
    return f"chemistry_{graph}{'_dynamic' if dynamic else ''}{late}"


def _of_env(table, env: str, key: str):
    """`${of_env:table,env,key}`: what a table of settings says for an env; of one that it does not name, under `other`."""
    return table[env if env in table else "other"][key]


def _drawn(grid, key: str):
    """`${drawn:${grid},key}`: a value of one combination of `grid.domain`,
    the `grid.row`-th in an order that `grid.seed` draws.
    """
    every = list(product(*grid.domain.values()))
    if grid.row not in range(len(every)):
        raise Problem(f"the grid has {len(every)} combinations, got grid.row={grid.row!r}; set it from 0 to {len(every) - 1}")
    chosen = random.Random(grid.seed).sample(every, len(every))[grid.row]
    return dict(zip(grid.domain, chosen))[key]


def _learning_parts(frozen: bool) -> list[str]:
    """`${learning_parts:frozen}`: parts of a model of clips that a stage trains."""
    return ["heads"] if frozen else ["encoder", "heads"]


for name, resolver in (("of_env", _of_env), ("learning_parts", _learning_parts), ("drawn", _drawn), ("nodes", _nodes),
                       ("movement", _movement), ("chemistry", _chemistry), ("fast_precision", fast_precision)):
    OmegaConf.register_new_resolver(name, resolver, replace=True)
OmegaConf.register_new_resolver("parents", adjacency, replace=True)  # ${parents:graph,n,numbering,scm_seed}: of an env
OmegaConf.register_new_resolver("times", lambda a, b: a * b, replace=True)
OmegaConf.register_new_resolver("either", lambda asked, yes, no: yes if asked else no, replace=True)
