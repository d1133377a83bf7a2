"""Names and parameters that code of others relies on stay as they are, whatever becomes of what lies behind them."""

from importlib import import_module
from inspect import signature

import pytest

NAMES = {
    "envs.physics.push": "positions weights action",
    "envs.grid.render": "positions shapes colors",
    "envs.graphs.parse": "text num_nodes",
    "envs.graphs.preset": "name",
    "envs.chemistry.StructuralCausalModel": "parents num_colors rng",
    "envs.chemistry.reached": "parents i",
    "eval.ranking.ranks": "predicted target rule groups",
    "eval.ranking.hits_at_k": "ranks",
    "eval.ranking.mrr": "ranks",
    "losses.contrastive.energy": "a b sigma",
    "losses.contrastive.contrastive": "state predicted target permutation hinge sigma",
    "envs.trifinger.overlap": "blocks goals method",
    "envs.trifinger.make": "task",
    "envs.voe.rules.prior_rules": "features",
    "envs.voe.rules.posterior_rules": "features",
    "eval.surprise.hit_rate": "expected surprising",
    "eval.surprise.auc": "expected surprising",
    "eval.humans.analysis.kappa": "a b",
}


@pytest.mark.parametrize("name, parameters", NAMES.items())
def test_a_name_is_called_as_ever(name, parameters):
    """The hinge once took other tensors under its old name: where they fit, numbers were wrong without a word."""
    module, _, function = name.rpartition(".")
    found = signature(getattr(import_module(module), function)).parameters.values()
    positional = [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one.name for one in found if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    assert positional[: len(parameters.split())] == parameters.split() and set(needed) <= set(parameters.split())
