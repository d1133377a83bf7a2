"""Measurements, one file each: a file with a probe is asked by eval/score.py, and its rows stand in every table and page."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from eval.probes.probe import Probe, Row

ORDER = ("ranking_pool", "success", "same_board", "counterfactual", "reconstruction", "reference_rule")  # then by name
ELSEWHERE = ("eval.planning.ceilings",)  # plans as well, and therefore stands above this folder


@cache
def _found(path: tuple[str, ...]) -> tuple[Probe, ...]:
    names = sorted(module.name for module in iter_modules(path))
    names.sort(key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    modules = [import_module(file) for file in (*(f"{__name__}.{name}" for name in names), *ELSEWHERE)]
    probes = [(module.__name__, one) for module in modules for one in vars(module).values() if isinstance(one, Probe)]
    return tuple(one for home, one in probes if one.home == home)  # a file may import another's


def every_probe() -> tuple[Probe, ...]:
    """Every probe there is, in the order of the tables."""
    return _found(tuple(__path__))


def every_row() -> list[Row]:
    """Rows of all probes, in the order of the tables."""
    return [row for one in every_probe() for row in one.rows]
