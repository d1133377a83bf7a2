"""Which cause did the model get wrong? The same states and actions, with one cause set anew, from space A and from space B.

A state of the file is gone on from as it was, and with other values of one cause at a time; the true world says what follows.
A model that knows the cause predicts either as well. One that was not shown it, or was never taught values of space B, is as
far from the truth as the cause moved it. Causes that move nothing, as a goal or a colour, must not move predictions either.
"""

from typing import NamedTuple

import numpy as np
import torch

from envs.frames import frame_ids
from envs.protocols import SPACES, Blocks, Causes, State
from envs.streams import Stream
from eval.probes.block_error import millimetres
from eval.probes.block_readout import Places, places_of
from eval.probes.kept import kept
from eval.probes.probe import Row, bounds, no_forecast, probe
from eval.ranking import hits_at_k, ranks
from eval.rollouts import encode_frames, rollout

STATES = 300
AS_RECORDED = "nothing"


def cause_key(cause: str, space: str, kind: str, horizon: str = "") -> str:
    """The metric of a cause: hits@1, usual_hits@1, block_error, eyes or effect; the row of it without a horizon, h1."""
    return f"{_of(cause, space)}/{kind}/{horizon}"


def states_key(cause: str, space: str) -> str:
    """How many states took a value, the pool of hits@1."""
    return f"{_of(cause, space)}/states"


def _of(cause: str, space: str) -> str:
    return f"test/cause/{cause.replace(' ', '_')}/{space}"


def seen(world: Causes, state: State) -> tuple[np.ndarray, np.ndarray]:
    """What models are shown of states, and where their blocks are, (B, N, 3)."""
    table = world.observe(state, "objects")
    return table if world.shown.column == "objects" else world.observe(state), world.positions(table)


class Asked(NamedTuple):
    """What was asked of one cause.  which (B,): of the states, those that took a value.  states: with it, then what follows, by
    step, 0 the start."""

    which: np.ndarray
    states: dict[int, State]


def follow(world: Causes, state: State, action: np.ndarray, horizons: list[int]) -> dict[int, State]:
    """The states (B) themselves, and what follows from them under actions (B, T, ...), by step."""
    found = {0: state}
    for t in range(max(horizons)):
        state, _ = world.step(state, action[:, t], None)
        if t + 1 in horizons:
            found[t + 1] = state
    return found


def ask(world: Causes, state: State, action: np.ndarray, horizons: list[int]) -> dict[tuple[str, str], Asked]:
    """By cause and space; states as they were under (AS_RECORDED, "")."""
    rng, every = Stream.CAUSES.rng(), np.arange(len(state))
    found = {(AS_RECORDED, ""): Asked(every, follow(world, state, action, horizons))}
    for cause in world.causes():
        for space in SPACES:
            other, done = world.set_cause(state, cause, space, rng)
            which = np.flatnonzero(done)
            after = follow(world, other.take(which), action[which], horizons) if len(which) > 1 else {}
            found[cause, space] = Asked(which, after)
    return found


def _asked_before(world: Causes, data, rows: np.ndarray, action: np.ndarray) -> dict[tuple[str, str], Asked]:
    """`ask`, kept beside the data."""

    def make() -> dict[str, np.ndarray]:
        answer = {}
        for (cause, space), one in ask(world, world.unpack(rows), action, data.horizons).items():
            answer[f"{cause}/{space}/which"] = one.which
            answer |= {f"{cause}/{space}/{step}": world.pack(states) for step, states in one.states.items()}
        return answer

    found: dict = {}
    about = {"horizons": data.horizons, "causes": list(world.causes())}
    for key, array in kept(data.file, "causes", {"rows": rows, "action": action}, about, make).items():
        cause, space, part = key.split("/")
        one = found.setdefault((cause, space), Asked(np.empty(0, int), {}))
        if part == "which":
            found[cause, space] = one._replace(which=array)
        else:
            one.states[int(part)] = world.unpack(array)
    return found


