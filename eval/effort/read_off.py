"""Tables of what read-outs find in latents and predictions, and of what pushes tell; rows as in the table of scores."""

from collections.abc import Sequence
from itertools import product
from statistics import mean

from eval.effort.cells import MISSING, Table, once, over_seeds
from eval.effort.filled import Filled
from eval.effort.ledger_rows import in_order
from eval.effort.score_names import (
    AT_ONCE,
    BLIND_PLACES,
    OF_STRUCTURE,
    PLACES,
    PLACES_FLOOR,
    READ_FLOORS,
    READ_PLACES,
    SAME_CHANCE,
)


def read_lines(filled: Sequence[Filled]) -> Table:
    """What does not depend on how a latent measures distance, of the weights that were kept."""
    return _at_once(filled, [name for name in AT_ONCE if name not in OF_STRUCTURE])


def structure_lines(filled: Sequence[Filled]) -> Table:
    """Who is told to push whom, and which slot holds what."""
    return _at_once(filled, OF_STRUCTURE)


def _at_once(filled: Sequence[Filled], names: Sequence[str]) -> Table:
    """A column for each name that any row has a score of; floors stand in the header."""
    floors = {name: _known(filled, key) for name, key in READ_FLOORS.items()}
    shown = [name for name in names if any(one.at_once(name) for one in filled)]
    header = ["", *(name if floors.get(name) is None else f"{name} (floor {floors[name]:.1f})" for name in shown)]
    return header, [[one.label, *(once(one, name) for name in shown)] for one in in_order(filled)]


def places_lines(filled: Sequence[Filled]) -> Table:
    """How often the places of all objects are read off the predictions for every action, a line for each horizon; what needs no
    weights and the floor come first. Without a line where places were not asked for."""
    horizons, body, beside = filled[0].study.horizons, [], []
    for one, h in product(in_order(filled), horizons):
        if any(found := [places(one, name, h) for name in PLACES]):
            body.append([one.label, str(h), *(over_seeds(one, of_seeds) for of_seeds in found)])
    for (name, of), h in product((("weights unknown", _blind), ("floor", _floors)), horizons):
        known = of(filled, h)
        if body and any(value is not None for value in known):
            beside.append([name, str(h), *(MISSING if value is None else f"{value:.1f}" for value in known)])
    return ["", "steps", *PLACES], beside + body


def places(one: Filled, name: str, horizon: int) -> dict[int, float]:
    """Seed -> one of PLACES, by the read-out that reads more factors."""
    return one.read(READ_PLACES + PLACES[name].format(horizon))


def same_chance_lines(filled: Sequence[Filled]) -> Table:
    """True counterfactuals of the rows that were asked for them, whose answers are read off their codes."""
    every = [(one, [one.number(key) for key in SAME_CHANCE.values()]) for one in in_order(filled)]
    return ["", *SAME_CHANCE], [[one.label, *(over_seeds(one, of) for of in found)] for one, found in every if any(found)]


def _blind(filled: Sequence[Filled], horizon: int) -> list[float | None]:
    return [_known(filled, BLIND_PLACES + key.format(horizon)) for key in PLACES.values()]


def _floors(filled: Sequence[Filled], horizon: int) -> list[float | None]:
    """The floor, which only the mean over classes of actions has."""
    return [_known(filled, PLACES_FLOOR.format(horizon)), *[None] * (len(PLACES) - 1)]


def _known(filled: Sequence[Filled], key: str) -> float | None:
    """What the runs say of the world."""
    found = [value for one in filled for value in one.number(key).values()]
    return mean(found) if found else None