def _rows(space: str) -> tuple[Row, ...]:
    hits, usual, error, effect, eyes = (
        cause_key("{cause}", space, kind) for kind in ("hits@1", "usual_hits@1", "block_error", "effect", "eyes")
    )
    of = f"with {{cause}} of space {space.upper()}"
    length = {"higher_is_better": False, "percent": False, "horizons": ()}
    return (
        Row(hits, f"H@1 {of}", horizons=()),
        Row(states_key("{cause}", space), "states in the pool", "comparison", hits, percent=False, digits=0, horizons=()),
        *bounds(hits, (usual, "the same states, nothing changed", "comparison")),
        Row(error, f"block error, median, mm, {of}", **length),
        *bounds(error, (eyes, "read off true outcomes", "comparison")),
        Row(effect, f"the block elsewhere, median, mm, {of}", **length),
    )


@probe(needs=(Causes, Blocks), unless=no_forecast, by_name=True, rows=tuple(row for space in SPACES for row in _rows(space)))
def wrong_causes(run, data) -> dict[str, float]:
    """For every cause and space, and for states as they were: H@1 among all outcomes, percent; over blocks that move, the error
    of the position (see `places_of`) and how far the cause moved the outcome, medians, mm.

    Beside the error that of places read off the true outcomes (eyes): what seeing alone loses. Beside H@1 its pool, the states
    that took a value, and H@1 of the same states with nothing changed: pools of causes differ.

    Asked of windows in which something moves.
    """
    world, metrics = run.world, {}
    moved = data.events(max(data.horizons)).get("moved", np.ones(len(data.action), bool))
    chosen = np.flatnonzero(moved)
    chosen = chosen[Stream.ASKED.rng().permutation(len(chosen))[:STATES]]
    if len(chosen) < 2:
        return {}  # no pool to rank in
    rows, action = data.state[chosen, 0], data.action[chosen]
    asked = _asked_before(world, data, rows, action)
    data.protocol["causes"], taken = [AS_RECORDED, *world.causes()], {}
    places = places_of(run, data.data_dir)
    recorded = _foretold(run, asked[AS_RECORDED, ""], data.actions[chosen])
    for (cause, space), one in asked.items():
        foretold = recorded if cause == AS_RECORDED else _foretold(run, one, data.actions[chosen[one.which]])
        found = _judged(places, one.which, foretold, recorded)
        for named in SPACES if cause == AS_RECORDED else (space,):
            taken[f"{cause}, {named.upper()}"] = metrics[states_key(cause, named)] = len(one.which)
            metrics |= {cause_key(cause, named, kind, f"h{h}"): value for (kind, h), value in found.items()}
        data.say(f"cause: {cause}")
    data.arrays["causes"] = taken
    return metrics


class Foretold(NamedTuple):
    """Of some states after some steps.  guess, outcome: latents (B, K, D) predicted and true.  groups (B,): equal for outcomes
    that are. still, there: where blocks were, and are (B, N, 3)."""

    guess: torch.Tensor
    outcome: torch.Tensor
    groups: np.ndarray
    still: np.ndarray
    there: np.ndarray

    def hits(self, which: np.ndarray | slice = slice(None)) -> float:
        """H@1 of some of the states, among themselves, percent."""
        return hits_at_k(ranks(self.guess[which], self.outcome[which], groups=self.groups[which]))


def _foretold(run, one: Asked, actions: torch.Tensor) -> dict[int, Foretold]:
    """By horizon; none of a cause that no two states took."""
    if not one.states:
        return {}
    world, found = run.world, {}
    shown, still = seen(world, one.states[0])
    latent = encode_frames(run.model, shown)
    for h, states in one.states.items():
        if h:
            shown, there = seen(world, states)
            guess, groups = rollout(run.model, latent, actions[:, :h]), frame_ids(shown, world.shown.resolution)
            found[h] = Foretold(guess, encode_frames(run.model, shown), groups, still, there)
    return found


def _judged(
    places: Places | None, which: np.ndarray, foretold: dict[int, Foretold], recorded: dict[int, Foretold]
) -> dict[tuple[str, int], float]:
    """How right it is, by kind and horizon.  which (B,): of the recorded states, those that took the cause.
    recorded: nothing changed."""
    found = {}
    for h, one in foretold.items():
        found["hits@1", h], found["usual_hits@1", h] = one.hits(), recorded[h].hits(which)
        moves = np.linalg.norm(one.there - one.still, axis=-1) > 1e-3
        found["effect", h] = millimetres(recorded[h].there[which], one.there, moves).median
        if places is not None:
            found["block_error", h] = millimetres(places(one.guess), one.there, moves).median
            found["eyes", h] = millimetres(places(one.outcome), one.there, moves).median
    return found
